"""One test run: its worker processes share servers, and each server is started once, when first asked for."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

KEEPER = Path(__file__).with_name("keeper.py")
# Kept, so that the end of a worker is not taken for a server that was forgotten.
_STARTED: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Run:
    """A folder that all workers of a run share, and the process that outlives them."""

    folder: Path
    owner: int

    @classmethod
    def begin(cls) -> Run:
        return cls(Path(tempfile.mkdtemp(prefix="lanceway-run-")), os.getpid())

    def once(self, name: str, start: Callable[[Path], dict[str, str]]) -> dict[str, str]:
        """What `start` answered for the first worker that asked; the others wait for it and get the same."""
        answer = self.folder / f"{name}.json"
        with FileLock(self.folder / f"{name}.lock"):
            if not answer.exists():
                home = self.folder / name
                home.mkdir(exist_ok=True)
                answer.write_text(json.dumps(start(home)))
        found: dict[str, str] = json.loads(answer.read_text())
        return found

    def spawn(self, name: str, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start a server that ends with the run. Its output is in the run's folder."""
        pidfile = self.folder / f"{name}-{len(_STARTED)}-{os.getpid()}.pid"
        with (self.folder / f"{name}.log").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, str(KEEPER), str(self.owner), str(pidfile), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        _STARTED.append(process)
        return process

    def end(self) -> None:
        """Stop every server of the run, wait for its end, and remove what it left."""
        # One that is only just starting has no number yet; its keeper will see that this process is gone.
        servers = {file: int(text) for file in self.folder.glob("*.pid") if (text := file.read_text())}
        for pid in servers.values():
            _stop(pid)
        for file in servers:
            with file.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, below those that the kernel hands to outgoing connections."""
    found: set[int] = set()
    while len(found) < count:
        port = random.randint(10_240, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.add(port)
    return list(found)


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the server became ready; False if it ended instead."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if ready():
            return True
        if time.monotonic() > deadline:
            raise TimeoutError(f"A server did not become ready in {seconds:.0f} s: {process.args!r}")
        time.sleep(0.1)
    return False


def _stop(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
