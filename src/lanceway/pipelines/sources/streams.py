"""Streams: what there is of one when a run begins is taken over into a table, once, and steps read that table.

So a stream has versions, as a table has, and each output gets what is new to it. Spark notes beside the table how far
it has read; the table knows by the query's id and a batch's number what it has, so that a run which was killed
between the two takes nothing over twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.jobs.running import Stop
from lanceway.pipelines import outputs, targets, two_phase_write
from lanceway.pipelines.model import Pipeline, Source
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from lanceway.writes.table_ref import Target

# Beside what tasks note of their writes, and gone with the table's folder as well.
_FOLDER = ".lanceway/streams"
_LOOK = 0.2  # seconds between two looks whether to stop


def take_over(
    spark: SparkSession, pipeline: Pipeline, source: Source, config: str | Path | None, stop: Stop, *, run: str
) -> None:
    """Bring all that a stream has by now into its table, which is made if need be.

    Asked to stop, it ends with the batch that is under way; the next run goes on from there. Raises
    InvalidInputError where Spark has no place to note how far it is, and what Spark raises.
    """
    target, frame = targets.find(source.table, config), _frame(spark, source)
    if not outputs.version_of(target):
        _make(spark, frame, target, job=f"{run}/{source.name}")
    writer = frame.writeStream.format("lance").options(**target.to_options()).outputMode("append")
    writer = writer.option("checkpointLocation", _checkpoint(pipeline, source, target))
    query = writer.trigger(availableNow=True).start()
    try:
        while not query.awaitTermination(_LOOK):  # type: ignore[arg-type]
            if stop():
                break
    finally:
        query.stop()


def _frame(spark: SparkSession, source: Source) -> DataFrame:
    reader = spark.readStream.format(source.where[0]).options(**source.options)
    return (reader.schema(source.schema) if source.schema else reader).load()


def _make(spark: SparkSession, frame: DataFrame, target: Target, *, job: str) -> None:
    """The table without a row: it has a place then, whether or not anything has come yet."""
    with outputs.Rooms() as rooms, rooms.above(target):
        nothing = spark.createDataFrame([], frame.schema)
        two_phase_write.write(spark, nothing, target, {}, unique=(), overwrite=False, job=job)


def _checkpoint(pipeline: Pipeline, source: Source, target: Target) -> str:
    if source.checkpoint is not None:
        return str(local_path(source.checkpoint) or source.checkpoint)
    folder = local_path(target.table().location)
    if folder is None:
        raise InvalidInputError(
            f"{source.table} lies where Spark may not be able to write. Give checkpoint: a folder in which Spark can "
            "note how far it has read."
        )
    return str(folder / _FOLDER / pipeline.name / source.name)
