"""Requests of Gravitino REST that its tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from sqlalchemy import Connection

from lanceway.access import tokens
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.tree import catalogs
from lanceway.server.home import METALAKE
from tests.servers.lanceway import Lanceway

BASE = f"/api/metalakes/{METALAKE}"


@dataclass(frozen=True)
class Asker:
    """One user of a server, and a catalog of its own."""

    client: httpx.Client
    catalog: str

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """One request by its path below the metalake."""
        return self.client.request(method, f"{BASE}{path}", json=body, **options)

    def schemas(self, *names: str) -> str:
        """The path of the catalog's schemas, of one of them, or of what is in it."""
        return "/".join([f"/catalogs/{self.catalog}/schemas", *(quote(name, safe="") for name in names)])

    def list(self, parent: str | None = None) -> str:
        """What is listed, joined; `-` for nothing, the status of a refusal."""
        params = {} if parent is None else {"parentSchema": parent}
        answer = self.ask("GET", self.schemas(), params=params)
        if answer.is_error:
            return str(answer.status_code)
        return ",".join(each["name"] for each in answer.json()["identifiers"]) or "-"

    def create(self, name: str, **more: Any) -> httpx.Response:
        return self.ask("POST", self.schemas(), {"name": name, **more})

    def make(self, *names: str) -> None:
        for name in names:
            assert self.create(name).status_code == 200


@contextmanager
def asking(server: Lanceway, token: str, catalog: str) -> Iterator[Asker]:
    with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
        yield Asker(client, catalog)


def lake_of(server: Lanceway) -> LakeStore:
    """The server's database. Close it."""
    return open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)


def new_catalog(store: LakeStore, server: Lanceway, *, nested: bool = True) -> str:
    """A catalog that no other test uses."""
    name = f"c{uuid.uuid4().hex[:10]}"

    def work(connection: Connection) -> None:
        location = str(server.home / "warehouse" / name)
        catalogs.create(connection, METALAKE, name, by="admin", nested=nested, location=location)

    store.transact(work)
    return name


def new_token(store: LakeStore, user: str) -> str:
    return tokens.create(store, user, by="admin").secret


def refused(answer: httpx.Response) -> tuple[int, int, str]:
    """The status, the code and the type of an error, whose envelope is checked on the way."""
    body = answer.json()
    assert set(body) == {"code", "type", "message"}, body
    assert answer.headers["content-type"] == "application/json"
    assert body["message"]
    assert "%" not in body["message"], "clients take a message for a format"
    assert "Traceback" not in answer.text
    return answer.status_code, body["code"], body["type"]
