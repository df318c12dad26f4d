"""Run the parts of a job in threads or by Spark, with what every job is run with."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs.report import COLLISION, FAILED, REFUSED, JobProgress, JobReport, TableOutcome

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Stop = Callable[[], bool]
Watcher = Callable[[JobProgress], None]

# How many tables a job between catalogs works on at a time.
THREADS = 8
# How many parts of one table are worked on at a time. Each reads and writes with threads of its own.
PART_THREADS = 4


def never_stop() -> bool:
    """Let a job run to its end."""
    return False


def no_progress(progress: JobProgress) -> None:
    """Ignore how far a job is."""


def check_threads(threads: int) -> None:
    """Refuse a number of threads below 1."""
    if threads < 1:
        raise InvalidInputError(f"threads is {threads}, but at least 1 is needed.")


@dataclass(frozen=True)
class JobContext:
    """How a job runs, whichever job it is.

    `spark` lets Spark's workers do the parts instead of threads of this process. `state` is the file in which finished
    parts are remembered, that of the user's cache if it is None. `progress` is called after each part, and
    `should_stop` is asked before the next one.
    """

    dry_run: bool = False
    threads: int = PART_THREADS
    spark: SparkSession | None = None
    state: str | Path | None = None
    progress: Watcher = no_progress
    should_stop: Stop = never_stop

    def __post_init__(self) -> None:
        check_threads(self.threads)


Item = TypeVar("Item")
Listener = Callable[[TableOutcome], None]

# How many items wait for a thread, for each that has one.
_AHEAD = 4
# After so many tables in a row for which a service did not answer, the others are not tried.
_PATIENCE = 20


def outcomes(
    work: Callable[[Item], TableOutcome | None], items: Iterable[Item], context: JobContext
) -> Generator[TableOutcome]:
    """Yield what `work` returns for each item, but for None. Items are taken from their iterable as they are needed."""
    remaining = iter(items)
    with ThreadPoolExecutor(context.threads, thread_name_prefix="lanceway-job") as pool:
        running: set[Future[TableOutcome | None]] = set()
        try:
            while True:
                room = 0 if context.should_stop() else context.threads * _AHEAD - len(running)
                running |= {pool.submit(work, item) for item in islice(remaining, room)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    if outcome is not None:
                        yield outcome
                if context.should_stop():
                    running = {future for future in running if not future.cancel()}
        finally:
            for future in running:
                future.cancel()


def failure(
    table: str, target: Identifier | None, error: LanceNamespaceError, location: str | None = None
) -> TableOutcome:
    """Return the outcome of a table that could not be brought over, by what its error means."""
    state = FAILED
    if isinstance(error, TableAlreadyExistsError):
        state = COLLISION
    elif isinstance(error, InvalidInputError | UnsupportedOperationError):
        state = REFUSED
    return TableOutcome(
        state,
        table,
        None if target is None else str(target),
        location,
        reason=" ".join(str(error).split()),
        unavailable=isinstance(error, ServiceUnavailableError),
    )


def collect(
    report: JobReport, each: Generator[TableOutcome], listen: Listener | None, context: JobContext
) -> JobReport:
    """Count every outcome and hand it to the listener. Raises ServiceUnavailableError where a service has gone away."""
    unreached = 0
    with closing(each):
        for outcome in each:
            report.add(outcome)
            if listen is not None:
                listen(outcome)
            unreached = unreached + 1 if outcome.unavailable else 0
            if unreached >= _PATIENCE:
                raise ServiceUnavailableError(
                    f"The job ends after {report.tables:,} tables: the last {unreached} could not be reached. "
                    f"{outcome.reason} Run the same job again to resume."
                )
    return report.finish(stopped=context.should_stop())


Part = TypeVar("Part")
Done = TypeVar("Done")

# A job of Spark costs a tenth of a second or two, whatever it does: short parts are given to it together.
_WORTH = 2.0  # seconds of work
_LEAST = 4  # so many times less than that is not worth it even at the end
_MOST = 64  # parts


class _PartResults(NamedTuple, Generic[Done]):
    """The results of some parts, in their order, up to the first that failed; and how long they took."""

    results: list[Done]
    failure: LanceNamespaceError | None
    seconds: float


def run_parts(work: Callable[[Part], Done], parts: Iterable[Part], context: JobContext) -> Iterator[tuple[Part, Done]]:
    """Yield each part with what `work` returns for it, as it comes. With Spark, both have to be picklable.

    Where one part fails, or the job is to stop, no further one is begun; those under way are still yielded, so that
    the caller knows of all that was made. Then the failure is raised.
    """
    threads, spark = context.threads, context.spark
    remaining, failure, together = iter(parts), None, 1
    unshared = len(parts) if isinstance(parts, Sized) else None
    run = partial(_run_here, work) if spark is None else partial(_run_by_spark, spark, work)
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-part") as pool:
        running: dict[Future[_PartResults[Done]], list[Part]] = {}
        while True:
            while len(running) < threads and not failure and not context.should_stop():
                group = list(islice(remaining, share(together, unshared, threads)))
                if not group:
                    break
                unshared = None if unshared is None else unshared - len(group)
                running[pool.submit(run, group)] = group
            if not running:
                break
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                group = running.pop(future)
                try:
                    done = future.result()
                except LanceNamespaceError as error:
                    # The first one is raised; those under way may fail for the same reason, and say no more.
                    failure = failure or error
                    continue
                failure = failure or done.failure
                if spark is not None and done.results:
                    # Measured again by each group, since the parts of one job may be of very different sizes.
                    together = int(_WORTH * len(done.results) / max(done.seconds, 0.001))
                yield from zip(group, done.results, strict=False)
    if failure is not None:
        raise failure


def share(together: int, unshared: int | None, threads: int) -> int:
    """Return how many parts to give out at once: `together`, or fewer towards the end, so that no thread is idle."""
    fair = together if unshared is None else max(unshared // (2 * threads), together // _LEAST)
    return max(1, min(together, fair, _MOST))


def _run_here(work: Callable[[Part], Done], parts: Sequence[Part]) -> _PartResults[Done]:
    began = time.monotonic()
    results: list[Done] = []
    for part in parts:
        try:
            results.append(work(part))
        except LanceNamespaceError as error:
            return _PartResults(results, error, time.monotonic() - began)
    return _PartResults(results, None, time.monotonic() - began)


def _run_by_spark(spark: SparkSession, work: Callable[[Part], Done], parts: Sequence[Part]) -> _PartResults[Done]:
    """Run some parts as a job of Spark with a single task, so that their results are here as soon as it is done."""
    from pyspark.errors import PySparkException

    try:
        # One row, for one task; what it is to do travels with the function, which costs less than rows from here.
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(_worker(work, list(parts)), "done binary").collect()
    except PySparkException as error:
        raise InternalError(
            f"Spark could not carry out a part of the job: {reason_of(error)}. Run it again."
        ) from error
    results: _PartResults[Done] = pickle.loads(row.done)
    return results


def reason_of(error: Exception) -> str:
    """Return the last line of an error of Spark that is not about a place in the code."""
    lines = [line for line in str(error).splitlines() if line.strip() and line[0] not in " \t"]
    return (lines[-1] if lines else type(error).__name__).rstrip(".")


def _worker(work: Callable[[Any], Any], parts: list[Any]):  # type: ignore[no-untyped-def]
    """Return what a worker runs. An error of the contract is a result, so that it arrives as it was raised."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            done = pickle.dumps(_run_here(work, parts))
            yield pa.RecordBatch.from_arrays([pa.array([done], pa.binary())], ["done"])

    return run
