"""A foreign Lance REST server with managed tables: SeaweedFS, without keys, since its Lance API takes no token.

An anonymous server is for reading and writing by anybody who can reach it; it listens on loopback alone.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.run import Run, free_ports, wait_until
from tests.servers.seaweedfs import ATTEMPTS, COMPONENTS, READY_SECONDS, REGION, program

BUCKET = "vectors"


@dataclass(frozen=True)
class SeaweedLance:
    uri: str
    s3: str
    bucket: str = BUCKET

    @property
    def storage_options(self) -> dict[str, str]:
        """What pylance needs to reach the tables' data."""
        return {
            "aws_region": REGION,
            "aws_endpoint": self.s3,
            "aws_skip_signature": "true",
            "allow_http": "true",
        }

    def is_ready(self) -> bool:
        try:
            answer = httpx.get(f"{self.uri}/v1/namespace/%24/list", timeout=5, trust_env=False)
        except httpx.RequestError:
            return False
        return BUCKET in answer.text


def start(run: Run) -> SeaweedLance:
    """The run's server, started if it is not there yet."""

    def started(home: Path) -> dict[str, str]:
        server = _start(run, home)
        return {"uri": server.uri, "s3": server.s3}

    return SeaweedLance(**run.once("seaweedfs-lance", started))


def _start(run: Run, home: Path) -> SeaweedLance:
    for _ in range(ATTEMPTS):  # another process may take a port between the look and the start
        lance, *ports = free_ports(1 + 2 * len(COMPONENTS))
        process = _spawn(run, home, ports, lance)
        s3 = ports[COMPONENTS.index("s3")]
        server = SeaweedLance(f"http://127.0.0.1:{lance}", f"http://127.0.0.1:{s3}")
        if wait_until(server.is_ready, process, READY_SECONDS):
            return server
    raise RuntimeError(f"SeaweedFS does not start:\n{(run.folder / 'seaweedfs-lance.log').read_text()[-2000:]}")


def _spawn(run: Run, home: Path, ports: list[int], lance: int) -> subprocess.Popen[bytes]:
    listen = [f"-{name}.port={port}" for name, port in zip(COMPONENTS, ports, strict=False)]
    grpc = [f"-{name}.port.grpc={port}" for name, port in zip(COMPONENTS, ports[len(COMPONENTS) :], strict=True)]
    command = [
        program(),
        "mini",
        f"-dir={home}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *listen,
        *grpc,
        f"-tableBucket={BUCKET}:LANCE",
        "-s3.port.iceberg=0",
        f"-s3.port.lance={lance}",
        f"-s3.localSocket={home / 's3.sock'}",
        f"-filer.localSocket={home / 'filer.sock'}",
        "-admin.ui=false",
        "-webdav=false",
        "-master.telemetry=false",
    ]
    return run.spawn("seaweedfs-lance", command, {"TMPDIR": str(home)})
