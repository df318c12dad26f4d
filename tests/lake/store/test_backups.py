"""Backups: one state whoever writes meanwhile, in a file that either database takes, all of it or nothing."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier, parse
from lanceway.lake.store import backups, upgrades
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import OLDEST_CODE, VERSION, VERSION_TABLE
from lanceway.lake.store.upgrades import State
from lanceway.lake.tree import lookups, metalakes, namespaces, settings, tables
from lanceway.lake.versions import checks
from tests.lake.conftest import Lake, make_lake
from tests.lake.lake_helpers import fill, rows
from tests.lake.store.test_upgrades import NEXT
from tests.servers.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LakeStore]:
    """Another database, without any table."""
    if request.param == "sqlite":
        store = LakeStore(f"sqlite:///{tmp_path}/other.db")
        yield store
        store.close()
        return
    server: Postgres = request.getfixturevalue("postgres")
    schema = server.schema()
    store = LakeStore(server.uri(schema))
    yield store
    store.close()
    server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def saved(lake: Lake, tmp_path: Path) -> Path:
    """A backup of a filled lake."""
    fill(lake)
    file = tmp_path / "lake.backup"
    backups.backup(lake.store, file)
    return file


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A backup of a filled lake, of one database only: to be spoilt."""
    store = open_store(f"sqlite:///{tmp_path}/small.db")
    fill(make_lake(store))
    backups.backup(store, tmp_path / "small.backup")
    store.close()
    return tmp_path / "small.backup"


def is_empty(store: LakeStore) -> bool:
    return store.read(lambda connection: inspect(connection).get_table_names()) == []


def test_every_row_comes_back_in_either_database(lake: Lake, saved: Path, empty: LakeStore) -> None:
    counts = backups.restore(empty, saved)
    assert rows(empty) == rows(lake.store)
    assert counts == {name: len(found) for name, found in rows(empty).items()} | {"feed": 0}
    assert counts["objects"] > 30
    assert [finding for finding in empty.snapshot(checks.check) if finding.wrong] == []


def test_a_restored_lake_goes_on(lake: Lake, saved: Path, empty: LakeStore) -> None:
    """New rows get ids that no row has."""
    backups.restore(empty, saved)
    again = Lake(empty, lake.catalog)
    for number in range(5):
        again.do(namespaces.create, Identifier(["new", f"n{number}"]), by="me", parents=True)
        again.do(tables.create, Identifier(["new", f"n{number}", "t"]), by="me")
    empty.transact(metalakes.create, "second", by="me")
    assert again.see(lookups.children, parse("young")) == ["first"]
    assert [finding for finding in empty.snapshot(checks.check) if finding.wrong] == []


def test_separator_and_policy_come_with_it(uri: str, empty: LakeStore, tmp_path: Path) -> None:
    store = open_store(uri, separator="~", policy="unrestricted")
    backups.backup(store, tmp_path / "b")
    store.close()
    backups.restore(empty, tmp_path / "b")
    assert empty.read(settings.separator).character == "~"
    assert empty.read(settings.separator).policy == "unrestricted"


def test_writers_go_on_and_the_backup_is_one_state(lake: Lake, empty: LakeStore, tmp_path: Path) -> None:
    """Each writer makes a namespace and a table in it at once: the backup has both or neither."""
    stop = threading.Event()
    made: list[int] = []

    def write(writer: int) -> None:
        number = 0
        while not stop.is_set():
            space = Identifier([f"w{writer}", f"n{number}"])

            def both(connection, space: Identifier = space) -> None:  # type: ignore[no-untyped-def]
                namespaces.create(connection, lake.catalog.id, space, by="me", parents=True)
                tables.create(connection, lake.catalog.id, space.child("t"), by="me")

            lake.store.transact(both)
            number += 1
        made.append(number)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in writers:
        thread.start()
    try:
        for number in range(5):
            counts = backups.backup(lake.store, tmp_path / f"b{number}")
    finally:
        stop.set()
        for thread in writers:
            thread.join()
    assert len(made) == 3
    backups.restore(empty, tmp_path / "b4")
    names = [name for name in Lake(empty, lake.catalog).see(namespaces.children, parse("")) if name.startswith("w")]
    for name in names:
        for space in Lake(empty, lake.catalog).see(namespaces.children, Identifier([name])):
            assert Lake(empty, lake.catalog).see(lookups.children, Identifier([name, space])) == ["t"]
    assert counts["objects"] == len(rows(empty)["objects"])
    assert counts["objects"] <= len(rows(lake.store)["objects"])
    assert empty.snapshot(checks.check) == []


def test_only_an_empty_database_is_filled(lake: Lake, saved: Path) -> None:
    before = rows(lake.store)
    with pytest.raises(InvalidInputError, match=r"holds a lake already\. Choose an empty one"):
        backups.restore(lake.store, saved)
    assert rows(lake.store) == before


def test_a_file_is_not_overwritten_unless_told(lake: Lake, saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(InvalidInputError, match="is there already"):
        backups.backup(lake.store, saved)
    assert saved.read_bytes() == before
    lake.do(namespaces.create, parse("more"), by="me")
    backups.backup(lake.store, saved, overwrite=True)
    assert saved.read_bytes() != before
    assert [path for path in saved.parent.iterdir() if path.name.startswith(".")] == []


def test_only_its_owner_reads_a_backup(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_a_folder_that_is_missing(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written: No such file or directory"):
        backups.backup(lake.store, tmp_path / "none" / "b")


Change = Callable[[list[str]], list[str]]


def _without_the_last_row(lines: list[str]) -> list[str]:
    last = max(number for number, line in enumerate(lines) if line.startswith("["))
    return [*lines[:last], *lines[last + 1 :]]


CHANGES: dict[str, tuple[Change, str]] = {
    "cut off": (lambda lines: lines[:-1], "is not whole"),
    "a row less": (lambda lines: _without_the_last_row(lines), "is not whole"),
    "more at the end": (lambda lines: [*lines, "1"], "is not whole"),
    "no header": (lambda lines: lines[1:], "is not a backup"),
    "another header": (lambda lines: ['"x"', *lines[1:]], "is not a backup"),
    "no JSON": (lambda lines: [*lines[:5], "{", *lines[5:]], "is not a backup of a lake, or is damaged"),
    "a newer one": (
        lambda lines: [lines[0].replace(f'"version":{VERSION}', '"version":99'), *lines[1:]],
        "newer lanceway",
    ),
    "a newer format": (lambda lines: [lines[0].replace('"format":1', '"format":9'), *lines[1:]], "newer lanceway"),
    "an unknown table": (lambda lines: [line.replace('"strays"', '"x"') for line in lines], "rows that no lake has"),
    "too long a row": (lambda lines: [*lines[:2], "[1, 2]", *lines[2:]], "rows that no lake has"),
    "a row twice": (
        lambda lines: [line for line in lines for _ in range(2 if line.startswith('["locations') else 1)],
        "rows that no lake has",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_bad_file_leaves_nothing(small: Path, empty: LakeStore, change: str) -> None:
    alter, message = CHANGES[change]
    with gzip.open(small, "rt") as file:
        lines = file.read().splitlines()
    altered = alter(lines)
    assert altered != lines
    with gzip.open(small, "wt") as file:
        file.write("".join(f"{line}\n" for line in altered))
    with pytest.raises(InvalidInputError, match=message):
        backups.restore(empty, small)
    assert is_empty(empty)


@pytest.mark.parametrize("content", [b"", b"no backup", b"\x1f\x8b\x08\x00damaged", None])
def test_no_backup_at_all(empty: LakeStore, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "b"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"is not a backup|cannot be read: No such file"):
        backups.restore(empty, file)
    assert is_empty(empty)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_truncated_file_leaves_nothing(small: Path, empty: LakeStore, share: float) -> None:
    os.truncate(small, int(small.stat().st_size * share))
    with pytest.raises(InvalidInputError, match="not whole"):
        backups.restore(empty, small)
    assert is_empty(empty)


def test_a_backup_of_the_version_before_is_upgraded(saved: Path, empty: LakeStore, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    subprocess.run(["cp", "-r", str(upgrades.MIGRATIONS), str(folder)], check=True)
    (folder / "versions" / "next.py").write_text(NEXT.format(number=VERSION + 1, before=VERSION))
    counts = backups.restore(empty, saved, folder=folder, target=State(VERSION + 1, VERSION))
    assert empty.read(upgrades.state) == State(VERSION + 1, VERSION)
    added = empty.read(lambda c: c.execute(text(f"SELECT added{VERSION + 1} FROM objects")).scalars().all())
    assert added == ["later"] * counts["objects"]


def test_only_the_databases_own_version_is_saved(uri: str, tmp_path: Path) -> None:
    bare = LakeStore(uri)
    with pytest.raises(InvalidInputError, match=r"Upgrade it first: lanceway lake upgrade"):
        backups.backup(bare, tmp_path / "b")
    bare.close()
    store = open_store(uri)
    newer = f"UPDATE {VERSION_TABLE} SET version_num = '{VERSION + 1:04}'"
    store.transact(lambda connection: connection.execute(text(newer)))
    with pytest.raises(InvalidInputError, match="Install a newer lanceway"):
        backups.backup(store, tmp_path / "b")
    store.close()
    assert not (tmp_path / "b").exists()


def test_two_restores_at_once_fill_it_once(small: Path, empty: LakeStore) -> None:
    answers: list[object] = []

    def restore() -> None:
        try:
            answers.append(backups.restore(empty, small))
        except LanceNamespaceError as error:
            answers.append(error)

    threads = [threading.Thread(target=restore) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(answer) for answer in answers if not isinstance(answer, dict)) == [InvalidInputError]
    assert empty.snapshot(checks.check)[0].wrong is False


def test_the_header_says_what_it_is(saved: Path) -> None:
    with gzip.open(saved, "rt") as file:
        header = json.loads(file.readline())
    assert header.pop("made_at") > 1_700_000_000_000
    assert header == {"what": "lanceway lake backup", "format": 1, "version": VERSION, "oldest_code": OLDEST_CODE}


def test_a_look_sees_one_state(store: LakeStore) -> None:
    """What backup and check stand on: others write, and nobody waits."""
    make_lake(store)

    def look(connection):  # type: ignore[no-untyped-def]
        before = metalakes.names(connection)
        store.transact(metalakes.create, "later", by="me")
        return before, metalakes.names(connection)

    assert store.snapshot(look) == (["m"], ["m"])
    assert store.read(metalakes.names) == ["later", "m"]
