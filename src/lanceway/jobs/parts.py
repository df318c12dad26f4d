"""The parts of a job on one table, side by side: in threads of this process, or by the workers of a Spark session."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lanceway.errors import InternalError, LanceNamespaceError
from lanceway.jobs.running import Stop, never

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Part = TypeVar("Part")
Done = TypeVar("Done")

# How many parts are worked on at a time. Each reads and writes with threads of its own.
THREADS = 4
# A job of Spark costs a tenth of a second or two, whatever it does: short parts are given to it together.
_WORTH = 2.0  # seconds of work
_LEAST = 4  # so many times less than that is not worth it even at the end
_MOST = 64  # parts


class Answers(NamedTuple, Generic[Done]):
    """What was made of some parts, in their order, up to the first that failed; and how long that took."""

    made: list[Done]
    failure: LanceNamespaceError | None
    seconds: float


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
    remaining, failure, together = iter(parts), None, 1
    left = len(parts) if isinstance(parts, Sized) else None
    run = partial(_each, work) if spark is None else partial(_by_spark, spark, work)
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-part") as pool:
        running: dict[Future[Answers[Done]], list[Part]] = {}
        while True:
            while len(running) < threads and not failure and not stop():
                group = list(islice(remaining, share(together, left, threads)))
                if not group:
                    break
                left = None if left is None else left - len(group)
                running[pool.submit(run, group)] = group
            if not running:
                break
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                group = running.pop(future)
                try:
                    answers = future.result()
                except LanceNamespaceError as error:
                    failure = failure or error
                    continue
                failure = failure or answers.failure
                if spark is not None and answers.made:
                    together = int(_WORTH * len(answers.made) / max(answers.seconds, 0.001))
                yield from zip(group, answers.made, strict=False)
    if failure is not None:
        raise failure


def share(together: int, left: int | None, threads: int) -> int:
    """How many parts one is given: so many together, and fewer towards the end, so that nobody is left without any."""
    fair = together if left is None else max(left // (2 * threads), together // _LEAST)
    return max(1, min(together, fair, _MOST))


def _each(work: Callable[[Part], Done], parts: Sequence[Part]) -> Answers[Done]:
    began, made = time.monotonic(), []
    for part in parts:
        try:
            made.append(work(part))
        except LanceNamespaceError as error:
            return Answers(made, error, time.monotonic() - began)
    return Answers(made, None, time.monotonic() - began)


def _by_spark(spark: SparkSession, work: Callable[[Part], Done], parts: Sequence[Part]) -> Answers[Done]:
    """Some parts as a job of Spark with a single task: what it answers is here as soon as it is done."""
    from pyspark.errors import PySparkException

    try:
        # One row, for one task; what it is to do travels with the function, which costs less than rows from here.
        (answer,) = spark.range(0, 1, 1, 1).mapInArrow(_worker(work, list(parts)), "done binary").collect()
    except PySparkException as error:
        raise InternalError(f"Spark could not carry out a part of the job: {_said(error)}. Run it again.") from error
    answers: Answers[Done] = pickle.loads(answer.done)
    return answers


def _said(error: Exception) -> str:
    """What went wrong: where a worker tells it, the last line that is not about a place in the code."""
    lines = [line for line in str(error).splitlines() if line.strip() and line[0] not in " \t"]
    return (lines[-1] if lines else type(error).__name__).rstrip(".")


def _worker(work: Callable[[Any], Any], parts: list[Any]):  # type: ignore[no-untyped-def]
    """What a worker runs. An error of the contract is an answer, so that it arrives as it was raised."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            done = pickle.dumps(_each(work, parts))
            yield pa.RecordBatch.from_arrays([pa.array([done], pa.binary())], ["done"])

    return run
