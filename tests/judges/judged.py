"""The servers that judges look at: Lanceway, and Iceberg's own reference server, by which a judge is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import iceberg, lanceway
from tests.servers.run import Run

REFERENCE = "1.11.0"


@dataclass(frozen=True)
class Judged:
    """Where a judge finds a server, what it shows there, and a folder in which tables may have any location."""

    uri: str
    warehouse: str
    token: str | None
    folder: Path
    lance: str = ""  # where it speaks Lance REST and LanceDB's protocol; the reference server does neither


Start = Callable[[Run, Path], AbstractContextManager[Judged]]


@contextmanager
def reference(run: Run, folder: Path) -> Iterator[Judged]:
    server, process = iceberg.begin(run, REFERENCE)
    try:
        yield Judged(server.endpoint, server.warehouse, None, folder)
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def ours(run: Run, folder: Path) -> Iterator[Judged]:
    server = lanceway.start(run, name="judged", settings=f'[server]\nallowed_locations = ["{folder}"]\n')
    try:
        yield Judged(f"{server.address}/iceberg", "lake", server.token, folder, server.uri)
    finally:
        server.stop()


SERVERS: dict[str, Start] = {"lanceway": ours, "reference": reference}
