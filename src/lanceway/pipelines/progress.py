"""The progress of Spark jobs, which are found by their job group."""

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
    """Tasks done and tasks known so far; rows and bytes read, as far as Spark counts them."""

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
    """The jobs of one group. A finished job is asked for once, since a step may have many."""

    spark: SparkSession
    group: str
    _over: dict[int, Progress] = field(default_factory=dict)

    def begin(self) -> None:
        """Put the jobs that this thread starts into the group. Spark Connect has no groups."""
        if not _is_remote():
            self.spark.sparkContext.setJobGroup(self.group, self.group.rpartition("/")[2])

    def interrupt(self, tag: str) -> None:
        """Stop the jobs of the group; by the tag on Spark Connect. The tag alone does not find all jobs elsewhere."""
        if _is_remote():
            self.spark.interruptTag(tag)
        else:
            self.spark.sparkContext.cancelJobGroup(self.group)

    def progress(self) -> Progress:
        if _is_remote():
            return Progress()
        tracker = self.spark.sparkContext.statusTracker()
        stages = self.spark.sparkContext._jsc.sc().statusStore()
        total = Progress()
        for job in tracker.getJobIdsForGroup(self.group):
            total += self._over.get(job) or self._job(tracker, stages, job)
        return total

    def _job(self, tracker: StatusTracker, stages: Any, job: int) -> Progress:
        info = tracker.getJobInfo(job)
        if info is None:
            return Progress()
        total = Progress()
        for stage in info.stageIds:
            total += _stage(stages, stage)
        if info.status != _RUNNING:
            self._over[job] = total
        return total


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
