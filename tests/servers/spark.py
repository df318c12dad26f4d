"""A Spark cluster of its own kind: a master and workers on the loopback interface, each a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyspark

from tests.servers.run import Run, free_ports, wait_until

HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_SECONDS = 120


@dataclass(frozen=True)
class Worker:
    """A worker, with the executors that it has started."""

    folder: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """Let it end as a machine does: it, its executors and their Python workers at once."""
        for pid in _below(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@dataclass(frozen=True)
class Cluster:
    master: str
    workers: tuple[Worker, ...]


def start(run: Run, workers: int) -> Cluster:
    port, web = free_ports(2)
    environment = {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    master = f"spark://127.0.0.1:{port}"
    place = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web)]
    process = run.spawn(
        "spark-master", [str(HOME / "bin/spark-class"), f"{_DEPLOY}.master.Master", *place], environment
    )
    assert wait_until(lambda: _alive(web) == 0, process, _SECONDS), "the master has ended"
    started = tuple(_worker(run, number, master, environment) for number in range(workers))
    assert wait_until(lambda: _alive(web) == workers, process, _SECONDS), "the master has ended"
    return Cluster(master, started)


def _worker(run: Run, number: int, master: str, environment: dict[str, str]) -> Worker:
    folder = run.folder / f"spark-worker-{number}"
    place = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder)]
    command = [str(HOME / "bin/spark-class"), f"{_DEPLOY}.worker.Worker", *place, master]
    return Worker(folder, run.spawn(f"spark-worker-{number}", command, environment))


def _alive(web: int) -> int | None:
    """How many workers the master knows; None while it does not answer."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{web}/json/", timeout=5)
    except httpx.TransportError:
        return None
    return int(answer.json()["aliveworkers"]) if answer.status_code == 200 else None


def _below(pid: int) -> list[int]:
    """A process and all that it has started, the last ones first."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(child) for child in children.read_text().split()] if children.exists() else []
    return [*(grandchild for child in found for grandchild in _below(child)), pid]
