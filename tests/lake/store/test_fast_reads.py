from __future__ import annotations

import os
import pickle
import sqlite3
from pathlib import Path

import pytest

from lanceway.identifiers import Identifier
from lanceway.lake.store.database import open_store
from lanceway.lake.store.fast_reads import FastReads
from lanceway.lake.tree import namespaces, tables
from tests.lake.conftest import Lake

of_a_file = pytest.mark.parametrize("uri", ["sqlite"], indirect=True)


def glances(lake: Lake) -> FastReads:
    found = lake.store.fast_reads
    assert found is not None
    return found


def test_only_a_plain_file_allows_them(lake: Lake, tmp_path: Path) -> None:
    is_file = lake.store.uri.startswith("sqlite")
    assert (lake.store.fast_reads is not None) is is_file
    if is_file:
        special = open_store(f"sqlite:///file:{tmp_path}/other.db?uri=true")
        assert special.fast_reads is None
        special.close()


@of_a_file
def test_a_table_is_seen_as_soon_as_it_is_there_and_no_longer(lake: Lake) -> None:
    lake.do(namespaces.create, Identifier(["a.b"]), by="ann")
    number, path = lake.catalog.id, "a%2Eb"
    assert glances(lake).table(number, path, "t") is None
    made = lake.do(tables.create, Identifier(["a.b", "t"]), by="ann", properties={"k": "v"})
    assert glances(lake).table(number, path, "t") == (made.location, made.managed, '{"k": "v"}')
    assert glances(lake).table(number, "", "a.b") is None, "a namespace is no table"
    assert glances(lake).tables(number, path, "", 10) == ["t"]
    assert glances(lake).tables(number, path, "t", 10) is None
    lake.do(tables.deregister, Identifier(["a.b", "t"]))
    assert glances(lake).table(number, path, "t") is None


@of_a_file
def test_it_waits_for_nobody(lake: Lake) -> None:
    """A writer is not in its way; where the whole file is locked it sees nothing, at once."""
    lake.do(tables.create, Identifier(["t"]), by="ann")
    with lake.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE objects SET comment = 'x'")
        assert glances(lake).table(lake.catalog.id, "", "t") is not None
    glances(lake).close()
    lake.store.close()
    other = sqlite3.connect(lake.store.uri.removeprefix("sqlite+pysqlite:///"), isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("UPDATE objects SET comment = 'y'")
    try:
        assert glances(lake).table(lake.catalog.id, "", "t") is None
    finally:
        other.execute("COMMIT")
        other.close()
    assert glances(lake).table(lake.catalog.id, "", "t") is not None


@of_a_file
def test_it_works_in_a_child_and_when_pickled(lake: Lake) -> None:
    lake.do(tables.create, Identifier(["t"]), by="ann")
    assert glances(lake).table(lake.catalog.id, "", "t") is not None
    child = os.fork()
    if not child:
        os._exit(0 if glances(lake).table(lake.catalog.id, "", "t") is not None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert glances(lake).table(lake.catalog.id, "", "t") is not None
    assert pickle.loads(pickle.dumps(glances(lake))).table(lake.catalog.id, "", "t") is not None
