"""Requests of Iceberg REST that its tests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from tests.server.gravitino.gravitino_helpers import lake_of, new_catalog, new_token
from tests.servers.lanceway import Lanceway

__all__ = ["COLUMNS", "IcebergAsker", "asking", "lake_of", "new_catalog", "new_token", "refused"]

COLUMNS: Mapping[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
    ],
}


@dataclass(frozen=True)
class IcebergAsker:
    """One user of a server, and a catalog of its own."""

    client: httpx.Client
    catalog: str

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """One request by its path below the prefix."""
        return self.client.request(method, f"/iceberg/v1/{self.catalog}{path}", json=body, **options)

    def at(self, *names: str, then: str = "") -> str:
        """The path of a namespace, or of what is in it."""
        return f"/namespaces/{quote(chr(0x1F).join(names), safe='')}{then}"

    def create(self, *names: str, **more: Any) -> httpx.Response:
        return self.ask("POST", "/namespaces", {"namespace": list(names), **more})

    def make(self, *names: str) -> None:
        assert self.create(*names).status_code == 200

    def list(self, *parent: str, **query: Any) -> list[str]:
        """The namespaces that are listed, each joined by dots."""
        params = {**({"parent": chr(0x1F).join(parent)} if parent else {}), **query}
        answer = self.ask("GET", "/namespaces", params=params).raise_for_status()
        return [".".join(names) for names in answer.json()["namespaces"]]

    def create_table(self, namespace: str, name: str, **more: Any) -> httpx.Response:
        return self.ask("POST", self.at(namespace, then="/tables"), {"name": name, "schema": COLUMNS, **more})


@contextmanager
def asking(server: Lanceway, token: str, catalog: str) -> Iterator[IcebergAsker]:
    with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
        yield IcebergAsker(client, catalog)


def refused(answer: httpx.Response) -> tuple[int, str]:
    """The status and the type of an error, whose envelope is checked on the way."""
    body = answer.json()
    assert set(body) == {"error"}, body
    assert set(body["error"]) == {"message", "type", "code"}, body
    assert body["error"]["code"] == answer.status_code
    assert answer.headers["content-type"] == "application/json"
    assert body["error"]["message"]
    assert "Traceback" not in answer.text
    return answer.status_code, body["error"]["type"]
