"""How far Spark is: the tasks and rows of one group of jobs, and of no other."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING

from lanceway.pipelines.runs.report import Progress, SparkJobWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_jobs_of_a_group_are_counted_with_their_rows(spark: SparkSession) -> None:
    watch = SparkJobWatch(spark, f"{uuid.uuid4()}/step")

    def work() -> None:
        watch.begin()
        for _ in range(2):
            spark.range(0, 1000, 1, 3).selectExpr("sum(id)").collect()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    deadline = time.monotonic() + 60
    while (progress := watch.progress()).done < progress.tasks or progress.rows < 2000:  # Spark counts a little later
        assert time.monotonic() < deadline, progress
        time.sleep(0.05)
    assert (progress.rows, progress.tasks >= 2 * 3) == (2000, True)
    assert watch.progress() == progress
    assert SparkJobWatch(spark, str(uuid.uuid4())).progress() == Progress()
