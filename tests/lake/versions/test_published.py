"""Marks that a version's copy is there: written at once or together, at the latest when a store is closed."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.identifiers import parse
from lanceway.lake.store.database import open_store
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import published, versions
from lanceway.lake.versions.versions import Version, VersionClaim
from tests.lake.conftest import Lake
from tests.lake.store import crash_program as drill

T = parse("t")
WAIT = 30.0  # seconds, of a test that fails


@pytest.fixture
def table(lake: Lake) -> TableRow:
    return lake.do(tables.create, T, by="me")


def claimed(lake: Lake, *numbers: int, branch: str = "") -> list[Version]:
    def work(connection: Any, catalog: int) -> list[Version]:
        table = lookups.hold(connection, catalog, T)
        asked = [VersionClaim(number, f"staged-{number}", f"{number}", branch=branch) for number in numbers]
        return [versions.claim(connection, table, each, by="me") for each in asked]

    return lake.do(work)


def unmarked(lake: Lake) -> list[int]:
    return [version.version for version in lake.store.read(versions.uncopied)]


@contextmanager
def statements(lake: Lake) -> Iterator[list[str]]:
    """The changes of rows that this process asks for meanwhile."""
    engine, found = lake.store._opened(), list[str]()

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE"):
            found.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield found
    event.remove(engine, "before_cursor_execute", note)


def test_the_first_mark_is_written_at_once_and_those_that_follow_together(lake: Lake, table: TableRow) -> None:
    made = claimed(lake, *range(1, 31))
    with statements(lake) as found:
        lake.store.published.add(made[0])
        assert unmarked(lake) == list(range(2, 31))
        for version in made[1:]:
            lake.store.published.add(version)
        give_up = time.monotonic() + WAIT
        while unmarked(lake) and time.monotonic() < give_up:
            time.sleep(0.05)
    assert unmarked(lake) == []
    assert len(found) < 10  # it is two, unless this process rests in the middle


def test_a_store_that_is_closed_leaves_none(lake: Lake, table: TableRow) -> None:
    made = claimed(lake, *range(1, 11))
    for version in made:
        lake.store.published.add(version)
    lake.store.close()
    assert unmarked(lake) == []
    lake.store.close()  # with nothing to be told


def test_what_is_known_is_one_row_and_not_its_number(lake: Lake, table: TableRow) -> None:
    (made,) = claimed(lake, 4, branch="side")
    lake.store.published.add(made)
    assert lake.store.published.known(table.id, "side") == made
    assert lake.store.published.known(table.id, "") is None
    assert lake.store.published.knows(made)
    lake.do(lambda c, catalog: versions.remove(c, lookups.lock(c, catalog, T), [(0, None)], branch="side"))
    time.sleep(0.002)  # so that the clock goes on
    (anew,) = claimed(lake, 4, branch="side")
    assert not lake.store.published.knows(anew)
    lake.store.published.add(made)
    lake.store.close()
    assert unmarked(lake) == [4]


def test_what_cannot_be_told_is_forgotten(lake: Lake, table: TableRow) -> None:
    made = claimed(lake, *range(1, 4))
    lake.store.execute_one(lambda connection: connection.exec_driver_sql("ALTER TABLE versions RENAME TO away"))
    for version in made:
        lake.store.published.add(version)
    lake.store.close()
    lake.store.execute_one(lambda connection: connection.exec_driver_sql("ALTER TABLE away RENAME TO versions"))
    assert unmarked(lake) == [1, 2, 3]
    for version in made:
        lake.store.published.add(version)
    lake.store.close()
    assert unmarked(lake) == []


def test_the_newest_of_a_branch_is_known(lake: Lake, table: TableRow) -> None:
    (first,) = claimed(lake, 1)
    time.sleep(0.002)  # so that the clock goes on
    (second,) = claimed(lake, 2)
    for version in (second, first):
        lake.store.published.add(version)
    assert lake.store.published.known(table.id, "") == second


def test_only_so_many_are_known(lake: Lake, table: TableRow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "_KNOWN_AT_MOST", 2)
    made = [*claimed(lake, 1), *claimed(lake, 1, branch="a"), *claimed(lake, 1, branch="b")]
    for version in made:
        lake.store.published.add(version)
    assert [lake.store.published.knows(version) for version in made] == [False, False, True]


def test_they_stay_in_their_process(lake: Lake, table: TableRow) -> None:
    made = claimed(lake, 1, 2, 3)
    for version in made:
        lake.store.published.add(version)
    assert not pickle.loads(pickle.dumps(lake.store)).published.knows(made[-1])
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            known = lake.store.published.knows(made[-1])
            lake.store.published.add(made[-1])
            os._exit(0 if not known and lake.store.published.knows(made[-1]) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    lake.store.close()
    assert unmarked(lake) == []


# -- at the end of a process -----------------------------------------------------------------------

COMMITS = """
import sys
from lanceway.lake.versions import published as marks
from tests.lake.store import crash_program as drill
marks.DELAY = 3600.0
lake = drill.connect(*sys.argv[1:])
for number in range(1, 11):
    lake.create_table_version({"id": ["t"], **drill.stage(lake, ["t"], number, "token")})
print("done", flush=True)
sys.stdin.read()
"""


@contextmanager
def committed(uri: str, root: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has made ten commits and does not close its lake, before it is let go."""
    with LakeCatalog(uri=uri, root=root, user="me") as lake:
        lake.declare_table({"id": ["t"]})
    command = [sys.executable, "-c", COMMITS, uri, root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_a_process_that_ends_leaves_none(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/lake.db"
    with committed(uri, str(tmp_path / "warehouse")) as process:
        process.communicate("")
        assert process.returncode == 0
    store = open_store(uri)
    assert store.read(versions.uncopied) == []
    store.close()


@pytest.mark.slow
def test_a_process_that_cannot_tell_them_ends_all_the_same(tmp_path: Path) -> None:
    """A fake for a database that hangs: SQLite, locked by somebody else."""
    path = tmp_path / "lake.db"
    with committed(f"sqlite:///{path}", str(tmp_path / "warehouse")) as process:
        other = sqlite3.connect(path, timeout=WAIT)
        other.execute("BEGIN IMMEDIATE")
        process.communicate("", timeout=WAIT / 2)  # and not the patience of a store, which is longer
        assert process.returncode == 0
        other.close()
    with drill.connect(f"sqlite:///{path}", str(tmp_path / "warehouse")) as lake:
        assert drill.latest(lake, ["t"]) == 10
