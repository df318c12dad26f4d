"""A column computed by a function: once for each fragment, whatever happens on the way, and all of it or nothing."""

from __future__ import annotations

import itertools
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lanceway import jobs
from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from tests.jobs import move_helpers as moves
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept, Watched
from tests.processes import WARM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = str(Path(__file__).parent)


@pytest.fixture
def table(lakes: Path) -> Kept:
    return upkeep.make(lakes)


class Doubling:
    """A function that remembers which rows it was asked for."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        self.seen += batch["id"].to_pylist()
        return pc.multiply(batch["id"], 2)


def columns(table: Kept, *names: str) -> list[tuple[Any, ...]]:
    rows = table.open().to_table(columns=list(names))
    return sorted(zip(*(rows[name].to_pylist() for name in names), strict=True), key=lambda row: row[0])


def test_every_row_has_its_value_and_deleted_ones_have_none(table: Kept) -> None:
    table.delete("id = 60")
    before = table.version
    doubling = Doubling()
    done = jobs.backfill(table.options, "twice", doubling, inputs=["id"], data_type=pa.int64(), batch_rows=20)
    assert (done.done, done.rows, done.facts["computed"]) == (6, 299, 6)
    assert (done.version, table.version) == (before + 1, before + 1)
    assert columns(table, "id", "twice") == [(i, 2 * i) for i in range(300) if i != 60]
    assert sorted(doubling.seen) == [i for i in range(300) if i != 60]
    assert table.strays() == set()


def test_the_version_that_was_read_is_told_where_others_commit_meanwhile(table: Kept) -> None:
    jobs.backfill(table.options, "twice", Doubling(), inputs=["id"], data_type=pa.int64())
    table.append(300, 10)
    read = table.version

    def appending(batch: pa.RecordBatch) -> pa.Array:
        if table.version == read:
            table.append(400, 10)
        return pc.multiply(batch["id"], 2)

    done = jobs.backfill(table.options, "twice", appending, inputs=["id"], update=True, threads=1)
    assert (done.facts["source_version"], done.version, done.rows) == (read, read + 2, 10)


@pytest.mark.parametrize(
    ("function", "type_"),
    [
        (lambda batch: np.ones((batch.num_rows, 4), "f4"), pa.list_(pa.float32(), 4)),
        (lambda batch: [f"row {i}" for i in batch["id"].to_pylist()], pa.string()),
        (lambda batch: pa.chunked_array([batch["id"]]), pa.int64()),
        (lambda batch: pa.record_batch({"any": batch["id"]}), pa.int64()),
        (lambda batch: np.arange(batch.num_rows), pa.int64()),
    ],
)
def test_the_type_is_that_of_what_the_function_answers(table: Kept, function: Any, type_: pa.DataType) -> None:
    jobs.backfill(table.options, "new", function)
    assert table.open().schema.field("new").type == type_
    assert table.open().count_rows("new IS NULL") == 0


def test_a_type_that_is_asked_for_is_what_the_column_gets(table: Kept) -> None:
    jobs.backfill(table.options, "new", lambda batch: [None] * batch.num_rows, data_type=pa.list_(pa.float32(), 2))
    assert table.open().schema.field("new").type == pa.list_(pa.float32(), 2)
    with pytest.raises(InvalidInputError, match="does not tell the type of the column 'other'"):
        jobs.backfill(table.options, "other", lambda batch: [None] * batch.num_rows)


def test_a_dry_run_calls_for_the_first_rows_and_changes_nothing(table: Kept) -> None:
    before, doubling = table.version, Doubling()
    planned = jobs.backfill(table.options, "twice", doubling, dry_run=True)
    assert (planned.parts, planned.rows, planned.facts["type"]) == (6, 300, "int64")
    assert len(doubling.seen) < 10
    assert (table.version, table.strays()) == (before, set())


def test_what_was_computed_before_a_stop_is_not_computed_again(table: Kept) -> None:
    first, second = Doubling(), Doubling()
    stopped = jobs.backfill(table.options, "twice", first, data_type=pa.int64(), threads=1, stop=upkeep.stopping(3))
    assert (stopped.stopped, stopped.done) == (True, 3)
    assert "twice" not in table.open().schema.names
    table.append(300, 10)
    table.delete("id = 5")  # of a fragment that was computed
    done = jobs.backfill(table.options, "twice", second, data_type=pa.int64())
    assert done.facts["computed"] == 4
    assert not set(first.seen) & set(second.seen)
    assert columns(table, "id", "twice") == [(i, 2 * i) for i in range(310) if i != 5]
    assert table.strays() == set()


def test_rows_of_others_are_computed_before_the_commit_and_their_deletions_stay(table: Kept) -> None:
    def others() -> None:
        table.append(300, 10)
        table.delete("id = 5")

    doubling = Doubling()
    done = jobs.backfill(table.options, "twice", doubling, data_type=pa.int64(), threads=1, watch=Watched(3, others))
    assert done.facts["computed"] == 7
    assert len(doubling.seen) == len(set(doubling.seen))
    assert columns(table, "id", "twice") == [(i, 2 * i) for i in range(310) if i != 5]


def test_a_column_that_others_add_meanwhile_is_no_harm(table: Kept) -> None:
    def others() -> None:
        request = {"id": [table.name], "new_columns": [{"name": "one", "expression": "1"}]}
        table.catalog.alter_table_add_columns(request)  # type: ignore[arg-type]

    jobs.backfill(table.options, "twice", Doubling(), threads=1, watch=Watched(3, others))
    assert columns(table, "id", "one", "twice") == [(i, 1, 2 * i) for i in range(300)]


def test_a_function_that_fails_is_named_with_the_row_and_nothing_is_committed(table: Kept) -> None:
    before = table.version

    def failing(batch: pa.RecordBatch) -> list[int]:
        return [1 // (i - 217) for i in batch["id"].to_pylist()]

    with pytest.raises(
        InvalidInputError, match=r"nothing was committed: .*failing failed at row 218: ZeroDivisionError"
    ):
        jobs.backfill(table.options, "new", failing, threads=1)
    assert table.version == before
    mended = Doubling()
    jobs.backfill(table.options, "new", mended)
    assert len(mended.seen) == 300 + 8  # another function: nothing of the first is used


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("nowhere:function", "'nowhere:function' cannot be imported: ModuleNotFoundError"),
        ("json:nothing", "json has no function 'nothing'"),
        ("json", "names no function: write package.module:function"),
        (lambda batch: [1], "answered 1 values for the 8 rows from row 1 on"),
        (lambda batch: object(), "answered for the rows from 1 on what is not a column"),
    ],
)
def test_what_is_no_function_of_rows_is_told(table: Kept, function: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        jobs.backfill(table.options, "new", function)


def test_bad_input_is_refused(table: Kept) -> None:
    with pytest.raises(InvalidInputError, match="The column 'id' cannot be added: it is there already"):
        jobs.backfill(table.options, "id", Doubling())
    with pytest.raises(TableColumnNotFoundError, match=r"table has no column 'nope'\. It has: id, text"):
        jobs.backfill(table.options, "new", Doubling(), inputs=["nope"])
    with pytest.raises(InvalidInputError, match="batch_rows is 0"):
        jobs.backfill(table.options, "new", Doubling(), batch_rows=0)


def test_an_empty_table_gets_an_empty_column(table: Kept) -> None:
    table.delete("true")
    assert jobs.backfill(table.options, "new", Doubling(), data_type=pa.int64()).changed
    assert "new" in table.open().schema.names


def test_rows_that_came_later_are_filled_and_no_others(table: Kept) -> None:
    jobs.backfill(table.options, "twice", Doubling())
    jobs.index(table.options, "twice", "BTREE")
    table.append(300, 40)
    table.delete("id = 310")
    planned = jobs.backfill(table.options, "twice", Doubling(), update=True, dry_run=True)
    assert (planned.rows, planned.facts["type"]) == (39, "int64")
    doubling = Doubling()
    done = jobs.backfill(table.options, "twice", doubling, inputs=["id"], update=True)
    assert (done.rows, done.facts["computed"], done.version) == (39, 1, table.version)
    assert sorted(doubling.seen) == [i for i in range(300, 340) if i != 310]
    assert columns(table, "id", "twice") == [(i, 2 * i) for i in range(340) if i != 310]
    assert table.open().to_table(filter="twice IN (10, 670)")["id"].to_pylist() == [5, 335]
    again = jobs.backfill(table.options, "twice", doubling, update=True)
    assert (again.changed, again.rows, again.version) == (False, 0, done.version)
    assert table.strays() == set()


def test_rows_that_a_condition_chooses_are_computed_anew_beside_others_who_write(table: Kept) -> None:
    def others() -> None:
        table.append(300, 10)
        table.delete("id = 5")

    done = jobs.backfill(
        table.options,
        "group",
        lambda batch: [-1] * batch.num_rows,
        update=True,
        where="id < 100",
        threads=1,
        watch=Watched(3, others),
    )
    assert done.rows in (99, 100)
    found = columns(table, "id", "group")
    assert found == [(i, -1 if i < 100 else i % 10) for i in range(310) if i != 5]
    assert {file for file in table.strays() if file.startswith("data/")} == set()


def test_an_update_needs_a_column_and_a_condition_needs_an_update(table: Kept) -> None:
    with pytest.raises(TableColumnNotFoundError, match="no column 'twice' to update"):
        jobs.backfill(table.options, "twice", Doubling(), update=True)
    with pytest.raises(InvalidInputError, match="it is for update"):
        jobs.backfill(table.options, "twice", Doubling(), where="id = 1")
    with pytest.raises(
        InvalidInputError, match=r"of the rows of fragment 2 for which id = 120, .*failed at row 1: Key"
    ):
        jobs.backfill(table.options, "group", lambda batch: {}["x"], update=True, where="id = 120")


def test_spark_computes_by_import_path_and_by_function(spark: SparkSession, table: Kept) -> None:
    named = "column_functions:thrice"
    done = jobs.backfill(table.options, "thrice", named, folder=HERE, inputs=["id"], threads=2, spark=spark)
    assert done.facts["computed"] == 6
    jobs.backfill(table.options, "more", lambda batch: pc.add(batch["id"], 1), threads=2, spark=spark)
    table.append(300, 5)
    jobs.backfill(table.options, "thrice", named, folder=HERE, update=True, threads=2, spark=spark)
    assert columns(table, "id", "thrice") == [(i, 3 * i) for i in range(305)]
    assert columns(table, "id", "more")[:300] == [(i, i + 1) for i in range(300)]
    with pytest.raises(InvalidInputError, match="failing failed at row 218: ZeroDivisionError"):
        jobs.backfill(table.options, "bad", "column_functions:failing", folder=HERE, threads=2, spark=spark)


# -- killed ------------------------------------------------------------------------------------------


def _fill(options: dict[str, str], cache: str, told: Connection) -> None:
    """In a process of its own: tell of each batch, and go on when told to."""
    os.environ["XDG_CACHE_HOME"] = cache

    jobs.backfill(options, "twice", _Told(told), data_type=pa.int64(), threads=1)
    told.send(None)


class _Told:
    def __init__(self, told: Connection) -> None:
        self._told = told

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        self._told.send(batch["id"].to_pylist())
        self._told.recv()
        return pc.multiply(batch["id"], 2)


def test_a_killed_backfill_computes_no_fragment_twice(table: Kept, rounds: int) -> None:
    computed: list[int] = []
    for kill_after in [2, 0, 1, 1, 0][: min(2, rounds)]:
        computed += _run(table, kill_after)
        assert "twice" not in table.open().schema.names
    computed += _run(table, None)
    assert sorted(computed) == list(range(300))
    assert columns(table, "id", "twice") == [(i, 2 * i) for i in range(300)]
    assert len(moves.versions(table.catalog, table.name)) == 7
    assert table.strays() == set()


def _run(table: Kept, kill_after: int | None) -> list[int]:
    """The ids of rows that were computed to their fragment's end, by a process that is killed within the next one."""
    ours, theirs = WARM.Pipe()
    process = WARM.Process(target=_fill, args=(table.options, os.environ["XDG_CACHE_HOME"], theirs))
    process.start()
    theirs.close()
    computed: list[int] = []
    for number in itertools.count():
        ids = ours.recv()
        if ids is None or number == kill_after:
            break
        computed += ids
        ours.send("go on")
    if kill_after is not None:
        process.kill()
    process.join()
    return computed
