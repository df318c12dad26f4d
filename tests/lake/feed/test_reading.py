"""The feed is read in one order: nothing is passed that may still commit, nothing is lost, nothing comes twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from lanceway.access.records import feed as access_feed
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier, parse
from lanceway.lake.feed import reading
from lanceway.lake.feed.reading import START, FeedExpiredError, FeedFilter, FeedPosition, FeedRow
from lanceway.lake.store import backups
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import feed
from lanceway.lake.tree import namespaces, nesting, tables
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import Lake, make_lake
from tests.new_lakes import new_database
from tests.servers.postgres import Postgres

ALL = FeedFilter("m")
PROGRAM = Path(__file__).with_name("reader_program.py")
DAY = 24 * 3600 * 1000


def read(store: LakeStore, after: FeedPosition = START, limit: int = 1000) -> tuple[list[FeedRow], FeedPosition]:
    rows, end = store.snapshot(reading.page, ALL, after, limit)
    return list(rows), end


def shown(rows: list[FeedRow]) -> list[tuple[str, str]]:
    return [(row.type, ".".join(row.names[1:])) for row in rows]


@pytest.fixture
def overlapping(postgres: Postgres) -> Iterator[Lake]:
    """A lake in PostgreSQL, where transactions overlap."""
    database = new_database(postgres)
    store = open_store(postgres.uri(database=database))
    yield make_lake(store)
    store.close()
    postgres.execute(f"DROP DATABASE {database} WITH (FORCE)")


def test_a_page_goes_on_where_the_one_before_ended(lake: Lake) -> None:
    for number in range(7):
        lake.do(namespaces.create, parse(f"n{number}"), by="me")
    found, after = list[FeedRow](), START
    while rows := read(lake.store, after, limit=3)[0]:
        found += rows
        after = rows[-1].position
    assert found == read(lake.store)[0]
    assert len(found) == 9


def test_a_page_that_finds_nothing_says_how_far_it_has_looked(lake: Lake) -> None:
    for number in range(5):
        lake.do(namespaces.create, parse(f"n{number}"), by="me")
    wanted = FeedFilter.of("m", ["table"], None)
    rows, end = lake.store.snapshot(reading.page, wanted, START, 10, window=4)
    assert not rows
    assert end == read(lake.store)[0][3].position


def test_what_may_still_commit_is_not_passed(overlapping: Lake) -> None:
    store, catalog = overlapping.store, overlapping.catalog.id
    after = read(store)[1]
    with store.transaction() as early:
        namespaces.create(early, catalog, parse("early"), by="me")
        overlapping.do(namespaces.create, parse("late"), by="me")
        newest = store.read(lambda connection: connection.execute(select(func.max(feed.c.id))).scalar_one())
        # The later one is committed, and has the higher id: to show it would be to miss the earlier one for ever.
        assert newest > after.id
        assert read(store, after) == ([], after)
    rows, end = read(store, after)
    assert shown(rows) == [("namespace.created", "early"), ("namespace.created", "late")]
    assert read(store, end) == ([], end)


def test_a_smaller_id_that_is_committed_later_is_not_missed(overlapping: Lake) -> None:
    store, catalog = overlapping.store, overlapping.catalog.id
    after = read(store)[1]
    with ExitStack() as first_ends, store.transaction() as second:
        first = first_ends.enter_context(store.transaction())
        namespaces.create(first, catalog, parse("one"), by="me")
        namespaces.create(second, catalog, parse("two"), by="me")
        namespaces.create(first, catalog, parse("three"), by="me")
        first_ends.close()
        rows, end = read(store, after)
        assert shown(rows) == [("namespace.created", "one"), ("namespace.created", "three")]
    later, _ = read(store, end)
    assert shown(later) == [("namespace.created", "two")]
    assert later[0].id < rows[-1].id


def test_a_transaction_that_began_early_comes_after_what_it_has_met(overlapping: Lake) -> None:
    store, catalog = overlapping.store, overlapping.catalog.id
    overlapping.do(namespaces.create, parse("team"), by="me")
    after = read(store)[1]
    with store.transaction() as early:
        namespaces.create(early, catalog, parse("other"), by="me")  # it has its number now
        overlapping.do(tables.create, parse("team.t"), by="me")
        nesting.drop(early, catalog, parse("team"), by="me")
    rows, _ = read(store, after)
    kinds = shown(rows)
    assert kinds.index(("table.created", "team.t")) < kinds.index(("table.dropped", "team.t"))


@pytest.mark.race
def test_readers_beside_writers_miss_nothing_and_see_nothing_twice(lake: Lake, seed: str) -> None:
    """Writers claim versions and make tables, some roll back; a reader follows them by its cursor."""
    store, catalog, names = lake.store, lake.catalog.id, [f"t{number}" for number in range(3)]
    rows = [lake.do(tables.create, parse(name), by="me") for name in names]
    start = read(store)[1]

    def write(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        for turn in range(1, 15):
            if chance.random() < 0.3:
                with store.transaction() as connection:
                    namespaces.create(connection, catalog, Identifier([f"s{number}-{turn}"]), by="me")
                    if chance.random() < 0.5:
                        connection.rollback()
                        connection.exec_driver_sql("SELECT 1")
            claim = VersionClaim(turn, f"s{turn}", f"f{turn}")
            made = store.transact(versions.claim, rows[number], claim, by="me")
            store.transact(versions.mark_copied, made)

    seen, after = list[FeedRow](), start
    with ThreadPoolExecutor(len(names)) as pool:
        writers = [pool.submit(write, number) for number in range(len(names))]
        while not all(writer.done() for writer in writers):
            page, after = read(store, after, limit=5)
            seen += page
    for writer in writers:
        writer.result()
    while page := read(store, after)[0]:
        seen += page
        after = page[-1].position
    everything = read(store, start)[0]
    assert seen == everything
    written = store.read(lambda connection: connection.execute(select(func.count()).select_from(feed)).scalar_one())
    assert len(read(store)[0]) == written
    for row in rows:
        its_own = [event for event in seen if event.type == "version.created" and event.row_id == row.id]
        assert [event.data["version"] for event in its_own] == list(range(1, 15))


def test_a_reader_that_is_killed_goes_on_by_its_cursor(lake: Lake, uri: str, tmp_path: Path) -> None:
    for number in range(20):
        lake.do(namespaces.create, parse(f"n{number}"), by="me")
    file, expected = tmp_path / "seen", [str(row.position) for row in read(lake.store)[0]]
    command = [sys.executable, str(PROGRAM), uri, str(file)]
    with subprocess.Popen([*command, "7"], stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "waiting\n"
        reader.send_signal(signal.SIGKILL)
    assert reader.returncode == -signal.SIGKILL
    assert file.read_text().split() == expected[:7]
    lake.do(namespaces.create, parse("later"), by="me")
    subprocess.run([*command, "0"], check=True, stdout=subprocess.DEVNULL)
    assert file.read_text().split() == [str(row.position) for row in read(lake.store)[0]]


# -- retention -----------------------------------------------------------------------------------


def _age(connection: Connection, ids: list[int]) -> None:
    connection.execute(update(feed).where(feed.c.id.in_(ids)).values(at=feed.c.at - 3 * DAY))


def test_old_events_go_and_a_reader_that_is_too_late_is_told(lake: Lake) -> None:
    for number in range(6):
        lake.do(namespaces.create, parse(f"n{number}"), by="me")
    rows = read(lake.store)[0]
    lake.store.transact(_age, [row.id for row in rows[:4]])
    assert access_feed.purge(lake.store, timedelta(days=2)) == 4
    assert read(lake.store)[0] == rows[4:]
    # Who has seen the last of those that went misses nothing.
    assert read(lake.store, rows[3].position)[0] == rows[4:]
    with pytest.raises(FeedExpiredError, match=r"now begins at .*after=latest"):
        read(lake.store, rows[2].position)
    assert access_feed.purge(lake.store, timedelta(days=2)) == 0


def test_an_old_event_behind_a_young_one_stays(lake: Lake) -> None:
    for number in range(3):
        lake.do(namespaces.create, parse(f"n{number}"), by="me")
    rows = read(lake.store)[0]
    lake.store.transact(_age, [row.id for row in rows if row is not rows[1]])
    assert access_feed.purge(lake.store, timedelta(days=2)) == 1
    assert read(lake.store)[0][0].id == rows[1].id


def test_a_position_of_another_feed_is_refused(lake: Lake) -> None:
    newest = lake.store.snapshot(reading.newest)
    with pytest.raises(FeedExpiredError, match="ends before this position"):
        read(lake.store, newest._replace(id=newest.id + 1))
    for text in ("", "1", "a.b", "1.2.3", "-1.2"):
        with pytest.raises(InvalidInputError, match="not a position"):
            FeedPosition.parse(text)


def test_a_backup_holds_no_feed(lake: Lake, tmp_path: Path) -> None:
    backups.backup(lake.store, tmp_path / "b")
    restored = LakeStore(f"sqlite:///{tmp_path}/restored.db")
    backups.restore(restored, tmp_path / "b")
    assert read(restored)[0] == []
    restored.close()
