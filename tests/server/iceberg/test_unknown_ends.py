"""Requests whose end is not known: the database does not answer in time, or a server died in the middle."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from lanceway.lake import idempotency as rows
from lanceway.server.iceberg.idempotency import HEADER, read_key
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

CHANGE = b'{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"v"}}]}'
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def hasty(whole_run: Run) -> Iterator[Lanceway]:
    """A server that waits for two seconds, and whose audit needs no database."""
    settings = '[server]\nrequest_timeout = 2\naudit = "lines"\n'
    started = lanceway_server.start(whole_run, name="iceberg-hasty", settings=settings)
    yield started
    started.stop()


def test_a_commit_that_is_late_may_have_been_made(hasty: Lanceway) -> None:
    with asking(hasty, hasty.token, "lake") as admin:
        admin.make("ns")
        admin.create_table("ns", "t").raise_for_status()
        body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
        other = sqlite3.connect(hasty.home / "lake.db", isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            late = admin.ask("POST", admin.at("ns", then="/tables/t"), body)
            made = admin.ask("POST", "/namespaces", {"namespace": ["later"]})
        finally:
            other.rollback()
            other.close()
        assert refused(late) == (500, "CommitStateUnknownException")
        assert refused(made) == (503, "SlowDownException")
        assert made.headers["retry-after"]


def begun(server: Lanceway, admin: IcebergAsker, method: str, path: str, content: bytes = b"") -> dict[str, str]:
    """Begin a request as a server does that dies before it notes the end, and return the headers to ask again with."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    parts = (method.encode(), f"/iceberg/v1/{admin.catalog}{path}".encode(), b"", content)
    key = read_key({HEADER: headers["Idempotency-Key"]}, "admin", parts)
    assert key is not None
    store = lake_of(server)
    standing, _ = store.transact(rows.begin, key, lease=0, lifetime=60_000)
    store.close()
    assert standing is rows.KeyStanding.NEW
    return headers


def ask(admin: IcebergAsker, method: str, path: str, content: bytes, headers: dict[str, str]) -> Any:
    url = f"/iceberg/v1/{admin.catalog}{path}"
    return admin.client.request(method, url, content=content, headers={**headers, **JSON})


def test_a_drop_that_another_may_have_made_is_done(server: Lanceway, admin: IcebergAsker) -> None:
    path = admin.at("gone")
    headers = begun(server, admin, "DELETE", path)
    assert ask(admin, "DELETE", path, b"", headers).status_code == 204


def test_a_commit_that_another_may_have_made_is_carried_out(server: Lanceway, admin: IcebergAsker) -> None:
    admin.make("ns")
    admin.create_table("ns", "t").raise_for_status()
    path = admin.at("ns", then="/tables/t")
    headers = begun(server, admin, "POST", path, CHANGE)
    assert ask(admin, "POST", path, CHANGE, headers).json()["metadata"]["properties"]["k"] == "v"


def test_a_conflict_with_what_another_may_have_made_is_no_refusal(server: Lanceway, admin: IcebergAsker) -> None:
    admin.make("ns")
    admin.create_table("ns", "t").raise_for_status()
    path = admin.at("ns", then="/tables/t")
    stale = CHANGE.replace(
        b'"requirements":[]', b'"requirements":[{"type":"assert-current-schema-id","current-schema-id":7}]'
    )
    headers = begun(server, admin, "POST", path, stale)
    assert refused(ask(admin, "POST", path, stale, headers)) == (500, "CommitStateUnknownException")
    # Without that past, the same is a conflict.
    assert refused(ask(admin, "POST", path, stale, {})) == (409, "CommitFailedException")
