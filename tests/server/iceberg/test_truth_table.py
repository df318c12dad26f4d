"""The truth table of nested namespaces over Iceberg REST, and the same for what is in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from lanceway.lake.store.database import LakeStore
from tests.access.test_truth_table import CASES, CREATES, LISTS, LOADS, TREE, Case
from tests.server.gravitino.test_truth_table import give
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_catalog, new_token, refused
from tests.servers.lanceway import Lanceway


@pytest.fixture(scope="module")
def store(server: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(server)
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_table(server: Lanceway, store: LakeStore, case: Case) -> None:
    catalog, user = new_catalog(store, server), f"u{uuid.uuid4().hex[:10]}"
    with asking(server, server.token, catalog) as admin:
        for path in TREE:
            admin.make(*path.split(":"))
    store.transact(give, catalog, user, case)
    with asking(server, new_token(store, user), catalog) as me:
        assert " ".join(_list(me, path) for path in LISTS) == case.lists
        assert " ".join(_load(me, path) for path in LOADS) == case.loads
        assert " ".join(str(me.create(*path.split(":")).status_code) for path in CREATES) == case.creates
        inner = me.at("A", "B", "C")
        assert str(me.ask("POST", f"{inner}/properties", {"updates": {"a": "b"}}).status_code) == case.owns
        dropped = me.ask("DELETE", inner)
        assert str(200 if dropped.status_code == 204 else dropped.status_code) == case.owns


def _list(me: IcebergAsker, path: str) -> str:
    """What is listed, joined; `-` for nothing, the status of a refusal."""
    answer = me.ask("GET", "/namespaces", params={"parent": path.replace(":", chr(0x1F))} if path else {})
    if answer.is_error:
        assert refused(answer) in {(403, "ForbiddenException"), (404, "NoSuchNamespaceException")}
        return str(answer.status_code)
    return ",".join(":".join(names) for names in answer.json()["namespaces"]) or "-"


def _load(me: IcebergAsker, path: str) -> str:
    answer = me.ask("GET", me.at(*path.split(":")))
    if answer.is_error:
        assert refused(answer) in {(403, "ForbiddenException"), (404, "NoSuchNamespaceException")}
    assert me.ask("HEAD", me.at(*path.split(":"))).status_code == (204 if answer.is_success else answer.status_code)
    return str(answer.status_code)
