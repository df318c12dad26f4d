"""Workers of a real cluster renew credentials that end while they read, and the server is asked seldom for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway.access.privileges import SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.servers import lanceway as lanceway_server
from tests.servers import seaweedfs
from tests.servers import spark as spark_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import ROLE
from tests.servers.spark import Cluster
from tests.spark import renewing_program
from tests.spark.renewing_program import DATASETS

WORKERS, CORES = 2, 2
TASKS = WORKERS * CORES  # all at once, each in a process of its own
FILES, ROWS = 8, 64
LIFE = 4  # seconds, of which clients are told
SECONDS = 3 * LIFE


@pytest.fixture(scope="module")
def cluster(whole_run: Run) -> Cluster:
    return spark_server.start(whole_run, workers=WORKERS, cores=CORES)


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """Two catalogs over one folder with one table: the credentials of the second end soon."""
    s3 = seaweedfs.start_sts(whole_run)
    root = s3.prefix()
    rows = pa.table({"id": pa.array(range(ROWS), pa.int64())})
    lance.write_dataset(rows, f"{root}/t", storage_options=s3.storage_options, max_rows_per_file=ROWS // FILES)
    reached = "\n".join(f'storage.{key} = "{value}"' for key, value in s3.storage_options.items())
    text = "".join(
        f'[catalogs.{name}]\ntype = "dir"\npath = "{root}"\n{reached}\ncredentials.role_arn = "{ROLE}"\n'
        f"credentials.duration = {life}\n"
        for name, life in (("steady", 900), ("brief", LIFE))
    )
    started = lanceway_server.start(whole_run, name="renewing", settings=text, arguments=("--no-worker",))
    yield started
    started.stop()


@pytest.mark.slow
def test_workers_renew_without_a_herd(cluster: Cluster, server: Lanceway, tmp_path: Path) -> None:
    token = server.token_for("worker", USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    arguments = [cluster.master, server.address, token, str(TASKS), str(SECONDS), str(tmp_path / "result")]
    job = subprocess.run(
        [sys.executable, "-m", renewing_program.__name__, *arguments],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "LANCE_LOG": "error"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert job.returncode == 0, job.stderr[-3000:]
    results = json.loads((tmp_path / "result").read_text())
    steady, brief = results["steady"], results["brief"]
    assert steady["rows"] == brief["rows"] == [DATASETS * ROWS] * TASKS
    assert brief["processes"] == TASKS
    # What opening asks for is no renewal; the same job does it with credentials that outlive it.
    renewals = brief["described"] - steady["described"]
    assert renewals >= TASKS, "each process had to renew: it read for longer than a credential lives"
    # One that is renewed serves all datasets of a process, for more than a quarter of a life.
    assert renewals <= sum(1 + seconds / (LIFE / 4) for seconds in brief["seconds"]), results
