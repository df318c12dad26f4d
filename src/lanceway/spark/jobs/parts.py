"""The parts of a job on one table, side by side: in threads of this process, or by the workers of a Spark session."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from lanceway.errors import InternalError, LanceNamespaceError
from lanceway.spark.jobs.running import Stop, never

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Part = TypeVar("Part")
Done = TypeVar("Done")

# How many parts are worked on at a time. Each reads and writes with threads of its own.
THREADS = 4


def carried_out(
    work: Callable[[Part], Done],
    parts: Iterable[Part],
    *,
    threads: int = THREADS,
    spark: SparkSession | None = None,
    stop: Stop = never,
) -> Iterator[tuple[Part, Done]]:
    """Each part with what `work` made of it, as it comes. With `spark`, both have to be picklable.

    Where one part fails, or the job is to stop, no further one is begun; those under way are still told, so that
    whoever asked knows of all that was made. Then the failure is raised.
    """
    remaining, failure = iter(parts), None
    run = work if spark is None else partial(_by_spark, spark, work)
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-part") as pool:
        running: dict[Future[Done], Part] = {}
        while True:
            room = 0 if failure or stop() else threads - len(running)
            running |= {pool.submit(run, part): part for part in islice(remaining, room)}
            if not running:
                break
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                part = running.pop(future)
                try:
                    done = future.result()
                except LanceNamespaceError as error:
                    failure = failure or error
                    continue
                yield part, done
    if failure is not None:
        raise failure


def _by_spark(spark: SparkSession, work: Callable[[Part], Done], part: Part) -> Done:
    """One part as a job of Spark with a single task: what it answers is here as soon as it is done."""
    from pyspark.errors import PySparkException

    try:
        rows = spark.createDataFrame([(pickle.dumps(part),)], "part binary").coalesce(1)
        (answer,) = rows.mapInArrow(_worker(work), "done binary").collect()
    except PySparkException as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InternalError(f"Spark could not carry out a part of the job: {lines[0]} Run it again.") from error
    done: Done | LanceNamespaceError = pickle.loads(answer.done)
    if isinstance(done, LanceNamespaceError):
        raise done
    return done


def _worker(work: Callable[[Any], Any]):  # type: ignore[no-untyped-def]
    """What a worker runs. An error of the contract is an answer, so that it arrives as it was raised."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for part in map(pickle.loads, batch.column(0).to_pylist()):
                try:
                    done = work(part)
                except LanceNamespaceError as error:
                    done = error.with_traceback(None)
                yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(done)], pa.binary())], ["done"])

    return run
