"""A real cluster, which loses an executor or a whole worker in the middle of a job: nothing is lost, nothing twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway import pipelines
from tests.servers import spark as spark_server
from tests.servers.run import Run
from tests.servers.spark import Cluster, Worker
from tests.spark import cluster_program as cluster_job
from tests.spark import pausing
from tests.spark.write_helpers import ids

PIPELINE = """\
pipeline: paused
sources:
  raw: {{files: "{folder}/data", format: json, schema: "id BIGINT"}}
transforms:
  passed: {{inputs: [raw], batches: "pausing:passing", schema: "id BIGINT", with: {{place: "{folder}"}}}}
outputs:
  out: {{from: passed, table: here.t}}
"""


@pytest.fixture(scope="module")
def cluster(whole_run: Run) -> Cluster:
    return spark_server.start(whole_run, workers=2)


def prepare(work: str, folder: Path) -> None:
    """Make what a job finds: every second row for a merge; files, and the pipeline that reads them."""
    if work == "merge":
        even = pa.array(range(0, pausing.ROWS, 2), pa.int64())
        lance.write_dataset(pa.table({"id": even, "n": pa.nulls(len(even), pa.int64())}), folder / "t")
    if work == "pipeline":
        (folder / "lanceway.toml").write_text(f'[namespaces.here]\ntype = "dir"\npath = "{folder}"\n')
        (folder / "pipeline.yaml").write_text(PIPELINE.format(folder=folder))
        shutil.copy(pausing.__file__, folder)
        (folder / "data").mkdir()
        each = pausing.ROWS // cluster_job.TASKS
        for start in range(0, pausing.ROWS, each):
            lines = [f"{json.dumps({'id': number})}\n" for number in range(start, start + each)]
            (folder / "data" / f"{start}.json").write_text("".join(lines))


@contextmanager
def paused(work: str, cluster: Cluster, folder: Path) -> Iterator[tuple[Worker, int]]:
    """Start a job, and yield the process of the task that waits, with its worker. After that, the job goes on."""
    before = len(data_files(folder))
    command = [sys.executable, "-m", cluster_job.__name__, work, cluster.master, str(folder)]
    log = folder / "log"
    with log.open("wb") as output:
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "LANCE_LOG": "error"}
        job = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        # One task is in its middle, and others have written their rows.
        while not (folder / "reached").exists() or len(data_files(folder)) < before + 2:
            assert job.poll() is None, log.read_text()[-3000:]
            time.sleep(0.05)
        process = int((folder / "reached").read_text())
        (worker,) = (worker for worker in cluster.workers if process in worker.processes())
        yield worker, process
        assert not spark_server.is_alive(process), "the task goes on"
        assert job.poll() is None, "the job has ended before the task was lost"
        (folder / "lost").touch()
        assert job.wait(timeout=240) == 0, log.read_text()[-3000:]
    finally:
        job.kill()
        job.wait()


def data_files(folder: Path) -> list[Path]:
    return list((folder / "t" / "data").glob("*.lance"))


@pytest.mark.parametrize("work", cluster_job.WORKS)
def test_an_executor_lost_in_the_middle_loses_and_doubles_nothing(work: str, cluster: Cluster, folder: Path) -> None:
    prepare(work, folder)
    with paused(work, cluster, folder) as (worker, _):
        executors = worker.executors()
        assert executors
        worker.kill_executors()
        assert not any(map(spark_server.is_alive, executors))
        assert spark_server.is_alive(worker.process.pid)
    table = folder / "t"
    assert ids(table) == list(range(pausing.ROWS))
    assert lance.dataset(table).version == (2 if work == "merge" else 1)
    if work == "merge":
        numbers = lance.dataset(table).to_table()
        assert numbers["n"].to_pylist() == numbers["id"].to_pylist()
    if work == "append":
        # The files of the lost task may be there twice; the table has those of one attempt each.
        assert len(lance.dataset(table).get_fragments()) == cluster_job.TASKS
    if work == "pipeline":
        state, config = f"sqlite:///{folder}/state.db", folder / "lanceway.toml"
        assert pipelines.status(folder / "pipeline.yaml", state=state, config=config)["state"] == "done"


def test_a_worker_lost_in_the_middle_of_a_write_loses_and_doubles_nothing(cluster: Cluster, folder: Path) -> None:
    with paused("append", cluster, folder) as (worker, process):
        processes = worker.processes()
        assert {*worker.executors(), process, worker.process.pid} <= set(processes)
        worker.kill()
        assert not any(map(spark_server.is_alive, processes))
    assert ids(folder / "t") == list(range(pausing.ROWS))
    assert lance.dataset(folder / "t").version == 1
    assert len(lance.dataset(folder / "t").get_fragments()) == cluster_job.TASKS
