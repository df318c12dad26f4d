"""A real cluster: a master and two workers, one of which is lost in the middle of a write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import lance

from tests.servers import spark as spark_server
from tests.servers.run import Run
from tests.spark import cluster_program as cluster_job
from tests.spark.write_helpers import ids


def test_a_worker_lost_in_the_middle_of_a_write_loses_and_doubles_nothing(whole_run: Run, folder: Path) -> None:
    cluster = spark_server.start(whole_run, workers=2)
    table = folder / "t"
    command = [sys.executable, "-m", cluster_job.__name__, cluster.master, str(table)]
    with (folder / "log").open("wb") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    try:
        # Some tasks are done, and at least one of each worker's is not.
        while len(list((table / "data").glob("*.lance"))) < 3:
            assert job.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.05)
        assert not (table / "_versions").exists(), "the job has ended before the worker was lost"
        cluster.workers[0].kill()
        assert job.wait(timeout=240) == 0, (folder / "log").read_text()[-2000:]
    finally:
        job.kill()
    assert ids(table) == list(range(cluster_job.ROWS))
    assert lance.dataset(table).version == 1
    # The files of the lost worker may be there twice; the table has those of one attempt each.
    assert len(lance.dataset(table).get_fragments()) == cluster_job.TASKS
