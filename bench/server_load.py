"""Load for a server: `wrk` beside it, told what to send, and what it found."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

SCRIPT = Path(__file__).with_name("wrk") / "load.lua"
CONNECTIONS = 8
PATIENCE = 30  # seconds that one answer may take
PART = 2**18  # bytes that are read at once


@dataclass(frozen=True)
class Load:
    """One kind of request. A path is below the server's address; `{}` in it stands for a name that is new each time.

    In a body, `<new>` does.
    """

    method: str
    paths: list[str]
    body: bytes | None = None
    media_type: str = "application/json"
    connections: int = CONNECTIONS


@dataclass(frozen=True)
class Found:
    """What came of a load. Latencies are in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    refused: int
    broken: int
    memory: int = 0  # bytes
    cpu: float = 0.0  # seconds of the server's processes

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def counts(self) -> bool:
        """Whether it is a result: a server that refuses is fast, and one from which nothing came has no rate."""
        return self.requests > 0 and not self.refused and not self.broken


def require_wrk() -> None:
    """Install wrk where that can be done without asking, else say how."""
    if shutil.which("wrk"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-q", "wrk"], check=False, stdout=subprocess.DEVNULL)
    if not shutil.which("wrk"):
        raise SystemExit("The benchmark needs wrk, which is missing. Install it: apt install wrk, or brew install wrk.")


def press(uri: str, token: str | None, load: Load, seconds: float) -> Found:
    """Keep a server busy for so long, in whole seconds."""
    parts = urlsplit(uri)
    with tempfile.TemporaryDirectory(prefix="lanceway-bench-") as folder:
        paths, body = Path(folder, "paths"), Path(folder, "body")
        paths.write_text("\n".join(f"{parts.path}{path}" for path in load.paths))
        body.write_bytes(load.body or b"")
        environment = {
            "LOAD_METHOD": load.method,
            "LOAD_PATHS": str(paths),
            "LOAD_BODY": "" if load.body is None else str(body),
            "LOAD_TYPE": load.media_type,
            "LOAD_TOKEN": token or "",
            "LOAD_NEW": f"n{uuid.uuid4().hex[:8]}_" if _is_new(load) else "",
        }
        command = [
            "wrk",
            "-t1",
            f"-c{load.connections}",
            f"-d{max(1, math.ceil(seconds))}s",  # wrk takes whole seconds alone
            f"--timeout={PATIENCE}s",
            "-s",
            str(SCRIPT),
        ]
        done = subprocess.run(
            [*command, f"{parts.scheme}://{parts.netloc}"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"wrk failed: {done.stderr or done.stdout}")
    return Found(**json.loads(done.stdout.splitlines()[-1]))


def _is_new(load: Load) -> bool:
    return "{}" in load.paths[0] or b"<new>" in (load.body or b"")


def take(url: str, headers: dict[str, str], body: bytes) -> tuple[int, int, float]:
    """Post once and let the answer go by: its status, its bytes, and the seconds until the last of them.

    A client that does more, or reads in small parts, is slower than what it is to measure.
    """
    parts = urlsplit(url)
    head = {"Host": parts.netloc, "Connection": "close", "Content-Length": str(len(body)), **headers}
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    began = time.perf_counter()
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "\r\n"]).encode() + body)
        room = bytearray(PART)
        size = read = connection.recv_into(room)
        status = int(bytes(room[:12]).split()[1])
        while read := connection.recv_into(room):
            size += read
    return status, size, time.perf_counter() - began


def memory(pid: int) -> int:
    """What a process and those that it started hold in memory, in bytes."""
    kilobytes = 0
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            kilobytes = int(line.split()[1])
    return kilobytes * 1024 + sum(memory(child) for child in children(pid))


def cpu_seconds(pid: int) -> float:
    """What a process and those that it started have had of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_seconds, children(pid)))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
