"""How far Spark is with something: its jobs, found by the group that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_RUNNING = "RUNNING"
_SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks that are done, and how many there are so far; rows and bytes that were read, where that is known."""

    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.done + other.done, self.tasks + other.tasks, self.rows + other.rows, self.bytes + other.bytes
        )


@dataclass
class SparkJobWatch:
    """The jobs of one group. Those that are over are asked for once: a step may have many."""

    spark: SparkSession
    group: str
    _over: dict[int, Progress] = field(default_factory=dict)

    def begin(self) -> None:
        """Let the jobs that this thread starts belong to the group. Spark Connect has none."""
        if not _is_remote():
            self.spark.sparkContext.setJobGroup(self.group, self.group.rpartition("/")[2])

    def interrupt(self, tag: str) -> None:
        """Stop the jobs of the group; by the tag where there are no groups, since it does not find all of them."""
        if _is_remote():
            self.spark.interruptTag(tag)
        else:
            self.spark.sparkContext.cancelJobGroup(self.group)

    def progress(self) -> Progress:
        if _is_remote():
            return Progress()
        tracker = self.spark.sparkContext.statusTracker()
        stages = self.spark.sparkContext._jsc.sc().statusStore()
        found = Progress()
        for job in tracker.getJobIdsForGroup(self.group):
            found += self._over.get(job) or self._job(tracker, stages, job)
        return found

    def _job(self, tracker: StatusTracker, stages: Any, job: int) -> Progress:
        info = tracker.getJobInfo(job)
        if info is None:
            return Progress()
        found = Progress()
        for stage in info.stageIds:
            found += _stage(stages, stage)
        if info.status != _RUNNING:
            self._over[job] = found
        return found


def _stage(stages: Any, stage: int) -> Progress:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    try:
        data = stages.lastStageAttempt(stage)
    except Py4JJavaError:  # Spark has forgotten it: it keeps so many
        return Progress()
    if data.status().name() == _SKIPPED:  # what another job has computed
        return Progress()
    rows, size = data.inputRecords(), data.inputBytes()
    # Of some files Spark counts nothing but the footers.
    return Progress(data.numCompleteTasks(), data.numTasks(), rows, size if size >= rows else 0)


def _is_remote() -> bool:
    from pyspark.sql.utils import is_remote

    return is_remote()
