"""A Gravitino server: the address of a real one in LANCEWAY_TEST_GRAVITINO, else a real `lanceway up`, which speaks it.

Of a real one, LANCEWAY_TEST_GRAVITINO_METALAKE names the metalake (`test` if it does not), and
LANCEWAY_TEST_GRAVITINO_ROOT a folder that the server can reach too.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from lanceway.catalogs import GravitinoCatalog
from lanceway.server.home import METALAKE
from lanceway.wire.gravitino import LANCE_PROVIDER, RELATIONAL
from tests.servers.lanceway import Lanceway

NO_PASSWORD = ("anonymous", "dummy")


def real() -> str | None:
    """The address of a real server."""
    return os.environ.get("LANCEWAY_TEST_GRAVITINO")


@dataclass(frozen=True)
class Gravitino:
    """A metalake of a server, and a catalog in it, reached without Lanceway's client in between."""

    endpoint: str
    metalake: str
    catalog: str
    sign_in: Mapping[str, str] = field(repr=False)

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """One request by its path below the metalake."""
        token = self.sign_in.get("auth_token")
        who: dict[str, Any] = {"headers": {"Authorization": f"Bearer {token}"}} if token else {"auth": NO_PASSWORD}
        url = f"{self.endpoint}/api/metalakes/{self.metalake}{path}"
        response = httpx.request(method, url, timeout=60, trust_env=False, **who, **options)
        response.raise_for_status()
        return response.json()

    def stored(self, *names: str) -> dict[str, Any]:
        """A table as a stock client gets it: by its schema's logical name and its own."""
        schema, table = names
        row: dict[str, Any] = self.ask("GET", f"/catalogs/{self.catalog}/schemas/{schema}/tables/{table}")["table"]
        return row

    def connect(self, **settings: Any) -> GravitinoCatalog:
        return GravitinoCatalog(**{"endpoint": self.endpoint, "metalake": self.metalake, **self.sign_in, **settings})


@contextmanager
def catalog_of(server: Lanceway) -> Iterator[Gravitino]:
    """A new catalog of a Lanceway server, which speaks Gravitino's protocol."""
    place = Gravitino(server.address, METALAKE, f"c{uuid.uuid4().hex[:10]}", {"auth_token": server.token})
    place.ask("POST", "/catalogs", json={"name": place.catalog, "type": RELATIONAL, "provider": LANCE_PROVIDER})
    yield place


@contextmanager
def catalog_of_real(root: str) -> Iterator[Gravitino]:
    """A new catalog of the real server, which is removed with all that is in it."""
    place = Gravitino(
        str(real()),
        os.environ.get("LANCEWAY_TEST_GRAVITINO_METALAKE", "test"),
        f"c{uuid.uuid4().hex[:10]}",
        {"user": NO_PASSWORD[0]},
    )
    body = {"name": place.catalog, "type": RELATIONAL, "provider": LANCE_PROVIDER, "properties": {"location": root}}
    place.ask("POST", "/catalogs", json=body)
    try:
        yield place
    finally:
        place.ask("DELETE", f"/catalogs/{place.catalog}", params={"force": "true"})
