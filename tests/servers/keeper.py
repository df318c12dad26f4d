"""Runs a server for as long as the test run lives: `keeper.py OWNER PIDFILE COMMAND...`.

A run that is killed cannot stop what it started. The keeper sees that the process `OWNER` is gone and
stops the server in its stead; a keeper that is told to stop stops the server too. It holds a lock on
`PIDFILE` until the server has ended, so that anybody can wait for that.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType


def main(owner: int, pidfile: Path, command: list[str]) -> int:
    with pidfile.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(str(os.getpid()))
        held.flush()
        return serve(owner, command)


def serve(owner: int, command: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run itself decides what an interrupt means
    server = subprocess.Popen(command)

    def stop(number: int, frame: FrameType | None) -> None:
        server.terminate()

    signal.signal(signal.SIGTERM, stop)
    while True:
        try:
            return server.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if not is_alive(owner):
                server.terminate()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
