"""How far Spark is with something: its jobs, found by the group that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def name(spark: SparkSession, group: str) -> None:
    """Let the jobs that this thread starts belong to a group. Spark Connect has none."""
    if not _is_remote():
        spark.sparkContext.setJobGroup(group, group.rpartition("/")[2])


def tasks(spark: SparkSession, group: str) -> tuple[int, int]:
    """How many tasks of a group are done, and how many there are so far."""
    if _is_remote():
        return 0, 0
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    found = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    stages = [stage for stage in found if stage is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def _is_remote() -> bool:
    from pyspark.sql.utils import is_remote

    return is_remote()
