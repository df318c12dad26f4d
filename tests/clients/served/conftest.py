"""Where the clients read and write: namespaces on a server, whose tables the lake manages or leaves to storage."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import lance_namespace
import pytest
from lance_namespace import LanceNamespace

import lanceway
from tests.clients.conftest import Place
from tests.servers.lanceway import Lanceway


@dataclass(frozen=True)
class Served(Place):
    """A namespace on a server, the way a client is told of it. `catalog` is our own client, to look with."""

    @property
    def implementation(self) -> str:
        return "rest"

    @property
    def catalog(self) -> LanceNamespace:
        token = self.properties["header.Authorization"].removeprefix("Bearer ")
        return lanceway.connect("rest", uri=self.properties["uri"], token=token)

    @property
    def stock(self) -> LanceNamespace:
        """pylance's own client."""
        return lance_namespace.connect(self.implementation, self.properties)

    def address(self, name: str) -> dict[str, object]:
        """A table, as pylance is told of it."""
        return {"namespace_client": self.stock, "table_id": self.table(name)}

    def versions(self, name: str) -> list[int]:
        """What the server lists."""
        return [found.version for found in self.catalog.list_table_versions({"id": self.table(name)}).versions]


def properties(server: Lanceway) -> dict[str, str]:
    return {"uri": server.uri, "header.Authorization": f"Bearer {server.token}"}


@pytest.fixture
def managed(server: Lanceway) -> Iterator[Served]:
    """A namespace of the lake, whose tables are managed."""
    place = Served(properties(server), ("lake", f"n{uuid.uuid4().hex}"))
    place.catalog.create_namespace({"id": list(place.namespace)})
    yield place
    place.catalog.drop_namespace({"id": list(place.namespace), "behavior": "cascade"})


@pytest.fixture
def stored(server: Lanceway) -> Iterator[Served]:
    """A catalog that leaves the versions of its tables to storage."""
    name = f"n{uuid.uuid4().hex}"
    place = Served(properties(server), (name, "team"))
    place.catalog.create_namespace({"id": [name], "properties": {"lanceway.versioning": "storage"}})
    place.catalog.create_namespace({"id": list(place.namespace)})
    yield place
    place.catalog.drop_namespace({"id": [name], "behavior": "cascade"})


@pytest.fixture(params=["managed", "stored"])
def place(request: pytest.FixtureRequest) -> Served:
    """Either."""
    found: Served = request.getfixturevalue(request.param)
    return found
