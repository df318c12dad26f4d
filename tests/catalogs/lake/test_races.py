"""Races for a lake's tables: whoever wins, a table is whole or not there, and nothing is left lying about."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.errors import ErrorCode, TableNotFoundError
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.lake.lake_helpers import (
    claim_and_die,
    create,
    ids,
    insert,
    numbers,
    opened,
    rows,
    stage,
    write_behind,
)

pytestmark = pytest.mark.slow


def drop(lake: LakeCatalog) -> None:
    lake.drop_table({"id": ["t"]})  # type: ignore[arg-type]


def test_creating_and_dropping_leaves_a_whole_table_or_nothing(lake: LakeCatalog, tmp_path: Path, rounds: int) -> None:
    allowed = {None, ErrorCode.TABLE_ALREADY_EXISTS, ErrorCode.TABLE_NOT_FOUND, ErrorCode.CONCURRENT_MODIFICATION}
    for _ in range(rounds):
        results = race(lambda number: drop(lake) if number % 2 else create(lake, "t", ids=(number,)), 6)
        assert set(results) <= allowed
        if lake.list_tables({"id": []}).tables:  # type: ignore[arg-type]
            assert len(ids(lake, ["t"])) == 1
            drop(lake)
        assert not [path for path in (tmp_path / "warehouse").rglob("*") if path.is_file()]
        assert lake.finish_removals() == []


def test_renaming_and_writing(lake: LakeCatalog, rounds: int) -> None:
    for round_ in range(rounds):
        old, new = [f"old{round_}"], [f"new{round_}"]
        create(lake, *old, ids=(0,))

        def work(number: int, old: list[str] = old, new: list[str] = new) -> None:
            if number == 0:
                lake.rename_table({"id": old, "new_table_name": new[0]})  # type: ignore[arg-type]
            else:
                insert(lake, old, number)

        results = race(work, 5)
        written = [number for number in range(1, 5) if results[number] is None]
        assert ids(lake, new) == [0, *written]
        assert lake.reconcile(new) == []


def test_strays_among_writers_are_never_shown(lake: LakeCatalog, rounds: int) -> None:
    for round_ in range(rounds):
        table = create(lake, f"t{round_}", ids=(0,))

        def work(number: int, table: list[str] = table) -> None:
            if number == 0:
                write_behind(lake, table, 99)
            else:
                insert(lake, table, number)

        results = race(work, 5)
        written = [number for number in range(1, 5) if results[number] is None]
        assert ids(lake, table) == [0, *written]
        found = numbers(lake, table)
        assert found == [*range(1, max(found) + 1)]
        assert not [found for found in lake.reconcile(table) if found.kind != "stray"]


def test_many_finish_what_one_has_claimed(lake: LakeCatalog, rounds: int) -> None:
    for round_ in range(rounds):
        table = create(lake, f"t{round_}", ids=(0,))
        claim_and_die(lake, table, 2, 1)
        write_behind(lake, table, 99)  # where the claimed version belongs
        assert set(race(lambda _, table=table: numbers(lake, table), 6)) == {None}  # type: ignore[misc]
        assert ids(lake, table) == [0, 1]


def test_batches_and_single_commits(lake: LakeCatalog, rounds: int) -> None:
    for round_ in range(rounds):
        pair = [create(lake, f"{name}{round_}", ids=(0,)) for name in ("a", "b")]
        staged = [stage(lake, table, 50) for table in pair]
        entries = [{"id": table, "version": 2, "manifest_path": path} for table, path in zip(pair, staged, strict=True)]

        def work(number: int, pair: list[list[str]] = pair, entries: list[dict[str, object]] = entries) -> None:
            if number == 0:
                lake.batch_create_table_versions({"entries": entries})  # type: ignore[arg-type]
            else:
                insert(lake, pair[number % 2], number)

        results = race(work, 5)
        batch = [50] if results[0] is None else []
        for side, table in enumerate(pair):
            singles = [number for number in range(1, 5) if number % 2 == side and results[number] is None]
            assert ids(lake, table) == [0, *singles, *batch]


def test_leaving_and_joining_the_lake_loses_no_version(lake: LakeCatalog, rounds: int) -> None:
    """Of writers through the catalog; each opens the table as it is at that moment."""
    table = create(lake, "t", ids=(0,))
    expected = [0]
    for round_ in range(rounds):

        def work(number: int, round_: int = round_) -> None:
            if number == 0:
                lake.set_versioning(table, managed=bool(round_ % 2))
            else:
                insert(lake, table, 10 * round_ + number)

        results = race(work, 3)
        opened(lake, table).insert(rows(10 * round_ + 9))
        acknowledged = [10 * round_ + number for number in (1, 2) if results[number] is None]
        found = ids(lake, table)
        if round_ % 2 == 0:  # to storage: whoever had claimed is copied first, and nobody's version is moved aside
            assert set(acknowledged) <= set(found)
        expected = found
    assert len(expected) == len(set(expected))


def test_dropping_while_it_is_written_to(lake: LakeCatalog, tmp_path: Path, rounds: int) -> None:
    for _ in range(rounds):
        table = create(lake, "t", ids=(0,))
        race(lambda number, table=table: drop(lake) if number == 0 else insert(lake, table, number), 4)  # type: ignore[misc]
        try:
            ids(lake, table)
        except TableNotFoundError:
            continue
        raise AssertionError("a dropped table came back")
