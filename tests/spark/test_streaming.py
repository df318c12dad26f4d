"""Streams from and into Lance tables: which rows a stream has, and that each arrives once."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable

import lanceway.spark
from lanceway.errors import InvalidInputError, InvalidTableStateError, TableVersionNotFoundError
from lanceway.spark.read.stream import StreamReader
from lanceway.spark.types import spark_schema
from tests.spark import streaming_program as streaming_job
from tests.spark.write_helpers import ids, strays

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10


def grow(path: Path, versions: int) -> None:
    """Add so many versions of ten rows each; ids go on from what is there."""
    start = lance.dataset(path).count_rows() if path.exists() else 0
    for number in range(versions):
        first = start + number * ROWS
        rows = pa.table({"id": range(first, first + ROWS), "name": ["x"] * ROWS})
        lance.write_dataset(rows, path, mode="append" if path.exists() else "create")


# -- what a stream has ---------------------------------------------------------------------------


class Stream:
    """What Spark does with a source, without Spark: it asks for offsets and reads what lies between."""

    def __init__(self, path: Path, **options: str) -> None:
        schema = spark_schema(lance.dataset(path).schema)
        self.reader = StreamReader({"path": str(path), **options}, schema)
        self.at = self.reader.initialOffset()

    def next(self) -> list[int]:
        """The ids of the next batch."""
        end = self.reader.latestOffset(self.at, self.reader.getDefaultReadLimit())
        found = self.between(self.at, end)
        self.at = end
        return found

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
        partitions = self.reader.partitions(start, end)
        return [id_ for part in partitions for batch in self.reader.read(part) for id_ in batch["id"].to_pylist()]


def test_a_stream_begins_with_all_now_or_a_version(folder: Path) -> None:
    grow(folder / "t", 3)
    every, now, second = (Stream(folder / "t", **given) for given in ({}, {"start": "now"}, {"start": "2"}))
    assert [stream.next() for stream in (every, now, second)] == [list(range(30)), [], list(range(10, 30))]
    grow(folder / "t", 1)
    assert [stream.next() for stream in (every, now, second)] == 3 * [list(range(30, 40))]
    assert every.next() == []


def test_a_batch_holds_no_more_than_was_asked_for(folder: Path) -> None:
    grow(folder / "t", 5)
    versions = Stream(folder / "t", start="1", max_versions_per_trigger="2")
    assert [len(versions.next()) for _ in range(4)] == [20, 20, 10, 0]
    rows = Stream(folder / "t", max_rows_per_trigger="25")
    assert [len(rows.next()) for _ in range(4)] == [20, 20, 10, 0]
    fewer = Stream(folder / "t", max_rows_per_trigger="1")  # a file is not divided
    assert [len(fewer.next()) for _ in range(2)] == [10, 10]
    assert len(fewer.between(fewer.at, fewer.reader.latestOffset(fewer.at, ReadAllAvailable()))) == 30


def test_what_is_available_now_has_an_end(folder: Path) -> None:
    grow(folder / "t", 1)
    stream = Stream(folder / "t")
    stream.reader.prepareForTriggerAvailableNow()
    grow(folder / "t", 1)
    assert [stream.next(), stream.next()] == [list(range(10)), []]


def test_a_first_batch_that_is_tried_again_is_the_same(folder: Path) -> None:
    """Spark asks for the beginning anew when it tries the first batch again: it may be another one by then."""
    grow(folder / "t", 1)
    stream = Stream(folder / "t", start="now")
    begun = stream.at
    grow(folder / "t", 2)
    end = stream.reader.latestOffset(begun, ReadAllAvailable())
    again = Stream(folder / "t", start="now")
    assert again.at != begun
    assert again.between(again.at, end) == stream.between(begun, end) == list(range(10, 30))


def test_rows_that_move_or_go_are_no_news_and_rows_that_change_are_refused(folder: Path) -> None:
    grow(folder / "t", 2)
    stream, skipping = Stream(folder / "t", start="now"), Stream(folder / "t", start="now", skip_changes="true")
    dataset = lance.dataset(folder / "t")
    dataset.delete("id = 3")
    dataset.optimize.compact_files()
    grow(folder / "t", 1)
    assert stream.next() == skipping.next() == list(range(19, 29))
    lance.dataset(folder / "t").update({"name": "'y'"}, where="id = 5")
    grow(folder / "t", 1)
    with pytest.raises(InvalidTableStateError, match=r"does not only add rows, it changes some \(Update\)"):
        stream.next()
    assert skipping.next() == list(range(29, 39))


def test_columns_that_are_added_or_cast_are_no_news_and_one_written_anew_is_refused(folder: Path) -> None:
    grow(folder / "t", 1)
    stream = Stream(folder / "t", start="now")
    dataset: Any = lance.dataset(folder / "t")
    dataset.add_columns({"twice": "id * 2"})
    dataset.alter_columns({"path": "twice", "data_type": pa.int32()})
    dataset.drop_columns(["twice"])
    grow(folder / "t", 1)
    assert stream.next() == list(range(10, 20))
    dataset = lance.dataset(folder / "t")
    fragment = dataset.get_fragments()[0]
    made, _ = fragment.update_columns(pa.table({"id": [3], "name": ["y"]}), left_on="id")
    others = [one.metadata for one in dataset.get_fragments()[1:]]
    operation = lance.LanceOperation.Merge([made, *others], dataset.lance_schema)
    lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
    with pytest.raises(InvalidTableStateError, match=r"does not only add rows, it changes some \(Merge\)"):
        stream.next()


def test_a_version_that_was_cleaned_up_is_missed(folder: Path) -> None:
    grow(folder / "t", 3)
    stream = Stream(folder / "t", start="1")
    lance.dataset(folder / "t").cleanup_old_versions(dt.timedelta(0), delete_unverified=True)
    with pytest.raises(
        TableVersionNotFoundError, match=r"Version 1 of .* was cleaned up before the stream has read it"
    ):
        stream.next()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "yesterday"}, "must be earliest, now or a version's number"),
        ({"version": "1"}, "version is for reading at once"),
        ({"max_rows_per_trigger": "0"}, "must be at least 1"),
    ],
)
def test_an_option_that_means_nothing_for_a_stream_is_refused(
    folder: Path, options: dict[str, str], message: str
) -> None:
    grow(folder / "t", 1)
    with pytest.raises(InvalidInputError, match=message):
        Stream(folder / "t", **options)


# -- once ----------------------------------------------------------------------------------------


def forget_last_batch(checkpoint: Path) -> None:
    """Leave a checkpoint as a crash does between the commit of the last batch and Spark's note of it."""
    last = max(int(file.name) for file in (checkpoint / "commits").iterdir() if file.name.isdecimal())
    for name in (str(last), f".{last}.crc"):
        (checkpoint / "commits" / name).unlink()


def test_a_batch_that_is_tried_again_is_not_written_again(spark: SparkSession, folder: Path) -> None:
    source, sink, checkpoint = folder / "source", folder / "sink", folder / "checkpoint"
    grow(source, 2)

    def run() -> None:
        rows = spark.readStream.format("lance").options(start="1", max_versions_per_trigger="1").load(str(source))
        query = rows.writeStream.format("lance").option("checkpointLocation", str(checkpoint))
        query.trigger(availableNow=True).start(str(sink)).awaitTermination()

    run()
    assert lance.dataset(sink).version == 2
    forget_last_batch(checkpoint)
    grow(source, 1)
    run()
    assert ids(sink) == list(range(30))
    assert lance.dataset(sink).version == 3
    assert strays(sink) == set()


def test_a_batch_is_merged_once(spark: SparkSession, folder: Path) -> None:
    source, sink, checkpoint = folder / "source", folder / "sink", folder / "checkpoint"
    grow(source, 1)
    lance.write_dataset(pa.table({"id": range(5), "name": ["old"] * 5, "n": [0] * 5}), sink)
    merge = lanceway.spark.merge_batches(
        sink,
        on="id",
        when_matched_update={"n": "target.n + 1"},
        when_not_matched_insert={"id": "source.id", "name": "source.name", "n": "0"},
    )

    def run() -> None:
        query = spark.readStream.format("lance").load(str(source)).writeStream.foreachBatch(merge)
        query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()

    run()
    forget_last_batch(checkpoint)
    run()
    found = {row["id"]: row["n"] for row in lance.dataset(sink).to_table().to_pylist()}
    assert found == {**dict.fromkeys(range(5), 1), **dict.fromkeys(range(5, 10), 0)}
    assert lance.dataset(sink).version == 2


def test_a_stream_that_cannot_be_written_says_why(spark: SparkSession, folder: Path) -> None:
    grow(folder / "source", 1)
    lance.write_dataset(pa.table({"other": [1]}), folder / "sink")
    rows = spark.readStream.format("lance").load(str(folder / "source"))
    query = rows.writeStream.format("lance").option("checkpointLocation", str(folder / "checkpoint"))
    with pytest.raises(PySparkException, match=r"The rows do not fit .* no column 'id'"):
        query.trigger(availableNow=True).start(str(folder / "sink")).awaitTermination()


def test_every_row_is_there_once_after_kills(folder: Path, rounds: int) -> None:
    """The process of the query is killed again and again: 20 times in 200 batches in the drill, once in the suite."""
    source, sink, checkpoint = folder / "source", folder / "sink", folder / "checkpoint"
    kills, batches = max(1, rounds // 100), max(4, rounds // 10)
    grow(source, batches)
    command = [sys.executable, "-m", streaming_job.__name__, str(source), str(sink), str(checkpoint)]
    for number in range(kills):
        reached = (number + 1) * batches // (kills + 1)
        query = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while versions(sink) < reached:
                assert query.poll() is None, "the query has ended before it was killed"
                time.sleep(0.02)
            time.sleep(random.random() / 2)  # anywhere in the next batch, commit and notes included
        finally:
            os.killpg(query.pid, signal.SIGKILL)
            query.wait()
    last = subprocess.run(command, check=False, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr[-4000:]
    assert ids(sink) == list(range(batches * ROWS))
    assert versions(sink) == batches


def versions(path: Path) -> int:
    return len(list((path / "_versions").glob("*.manifest")))
