"""The same work for many tables: some at a time, each outcome as it comes, and an end when that is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from typing import TypeVar

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs.outcomes import COLLISION, FAILED, REFUSED, Outcome, Report

Item = TypeVar("Item")
Listener = Callable[[Outcome], None]
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
    work: Callable[[Item], Outcome | None], items: Iterable[Item], *, threads: int = THREADS, stop: Stop = never
) -> Iterator[Outcome]:
    """What `work` says of each item; None of it is passed over. Items are taken as they are needed."""
    remaining = iter(items)
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-job") as pool:
        running: set[Future[Outcome | None]] = set()
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


def failure(table: str, target: Identifier | None, error: LanceNamespaceError, location: str | None = None) -> Outcome:
    """A table that could not be brought over, by what its error means."""
    state = FAILED
    if isinstance(error, TableAlreadyExistsError):
        state = COLLISION
    elif isinstance(error, InvalidInputError | UnsupportedOperationError):
        state = REFUSED
    lost = isinstance(error, ServiceUnavailableError)
    return Outcome(
        state,
        table,
        None if target is None else str(target),
        location,
        reason=" ".join(str(error).split()),
        unavailable=lost,
    )


def collect(report: Report, found: Iterator[Outcome], listen: Listener | None, stop: Stop) -> Report:
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
