"""A catalog as a Python object: dictionaries as requests, identity, threads, pickling, forks, closing, streams."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import CreateTableRequest, InsertIntoTableRequest, LanceNamespace, MergeInsertIntoTableRequest

from lanceway.catalogs.contract.hooks import OPERATIONS
from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.requests import ON_A_TABLE, ask
from lanceway.testing.sandbox import Sandbox, code, query, rows, vector

# Runs in a process of its own: a fork that hangs is ended with it, and the tests go on.
_FORK = """
import os, pickle, sys
catalog, table = pickle.load(sys.stdin.buffer)
def look():
    assert catalog.describe_table({"id": table}).location
    assert table[-1] in catalog.list_tables({"id": table[:-1]}).tables
    catalog.table_exists({"id": table})
look()
assert catalog.count_table_rows({"id": table}).count == 3
child = os.fork()
if child == 0:
    code = 1
    try:
        look()
        code = 0
    finally:
        os._exit(code)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
_FORK_SECONDS = 180


class IdentityTests(Suite):
    """A catalog has an identity that stays the same, shows no secret, and refuses what it leaves out."""

    def test_a_catalog_is_the_contract(self, catalog: LanceNamespace) -> None:
        assert isinstance(catalog, LanceNamespace)

    def test_an_identity_stays_the_same(self, catalog: LanceNamespace) -> None:
        assert catalog.namespace_id()
        assert catalog.namespace_id() == catalog.namespace_id()

    def test_no_secret_is_shown(self, catalog: LanceNamespace) -> None:
        shown = " ".join((catalog.namespace_id(), repr(catalog), str(catalog)))
        assert not [secret for secret in self.secrets if secret in shown]

    def test_what_is_left_out_is_refused_as_unsupported(self, space: Sandbox) -> None:
        for operation in sorted(set(OPERATIONS) & set(self.without)):
            with code(ErrorCode.UNSUPPORTED) as refused, warnings.catch_warnings():
                # The contract itself calls create_empty_table deprecated.
                warnings.simplefilter("ignore", DeprecationWarning)
                ask(space.catalog, operation, space.id(), as_dict=False)
            assert operation in str(refused.value)


class DictionaryTests(Suite):
    """Rust clients pass dictionaries where Python clients pass models."""

    @pytest.mark.parametrize("operation", list(ON_A_TABLE))
    def test_a_dictionary_is_a_request(self, space: Sandbox, operation: str) -> None:
        # That the table is missing is said only after the request was understood.
        with code(ErrorCode.TABLE_NOT_FOUND):
            ask(space.catalog, operation, space.id())

    def test_a_whole_day_in_dictionaries(self, space: Sandbox) -> None:
        table, catalog = space.id(), _untyped(space)
        for operation in ("declare_table", "create_table", "insert_into_table", "create_table_scalar_index"):
            ask(space.catalog, operation, table)
        assert catalog.count_table_rows({"id": table}).count == 2
        assert len(catalog.list_table_versions({"id": table}).versions) == 3
        ask(space.catalog, "drop_table", table)
        assert not space.has_table(table)


class ThreadTests(Suite):
    """One catalog serves many threads."""

    def test_threads_share_a_catalog(self, space: Sandbox) -> None:
        def work(number: int) -> list[int]:
            table = space.table(rows(number))
            space.insert(table, rows(number + 100))
            assert table[-1] in space.tables()
            return space.ids(table)

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(work, range(16)))
        assert ids == [[number, number + 100] for number in range(16)]


class ProcessTests(Suite):
    """A catalog can be pickled and used in other processes."""

    @needs("pickle")
    def test_a_pickled_catalog_is_the_same_catalog(self, space: Sandbox) -> None:
        table = space.table()
        copy = Sandbox(pickle.loads(pickle.dumps(space.catalog)), space.home)
        assert copy.ids(table) == [1, 2, 3]
        assert copy.catalog.namespace_id() == space.catalog.namespace_id()

    @needs("fork")
    def test_a_forked_child_uses_the_catalog_of_its_parent(self, space: Sandbox) -> None:
        table = space.table()
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _FORK],
            input=pickle.dumps((space.catalog, table)),
            capture_output=True,
            timeout=_FORK_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()


class CloseTests(Suite):
    """A closed catalog has released its connections."""

    @needs("close")
    def test_a_closed_catalog_opens_again_when_it_is_used(self, space: Sandbox) -> None:
        table, catalog = space.table(), _untyped(space)
        catalog.close()
        catalog.close()
        assert space.ids(table) == [1, 2, 3]

    @needs("close")
    def test_a_catalog_is_a_context(self, space: Sandbox) -> None:
        with _untyped(space) as catalog:
            assert catalog is space.catalog


def _untyped(space: Sandbox) -> Any:
    """Return the catalog without its type, for methods outside the contract: close, context, streams, dictionaries."""
    return space.catalog


class StreamTests(Suite):
    """The streaming methods do what the contract's methods do."""

    @needs("streams")
    def test_rows_stream_in_and_out(self, space: Sandbox) -> None:
        catalog = _untyped(space)
        table = space.id()
        catalog.create_table_stream(CreateTableRequest(id=table), rows(1, 2, 3).to_reader())
        catalog.insert_into_table_stream(InsertIntoTableRequest(id=table), rows(4).to_reader())
        merge = MergeInsertIntoTableRequest(id=table, on=["id"], when_not_matched_insert_all=True)
        catalog.merge_insert_into_table_stream(merge, rows(4, 5).to_reader())
        with catalog.query_table_stream(query(table)) as reader:
            assert sorted(reader.read_all()["id"].to_pylist()) == [1, 2, 3, 4, 5]

    @needs("streams")
    def test_a_stream_may_be_left_half_read(self, space: Sandbox) -> None:
        catalog = _untyped(space)
        table = space.table(rows(*range(100)))
        with catalog.query_table_stream(query(table, near=vector(1), k=50)) as reader:
            assert isinstance(reader, pa.RecordBatchReader)
        assert space.count(table) == 100
