"""A Spark cluster of its own kind: a master and workers on the loopback interface, each a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyspark

from tests.servers.run import Run, free_ports, wait_until

HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_SECONDS = 120
_EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class Worker:
    """A worker, with the executors that it has started."""

    folder: Path
    process: subprocess.Popen[bytes]

    def processes(self) -> list[int]:
        """Return its process, those of its executors, and their Python workers."""
        return _below(self.process.pid)

    def executors(self) -> list[int]:
        return [pid for pid in self.processes() if _EXECUTOR in _read(Path(f"/proc/{pid}/cmdline"))]

    def kill(self) -> None:
        """Let it end as a machine does: it, its executors and their Python workers at once."""
        _kill([self.process.pid])

    def kill_executors(self) -> None:
        """Let its executors end, with their Python workers. The worker stays, and starts others."""
        _kill(self.executors())


@dataclass(frozen=True)
class Cluster:
    master: str
    workers: tuple[Worker, ...]


def start(run: Run, workers: int, cores: int = 1) -> Cluster:
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
    started = tuple(_worker(run, number, master, environment, cores) for number in range(workers))
    assert wait_until(lambda: _alive(web) == workers, process, _SECONDS), "the master has ended"
    return Cluster(master, started)


def _worker(run: Run, number: int, master: str, environment: dict[str, str], cores: int) -> Worker:
    folder = run.folder / f"spark-worker-{number}"
    place = ["--host", "127.0.0.1", "--cores", str(cores), "--memory", "1g", "--webui-port", "0"]
    place += ["--work-dir", str(folder)]
    command = [str(HOME / "bin/spark-class"), f"{_DEPLOY}.worker.Worker", *place, master]
    return Worker(folder, run.spawn(f"spark-worker-{number}", command, environment))


def _alive(web: int) -> int | None:
    """How many workers the master knows; None while it does not answer, or has no page there yet."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{web}/json/", timeout=5)
        return int(answer.json()["aliveworkers"]) if answer.status_code == 200 else None
    except (httpx.TransportError, json.JSONDecodeError):
        return None


def is_alive(pid: int) -> bool:
    """Whether a process runs: one that has ended may still wait for its parent to ask how."""
    status = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return bool(status) and status[0] not in (b"Z", b"X")


def _kill(roots: list[int]) -> None:
    """End processes and all that they have started. They are stopped first, so that none starts another meanwhile."""
    pids: list[int] = []
    left = list(roots)
    while left:
        pid = left.pop()
        if _signal(pid, signal.SIGSTOP):
            pids.append(pid)
            left += _children(pid)
    for pid in pids:
        _signal(pid, signal.SIGKILL)
    while any(map(is_alive, pids)):
        time.sleep(0.01)


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _below(pid: int) -> list[int]:
    """A process and all that it has started."""
    return [pid, *(below for child in _children(pid) for below in _below(child))]


def _children(pid: int) -> list[int]:
    """What a process has started: Linux lists it by threads, and a JVM starts processes in any of them."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in _read(thread).split()]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return b""
