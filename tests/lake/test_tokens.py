"""Users and tokens as rows: a lake from before they were there gets them, and loses nothing."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, Table, delete, insert, inspect, text

from lanceway.lake import tokens, users
from lanceway.lake.store import backups, upgrades
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.schema import NAMESPACE, VERSION, metadata
from lanceway.lake.store.upgrades import State
from tests.lake.conftest import Lake, make_lake
from tests.lake.lake_helpers import fill, rows

NEW = {"users", "tokens"}
FIRST = {"settings", "metalakes", "catalogs", "objects", "versions", "strays", "removals", "locks"}
LATER_COLUMNS = {"owner_kind", "adopted", "disabled_by", "disabled_at"}  # of those tables


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


def first_tables(store: LakeStore) -> dict[str, Table]:
    """The tables as the first version has them."""
    reflected = MetaData()
    store.read(lambda connection: reflected.reflect(connection, only=sorted(FIRST - {"settings"})))
    return {table.name: table for table in reflected.sorted_tables}


def fill_first(store: LakeStore, tables: dict[str, Table], folder: Path) -> None:
    """Copy the rows of a lake of today, without what came later."""
    today = open_store(f"sqlite:///{folder}/today.db")
    fill(make_lake(today))

    def copy(connection: Connection) -> None:
        for name, table in tables.items():
            connection.execute(delete(table))
            rows = today.read(lambda c, name=name: c.execute(metadata.tables[name].select()).mappings().all())
            # A table may have moved into a namespace that is younger.
            rows = sorted(rows, key=lambda row: (row.get("kind", NAMESPACE) != NAMESPACE, row.get("id", 0)))
            if rows:
                connection.execute(
                    insert(table), [{column.name: row[column.name] for column in table.c} for row in rows]
                )

    store.transact(copy)
    today.close()


def test_a_lake_of_the_first_version_keeps_all_it_has(first_version: LakeStore, uri: str, tmp_path: Path) -> None:
    tables = first_tables(first_version)
    fill_first(first_version, tables, tmp_path)
    before, shape = columns(first_version), first_version.read(upgrades.state)
    assert shape == State(1, 1)
    assert NEW.isdisjoint(before)

    def objects(connection: Connection) -> list[str]:
        return sorted(map(repr, connection.execute(tables["objects"].select())))

    kept = first_version.read(objects)
    open_store(uri).close()
    after = columns(first_version)
    assert {name: [column for column in after[name] if column[0] not in LATER_COLUMNS] for name in before} == before
    assert set(after) - set(before) >= NEW
    assert first_version.read(objects) == kept
    assert first_version.read(upgrades.state).version == VERSION
    first_version.close()


def test_code_of_the_first_version_goes_on(first_version: LakeStore, uri: str, tmp_path: Path) -> None:
    tables = first_tables(first_version)
    fill_first(first_version, tables, tmp_path)
    open_store(uri).close()
    assert first_version.read(upgrades.state).oldest_code == 1
    columns = [column.name for column in tables["objects"].c]

    def copy(connection: Connection) -> None:
        row = connection.execute(tables["objects"].select().where(tables["objects"].c.name == "view")).one()
        values = {name: getattr(row, name) for name in columns} | {"id": 10_000, "name": "another"}
        connection.execute(insert(tables["objects"]), [values])

    first_version.transact(copy)
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
    # What their storage has is yet to be adopted.
    lake.store.transact(lambda connection: connection.execute(text("UPDATE objects SET adopted = false")))
    found, wanted = rows(other), rows(lake.store)
    assert found["users"] == found["tokens"] == []
    assert found["objects"] == wanted["objects"]
    assert other.read(upgrades.state).version == VERSION
    other.close()


def _as_of_the_first(values: list[Any]) -> list[Any]:
    """The lines of a backup, without the tables that came later."""
    kept, table = [], ""
    present: list[int] = []
    for value in values:
        if isinstance(value, dict):
            table = value.get("table", "")
            if "version" in value:
                value = {**value, "version": 1}
            if "rows" in value:
                counts = {name: count for name, count in value["rows"].items() if name in FIRST}
                value = {"rows": {**counts, "settings": counts["settings"] - 1}}
            names = value.get("columns", ())
            present = [number for number, name in enumerate(names) if name not in LATER_COLUMNS]
            if names:
                value = {**value, "columns": [names[number] for number in present]}
        else:
            value = [value[number] for number in present]
        is_later = table == "settings" and isinstance(value, list) and "access_control" in value
        if (not table or table in FIRST) and not is_later:
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
