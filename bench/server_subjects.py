"""The servers that `bench/server.py` compares: pylance's RestAdapter, and ours as one process and as two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
from tests.servers import lanceway, restadapter
from tests.servers.run import Run

from lanceway.lake.store.database import open_store
from server_filling import fill_folder, fill_lake
from server_load import children

ADAPTER = "RestAdapter"
PROCESSES = (1, 2)


@dataclass(frozen=True)
class Subject:
    """A server. `top` is what its identifiers begin with."""

    name: str
    uri: str
    pid: int
    token: str | None = None
    top: tuple[str, ...] = ()

    def id(self, *path: str) -> str:
        return "$".join((*self.top, *path)) or "$"

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.uri, headers=headers, timeout=120, trust_env=False)


def refuse_failure(subject: Subject, path: str, answer: httpx.Response) -> None:
    if answer.status_code != httpx.codes.OK:
        raise SystemExit(f"{subject.name} answers {path} with {answer.status_code}: {answer.text[:500]}")


@contextmanager
def servers(run: Run, count: int, processes: Iterable[int] = PROCESSES) -> Iterator[list[Subject]]:
    """All that are compared, over the same tables."""
    folder = run.folder / f"tables-{count}"
    folder.mkdir()
    fill_folder(folder, count)
    home = run.folder / f"home-{count}"
    with ExitStack() as closing:
        adapter = closing.enter_context(restadapter.adapters())
        found = [Subject(ADAPTER, adapter.serve(folder), adapter.pid)]
        for number in processes:
            ours = lanceway.start(run, home=home, workers=number)
            closing.callback(ours.stop)
            assert ours.process is not None
            (pid,) = children(ours.process.pid)  # below its keeper
            found.append(Subject(f"lanceway, {number} proc.", ours.uri, pid, ours.token, ("lake",)))
        store = open_store(f"sqlite:///{home}/lake.db")
        closing.callback(store.close)
        fill_lake(store, folder, count)
        yield found
