"""A foreign Lance REST server: pylance's RestAdapter, in a process of its own.

The process opens an adapter for each folder that it is told on standard input, and ends with it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.paths import REPOSITORY


class Adapters:
    """A process that holds any number of adapters."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def serve(self, folder: Path) -> str:
        """The address of a new adapter over a folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder}\n")
        self._process.stdin.flush()
        port = self._process.stdout.readline().strip()
        assert port, f"RestAdapter does not start: its process ended with {self._process.wait()}."
        return f"http://127.0.0.1:{port}"


@contextmanager
def adapters() -> Iterator[Adapters]:
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Adapters(process)
    finally:
        process.communicate()


def main() -> None:
    from lance.namespace import RestAdapter

    opened = []
    for line in sys.stdin:
        adapter = RestAdapter("dir", {"root": line.rstrip("\n")}, host="127.0.0.1", port=0)
        adapter.start()
        opened.append(adapter)
        sys.stdout.write(f"{adapter.port}\n")
        sys.stdout.flush()
    for adapter in opened:
        adapter.stop()


if __name__ == "__main__":
    main()
