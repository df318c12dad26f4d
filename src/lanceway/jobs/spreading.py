"""Copies carried out by the workers of a Spark session, a group of tables at a time."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lanceway.jobs.between.copying import Copier, Task
from lanceway.jobs.journal import Entry
from lanceway.jobs.outcomes import Outcome
from lanceway.jobs.running import Stop

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# So many tables of a group for each task of Spark: enough that one large table keeps few waiting.
_FOR_EACH = 8


def carried_out(
    spark: SparkSession, copier: Copier, prepared: Iterable[Task | Outcome], tasks: int, stop: Stop
) -> Iterator[tuple[Task | None, Outcome, Entry | None]]:
    """Each task with what became of it. What is an outcome already passes, without a task."""
    remaining = iter(prepared)
    while not stop() and (group := list(islice(remaining, tasks * _FOR_EACH))):
        yield from ((None, item, None) for item in group if isinstance(item, Outcome))
        given = [(pickle.dumps(item),) for item in group if isinstance(item, Task)]
        if given:
            parts = spark.createDataFrame(given, "task binary").repartition(min(tasks, len(given)))
            # Not `toLocalIterator`, with which Spark begins a partition when the one before has been read.
            for row in parts.mapInArrow(_worker(pickle.dumps(copier)), "done binary").collect():
                yield pickle.loads(row.done)


def _worker(copier: bytes):  # type: ignore[no-untyped-def]
    """What a worker runs. It opens the catalogs anew, once for each of Spark's tasks."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        opened: Copier = pickle.loads(copier)
        for batch in batches:
            for task in map(pickle.loads, batch.column(0).to_pylist()):
                done = pickle.dumps((task, *opened.carry_out(task)))
                yield pa.RecordBatch.from_arrays([pa.array([done], pa.binary())], ["done"])

    return work
