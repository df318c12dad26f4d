"""Several servers over one lake."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

import lanceway
from lanceway.catalogs import LakeCatalog
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres
from tests.servers.run import Run

SERVERS = 4


@dataclass(frozen=True)
class Cluster:
    """Servers on one database and one warehouse; `lake` is what they serve."""

    servers: list[Lanceway]
    clients: list[httpx.Client]
    lake: LakeCatalog
    _turns: Iterator[int] = field(default_factory=itertools.count, repr=False)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """One request of Lance REST, by its path below `/lance/v1`, to another server each time."""
        client = self.clients[next(self._turns) % len(self.clients)]
        return client.post(f"/lance/v1/{path}", json=body, **options)

    def properties(self, uri: str | None = None) -> dict[str, str]:
        """What a stock client is told: any server, or what stands in front of them."""
        return {"uri": uri or self.servers[0].uri, "header.Authorization": f"Bearer {self.servers[0].token}"}

    def namespace(self) -> str:
        """A new one of the catalog `lake`, made by one server."""
        name = f"n{uuid.uuid4().hex}"
        self.post(f"namespace/lake${name}/create", {}).raise_for_status()
        return name

    def versions(self, table: list[str]) -> list[int]:
        listed = self.post(f"table/{'$'.join(table)}/version/list").raise_for_status()
        return [found["version"] for found in listed.json()["versions"]]


@pytest.fixture(scope="module")
def cluster(whole_run: Run, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home, schema = tmp_path_factory.mktemp("home"), postgres.schema()
    told = {"LANCEWAY_DATABASE": postgres.uri(schema), "LANCEWAY_WAREHOUSE": str(home / "warehouse")}
    with ThreadPoolExecutor(SERVERS) as starting:
        started = [
            starting.submit(lanceway_server.start, whole_run, home=home, environment=told) for _ in range(SERVERS)
        ]
    servers = [one.result() for one in started]
    lake = lanceway.connect("lake", uri=postgres.uri(schema))
    assert isinstance(lake, LakeCatalog)
    with ExitStack() as opened:
        clients = [opened.enter_context(server.client()) for server in servers]
        yield Cluster(servers, clients, opened.enter_context(lake))
    with ThreadPoolExecutor(SERVERS) as stopping:
        assert list(stopping.map(Lanceway.stop, servers)) == [0] * SERVERS
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
