"""Users and tokens as rows: a lake from before they were there gets them, and loses nothing."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect, text

from lanceway.identifiers import parse
from lanceway.lake import tokens, users
from lanceway.lake.store import backups, upgrades
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.schema import VERSION, metadata
from lanceway.lake.store.upgrades import State
from lanceway.lake.tree import tables
from tests.lake.conftest import Lake, make_lake
from tests.lake.lake_helpers import fill, rows

NEW = {"users", "tokens"}
LATER = NEW | {"pipelines", "runs", "run_steps", "run_reads", "run_files", "jobs"}


def columns(store: LakeStore) -> dict[str, Any]:
    def read(connection: Connection) -> dict[str, Any]:
        seen = inspect(connection)
        return {name: [(c["name"], str(c["type"])) for c in seen.get_columns(name)] for name in seen.get_table_names()}

    return store.read(read)


@pytest.fixture
def first_version(uri: str, tmp_path: Path) -> LakeStore:
    """A database as the first version of the schema had it."""
    folder = tmp_path / "first"
    shutil.copytree(upgrades.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / "versions").glob("r*.py"):
        if not file.name.startswith("r0001"):
            file.unlink()
    store = LakeStore(uri)
    store.transact(upgrades.migrate, folder=folder, target=State(1, 1))
    return store


def test_a_lake_of_the_first_version_keeps_all_it_has(first_version: LakeStore, uri: str) -> None:
    lake = make_lake(first_version)
    fill(lake)
    before, shape = columns(first_version), first_version.read(upgrades.state)
    assert shape == State(1, 1)
    assert NEW.isdisjoint(before)
    kept = first_version.read(lambda c: sorted(map(repr, c.execute(text("SELECT * FROM objects")))))
    open_store(uri).close()
    after = columns(first_version)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) >= NEW
    assert first_version.read(lambda c: sorted(map(repr, c.execute(text("SELECT * FROM objects"))))) == kept
    assert first_version.read(upgrades.state).version == VERSION
    first_version.close()


def test_code_of_the_first_version_goes_on(first_version: LakeStore, uri: str) -> None:
    lake = make_lake(first_version)
    open_store(uri).close()
    assert first_version.read(upgrades.state).oldest_code == 1
    lake.do(tables.create, parse("t"), by="me")
    first_version.close()


def test_a_backup_of_the_first_version_is_taken(lake: Lake, tmp_path: Path) -> None:
    fill(lake)
    lake.store.transact(users.create, "alice", by="me")
    backups.backup(lake.store, tmp_path / "b")
    with gzip.open(tmp_path / "b", "rt") as file:
        values = [json.loads(line) for line in file]
    with gzip.open(tmp_path / "first", "wt") as file:
        for value in _as_of_the_first(values):
            file.write(f"{json.dumps(value)}\n")
    other = LakeStore(f"sqlite:///{tmp_path}/other.db")
    backups.restore(other, tmp_path / "first")
    found, wanted = rows(other), rows(lake.store)
    assert found["users"] == found["tokens"] == []
    assert found["objects"] == wanted["objects"]
    assert other.read(upgrades.state).version == VERSION
    other.close()


def _as_of_the_first(values: list[Any]) -> list[Any]:
    """The lines of a backup, without the tables that came later."""
    kept, table = [], ""
    for value in values:
        if isinstance(value, dict):
            table = value.get("table", "")
            if "version" in value:
                value = {**value, "version": 1}
            if "rows" in value:
                value = {"rows": {name: count for name, count in value["rows"].items() if name not in LATER}}
        if table not in LATER:
            kept.append(value)
    return kept


def test_every_table_has_its_place_in_a_backup(lake: Lake, tmp_path: Path) -> None:
    assert set(backups.backup(lake.store, tmp_path / "b")) == set(metadata.tables)


def test_a_user_is_made_once(store: LakeStore) -> None:
    first = store.transact(users.create, "alice", by="me")
    assert first is not None
    assert store.transact(users.create, "alice", by="you", admin=True) is None
    assert store.read(users.find, "alice") == first
    assert store.read(users.find, "Alice") is None


def test_tokens_go_with_their_user(store: LakeStore) -> None:
    def work(connection: Connection) -> None:
        user = users.create(connection, "alice", by="me")
        assert user is not None
        tokens.create(connection, user, "p1", "h", by="me", label=None, lifetime=None)

    store.transact(work)
    store.transact(lambda connection: connection.execute(text("DELETE FROM users")))
    assert store.read(tokens.find, "p1") is None


def test_a_prefix_that_is_taken_asks_for_another(store: LakeStore) -> None:
    def work(connection: Connection) -> None:
        user = users.find(connection, "alice") or users.create(connection, "alice", by="me")
        assert user is not None
        tokens.create(connection, user, "p1", "h", by="me", label=None, lifetime=None)

    store.transact(work)
    with pytest.raises(RetryError, match="same prefix"), store.transaction() as connection:
        work(connection)


def test_a_use_is_recorded_unless_it_just_was(store: LakeStore) -> None:
    def make(connection: Connection) -> int:
        user = users.create(connection, "alice", by="me")
        assert user is not None
        return tokens.create(connection, user, "p1", "h", by="me", label=None, lifetime=None).id

    token = store.transact(make)

    def last() -> int | None:
        found = store.read(tokens.find, "p1")
        assert found is not None
        return found.token.last_used_at

    store.execute_one(tokens.touch, token, pause=60_000)
    first = last()
    assert first is not None
    store.execute_one(tokens.touch, token, pause=60_000)
    assert last() == first
    store.transact(lambda connection: connection.execute(text("UPDATE tokens SET last_used_at = last_used_at - 60000")))
    store.execute_one(tokens.touch, token, pause=60_000)
    assert (last() or 0) >= first
