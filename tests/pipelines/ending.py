"""Ends a server with all its processes: from a test, or from inside a task of a pipeline, beside which it is copied."""

import os
import signal
import socket
from pathlib import Path
from typing import Any


def end(group: int, port: int) -> None:
    os.killpg(group, signal.SIGKILL)
    gone = False
    while not gone:
        with socket.socket() as asking:
            gone = asking.connect_ex(("127.0.0.1", port)) != 0


def passing(batch: Any, victim: str) -> Any:
    """The batch as it is; the server goes whose group and port stand in a file, if that is there."""
    if Path(victim).exists():
        group, port = map(int, Path(victim).read_text().split())
        Path(victim).unlink()
        end(group, port)
    return batch
