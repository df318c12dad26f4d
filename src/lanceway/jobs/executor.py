"""The same work for many tables: some at a time, each outcome as it comes, and an end when that is asked for."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial
from itertools import islice
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
from lanceway.jobs.report import COLLISION, FAILED, REFUSED, JobReport, TableOutcome

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Listener = Callable[[TableOutcome], None]
Stop = Callable[[], bool]
# Told of rows and bytes while they pass.
Flow = Callable[[int, int], None]

THREADS = 8
# How many items wait for a thread, for each that has one.
_AHEAD = 4
# After so many tables in a row for which a service did not answer, the others are not tried.
_PATIENCE = 20


def never() -> bool:
    return False


def unseen(rows: int, bytes_: int) -> None:
    """Rows that nobody watches."""


def check_threads(threads: int) -> None:
    if threads < 1:
        raise InvalidInputError(f"threads is {threads}, but at least 1 is needed.")


def outcomes(
    work: Callable[[Item], TableOutcome | None], items: Iterable[Item], *, threads: int = THREADS, stop: Stop = never
) -> Iterator[TableOutcome]:
    """What `work` says of each item; None of it is passed over. Items are taken as they are needed."""
    remaining = iter(items)
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-job") as pool:
        running: set[Future[TableOutcome | None]] = set()
        try:
            while True:
                room = 0 if stop() else threads * _AHEAD - len(running)
                running |= {pool.submit(work, item) for item in islice(remaining, room)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    if outcome is not None:
                        yield outcome
                if stop():
                    running = {future for future in running if not future.cancel()}
        finally:
            for future in running:
                future.cancel()


def failure(
    table: str, target: Identifier | None, error: LanceNamespaceError, location: str | None = None
) -> TableOutcome:
    """A table that could not be brought over, by what its error means."""
    state = FAILED
    if isinstance(error, TableAlreadyExistsError):
        state = COLLISION
    elif isinstance(error, InvalidInputError | UnsupportedOperationError):
        state = REFUSED
    lost = isinstance(error, ServiceUnavailableError)
    return TableOutcome(
        state,
        table,
        None if target is None else str(target),
        location,
        reason=" ".join(str(error).split()),
        unavailable=lost,
    )


def collect(report: JobReport, found: Iterator[TableOutcome], listen: Listener | None, stop: Stop) -> JobReport:
    """Count every outcome and tell the listener. Raises ServiceUnavailableError where a service has gone away."""
    lost = 0
    with closing(found) as each:  # type: ignore[type-var]
        for outcome in each:
            report.add(outcome)
            if listen is not None:
                listen(outcome)
            lost = lost + 1 if outcome.unavailable else 0
            if lost >= _PATIENCE:
                raise ServiceUnavailableError(
                    f"The job ends after {report.tables:,} tables: the last {lost} could not be reached. "
                    f"{outcome.reason} Run the same job again to go on."
                )
    report.stopped = stop()
    report.seconds = time.monotonic() - report.began
    return report


Part = TypeVar("Part")
Done = TypeVar("Done")

# How many parts are worked on at a time. Each reads and writes with threads of its own.
PART_THREADS = 4
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
    threads: int = PART_THREADS,
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
