"""Real Iceberg REST catalogs: the reference implementation's own server for tests, in two versions, on loopback."""

from __future__ import annotations

import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.jvm import ICEBERG
from tests.servers.run import Run, free_ports, wait_until

READY_SECONDS = 120.0
ATTEMPTS = 3
WAREHOUSE = "wh"
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Iceberg:
    """A server that takes any name for its one warehouse, and keeps its tables' metadata in a local folder."""

    endpoint: str
    warehouse: str = WAREHOUSE

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.endpoint}/v1/config").status_code == 200
        except httpx.RequestError:
            return False


def start(run: Run, version: str) -> Iceberg:
    """The run's server of this version, started if it is not there yet."""
    name = f"iceberg-{version}"
    return Iceberg(**run.once(name, lambda home: {"endpoint": _start(run, name, home, version)[0].endpoint}))


def begin(run: Run, version: str) -> tuple[Iceberg, subprocess.Popen[bytes]]:
    """A server of one's own, and the process that keeps it. It ends with the run, or with that process."""
    name = f"iceberg-{version}-{os.getpid()}-{next(_NUMBERS)}"
    home = run.folder / name
    home.mkdir()
    return _start(run, name, home, version)


def _start(run: Run, name: str, home: Path, version: str) -> tuple[Iceberg, subprocess.Popen[bytes]]:
    for _ in range(ATTEMPTS):  # another process may take the port between the look and the start
        port = free_ports(1)[0]
        command = ICEBERG[version].command(str(port), home.as_uri(), str(home / "catalog.db"))
        process = run.spawn(name, command, {})
        server = Iceberg(f"http://127.0.0.1:{port}")
        if wait_until(server.is_ready, process, READY_SECONDS):
            return server, process
    raise RuntimeError(f"Iceberg {version} does not start:\n{(run.folder / f'{name}.log').read_text()[-2000:]}")
