"""Of rows with the same keys one stays, the same one here and in Spark."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lanceway import jobs
from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableColumnNotFoundError
from tests.jobs import move_helpers as moves
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept, Watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rows(part: int) -> pa.Table:
    """Keys that come again within and across parts; an order with ties, nulls, and what is no number."""
    count = 40
    return pa.table(
        {
            "id": pa.array([part * count + i for i in range(count)], pa.int64()),
            "name": [None if i == 7 else f"n{i % 12}" for i in range(count)],
            "place": pa.array([f"p{i % 2}" for i in range(count)]).dictionary_encode(),
            "score": [None if i % 9 == 0 else float("nan") if i % 9 == 1 else float(i * 7 % 5) for i in range(count)],
            "at": pa.array([datetime(2026, 1, 1 + (i + part) % 5) for i in range(count)], pa.timestamp("us")),
        }
    )


@pytest.fixture
def table(lakes: Path) -> Kept:
    made = Kept(upkeep.lake(lakes))
    moves.make(made.catalog, made.name, rows(0))
    for part in (1, 2):
        made.catalog.insert_into_table_stream({"id": [made.name]}, rows(part).to_reader())  # type: ignore[arg-type]
    return made


def expected(table: Kept, on: list[str], order: str | None, keep: str) -> list[int]:
    """The ids that stay, found the plain way."""
    best: dict[Any, tuple[Any, int]] = {}
    for row in sorted(table.open().to_table().to_pylist(), key=lambda row: row["id"]):
        key = tuple(row[name] for name in on)
        if None in key:
            best[row["id"]] = ((), row["id"])
            continue
        value = row[order] if order else 0
        counts = value is not None and value == value  # neither null nor what is no number
        rank = (
            (counts, value if counts else 0, row["id"])
            if keep == "last"
            else (not counts, value if counts else 0, row["id"])
        )
        if key not in best or (rank > best[key][0] if keep == "last" else rank < best[key][0]):
            best[key] = (rank, row["id"])
    return sorted(id_ for _, id_ in best.values())


CASES = [
    (["name"], None, "last"),
    (["name"], None, "first"),
    (["name", "place"], "score", "last"),
    (["name"], "score", "first"),
    (["place"], "at", "last"),
]


@pytest.mark.parametrize(("on", "order", "keep"), CASES)
def test_one_row_of_each_key_stays(table: Kept, on: list[str], order: str | None, keep: str) -> None:
    wanted, before = expected(table, on, order, keep), table.version
    planned = jobs.dedupe(table.options, on, order=order, keep=keep, dry_run=True)
    assert (planned.rows, planned.facts["deleted"]) == (120, 120 - len(wanted))
    assert table.version == before
    done = jobs.dedupe(table.options, on, order=order, keep=keep)
    assert table.ids() == wanted
    assert (done.version, table.version, done.facts["deleted"]) == (before + 1, before + 1, 120 - len(wanted))
    again = jobs.dedupe(table.options, on, order=order, keep=keep)
    assert (again.changed, again.version) == (False, before + 1)


def test_spark_finds_the_same(spark: SparkSession, table: Kept) -> None:
    on, order, keep = CASES[2]
    wanted = expected(table, on, order, keep)
    jobs.dedupe(table.options, on, order=order, keep=keep, threads=2, spark=spark)
    assert table.ids() == wanted


def test_a_key_that_others_append_or_delete_meanwhile_is_seen_or_left(table: Kept) -> None:
    wanted = [i for i in expected(table, ["name"], None, "last") if i != 119]

    def others() -> None:
        table.delete("id = 119")  # it was to stay; now it must not go together with those it stood for
        table.catalog.insert_into_table_stream({"id": [table.name]}, rows(3).slice(0, 1).to_reader())  # type: ignore[arg-type]

    jobs.dedupe(table.options, "name", watch=Watched(0, others))
    names = table.open().to_table(columns=["name"])["name"].to_pylist()
    assert len([name for name in names if name is not None]) == len({*names} - {None}) == 12
    assert set(wanted) - set(table.ids()) == {116}  # the row with the name of the one that came later
    assert table.strays() == set()


def test_who_is_always_faster_is_told_and_nothing_is_left_behind(table: Kept) -> None:
    gone = iter(range(120))
    with pytest.raises(ConcurrentModificationError):
        jobs.dedupe(table.options, "place", watch=Watched(act=lambda: table.delete(f"id = {next(gone)}")), threads=1)
    assert table.strays() == set()


def test_a_stopped_one_deletes_nothing(table: Kept) -> None:
    before = table.version
    done = jobs.dedupe(table.options, "name", threads=1, stop=upkeep.stopping(1))
    assert (done.stopped, done.facts["deleted"]) == (True, 0)
    assert (table.version, table.strays()) == (before, set())


def test_bad_input_is_refused(table: Kept) -> None:
    for on, error, sentence in (
        ([], InvalidInputError, "needs the columns that rows are compared by"),
        (["nope"], TableColumnNotFoundError, "no column 'nope'"),
        (["score"], InvalidInputError, "is double, which rows cannot be compared by"),
    ):
        with pytest.raises(error, match=sentence):
            jobs.dedupe(table.options, on)
    with pytest.raises(InvalidInputError, match="keep is 'any'"):
        jobs.dedupe(table.options, "name", keep="any")
