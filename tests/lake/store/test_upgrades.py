"""Databases of other versions: upgraded once under a lock, refused when too new, used when only newer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier, parse
from lanceway.lake.store import upgrades
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import OLDEST_CODE, VERSION, VERSION_TABLE, metadata
from lanceway.lake.store.upgrades import State
from lanceway.lake.tree import lookups, metalakes, namespaces, settings, tables
from lanceway.lake.tree.separators import Separator
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import make_lake
from tests.processes import WARM

NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{number:04}", "{before:04}"


def upgrade() -> None:
    op.add_column("objects", sa.Column("added{number}", sa.Text(), server_default="later"))
"""


@pytest.fixture
def made(uri: str) -> Iterator[LakeStore]:
    """What the migrations make."""
    store = open_store(uri)
    yield store
    store.close()


def test_the_migrations_make_what_the_schema_says(made: LakeStore) -> None:
    def differences(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
        return list(found)

    unseen = [] if made.uri.startswith("postgresql") else list(ADDED_REFERENCES)
    assert [difference for difference in made.read(differences) if not _is_reference(difference, unseen)] == []


# SQLite takes a reference in a column that is added, but SQLAlchemy does not read there what it does on a deletion.
ADDED_REFERENCES = {("foreign_objects", "mount_id"): "mounts", ("tokens", "parent_id"): "tokens"}


def _is_reference(difference: Any, unseen: list[tuple[str, str]]) -> bool:
    if difference[0] not in ("add_fk", "remove_fk"):
        return False
    constraint = difference[1]
    return (constraint.parent.name, *constraint.column_keys) in unseen


def test_references_of_added_columns_cascade(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'lake.db'}")
    for (table, column), other in ADDED_REFERENCES.items():
        rows = store.read(lambda c, table=table: c.execute(text(f"PRAGMA foreign_key_list({table})")).mappings().all())
        (row,) = (row for row in rows if row["from"] == column)
        assert (row["table"], row["on_delete"]) == (other, "CASCADE")
    store.close()


def test_checks_and_collations_are_what_the_schema_says(made: LakeStore) -> None:
    """What a comparison of tables leaves out."""

    def checks(connection: Connection) -> set[str | None]:
        return {check["name"] for check in inspect(connection).get_check_constraints("objects")}

    def collations(connection: Connection) -> set[tuple[str, str, str]]:
        found = {}
        for table in inspect(connection).get_table_names():
            for column in inspect(connection).get_columns(table):
                found[table, column["name"]] = getattr(column["type"], "collation", None)
        return {(table, name, collation) for (table, name), collation in found.items() if collation}

    expected = {
        constraint.name for constraint in metadata.tables["objects"].constraints if "ck_" in str(constraint.name)
    }
    assert made.read(checks) == expected
    dialect = made.read(lambda connection: connection.dialect)
    columns = [column for table in metadata.sorted_tables for column in table.columns]
    wanted = {
        (column.table.name, column.name, getattr(column.type.dialect_impl(dialect), "collation", None))
        for column in columns
    }
    assert made.read(collations) == {each for each in wanted if each[2]}


def test_the_code_knows_the_newest_migration(made: LakeStore) -> None:
    assert made.read(upgrades.state) == State(VERSION, OLDEST_CODE)
    files = sorted(path.name for path in (upgrades.MIGRATIONS / "versions").glob("r*.py"))
    assert len(files) == VERSION
    assert files[-1].startswith(f"r{VERSION:04}_")


def test_a_new_database_gets_the_separator_and_later_ones_must_agree(uri: str) -> None:
    first = open_store(uri, separator="~", policy="unrestricted")
    assert first.read(settings.separator) == Separator("~", "unrestricted")
    for given in ({}, {"separator": "~"}, {"separator": "~", "policy": "unrestricted"}):
        open_store(uri, **given).close()
    with pytest.raises(InvalidInputError, match="has the separator '~', and this process wants ':'"):
        open_store(uri, separator=":")
    with pytest.raises(InvalidInputError, match="policy 'unrestricted', and this process wants 'restricted'"):
        open_store(uri, policy="restricted")
    first.close()


def test_a_bad_separator_leaves_no_half_made_database(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="Try ':', ';' or"):
        open_store(uri, separator="/")
    store = LakeStore(uri)
    assert store.read(upgrades.state) == State(0)
    assert store.read(lambda connection: inspect(connection).get_table_names()) == []
    store.close()


def test_without_leave_to_upgrade_a_new_database_is_refused(uri: str) -> None:
    missing_file = r"There is no lake in .*lanceway lake create"
    empty_database = rf"version 0 and this code needs {VERSION}.*lanceway lake upgrade"
    with pytest.raises(InvalidInputError, match=missing_file if uri.startswith("sqlite") else empty_database):
        open_store(uri, upgrade=False)
    open_store(uri).close()
    open_store(uri, upgrade=False).close()


@pytest.mark.parametrize(("oldest", "accepted"), [(VERSION, True), (VERSION + 1, False)])
def test_a_newer_database_says_which_code_can_use_it(uri: str, oldest: int, accepted: bool) -> None:
    store = open_store(uri)

    def advance(connection: Connection) -> None:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{VERSION + 1:04}'"))
        settings.store(connection, {settings.OLDEST_CODE: str(oldest)})

    store.transact(advance)
    store.close()
    if accepted:
        open_store(uri).close()
    else:
        with pytest.raises(InvalidInputError, match="Install a newer lanceway"):
            open_store(uri)


@pytest.fixture
def next_version(tmp_path: Path) -> Path:
    """The migrations with one more, as a release to come would have them."""
    folder = tmp_path / "migrations"
    subprocess.run(["cp", "-r", str(upgrades.MIGRATIONS), str(folder)], check=True)
    (folder / "versions" / "next.py").write_text(NEXT.format(number=VERSION + 1, before=VERSION))
    return folder


def fill(store: LakeStore) -> int:
    lake = make_lake(store)
    for number in range(20):
        namespace = Identifier(["team", f"n{number}"])
        lake.do(namespaces.create, namespace, by="me", parents=True, properties={"number": str(number)})
        lake.do(tables.create, namespace.child("t"), by="me")

    def claim(connection: Connection) -> None:
        table = lookups.hold(connection, lake.catalog.id, parse("team.n0.t"))
        versions.claim(connection, table, VersionClaim(1, "s", "f"), by="me")

    store.transact(claim)
    return lake.catalog.id


def rows(store: LakeStore) -> dict[str, list[Any]]:
    def read(connection: Connection) -> dict[str, list[Any]]:
        keys = [table for table in metadata.sorted_tables if table.name != "settings"]
        return {table.name: sorted(map(repr, connection.execute(table.select()))) for table in keys}

    return store.read(read)


def _upgrade(uri: str, folder: Path, ready: Any) -> None:
    store = LakeStore(uri)
    ready.wait()
    store.transact(upgrades.migrate, folder=folder, target=State(VERSION + 1, VERSION))
    store.close()


@pytest.mark.slow
def test_an_upgrade_keeps_every_row_though_many_start_at_once(uri: str, next_version: Path) -> None:
    store = open_store(uri)
    fill(store)
    before = rows(store)
    ready = WARM.Barrier(3)
    processes = [WARM.Process(target=_upgrade, args=(uri, next_version, ready)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert store.read(upgrades.state) == State(VERSION + 1, VERSION)
    assert rows(store) == before
    added = store.read(lambda c: c.execute(text(f"SELECT DISTINCT added{VERSION + 1} FROM objects")).all())
    assert added == [("later",)]
    store.close()


def test_code_of_the_version_before_works_on_a_newer_database(uri: str, next_version: Path) -> None:
    store = open_store(uri)
    catalog = fill(store)
    store.transact(upgrades.migrate, folder=next_version, target=State(VERSION + 1, VERSION))
    store.close()
    older = open_store(uri)
    older.transact(tables.create, catalog, parse("team.n1.u"), by="me")
    assert older.read(lookups.find, catalog, parse("team.n1.u")).managed
    older.close()


def test_an_upgrade_that_fails_changes_nothing(uri: str, next_version: Path) -> None:
    store = open_store(uri)
    fill(store)
    before = rows(store)
    broken = next_version / "versions" / "next.py"
    broken.write_text(broken.read_text() + "    raise LookupError('broken')\n")
    with pytest.raises(LookupError, match="broken"):
        store.transact(upgrades.migrate, folder=next_version, target=State(VERSION + 1, VERSION))
    assert store.read(upgrades.state) == State(VERSION, OLDEST_CODE)
    assert rows(store) == before
    columns = store.read(lambda c: [column["name"] for column in inspect(c).get_columns("objects")])
    assert f"added{VERSION + 1}" not in columns
    store.close()


def _open(uri: str, ready: Any) -> None:
    ready.wait()
    store = open_store(uri)
    store.read(metalakes.names)
    store.close()


@pytest.mark.slow
def test_many_processes_make_a_new_database_once(uri: str) -> None:
    ready = WARM.Barrier(4)
    processes = [WARM.Process(target=_open, args=(uri, ready)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4


def test_a_start_that_finds_nothing_to_do_loads_no_alembic(uri: str) -> None:
    open_store(uri).close()
    program = (
        "import sys; from lanceway.lake.store import open_store; open_store(sys.argv[1]).close(); "
        "sys.exit('alembic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, uri], check=True)
