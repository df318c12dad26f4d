"""What a job is run with: its threads or its Spark session, its state file, its progress and its stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.jobs.report import JobProgress

if TYPE_CHECKING:
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
