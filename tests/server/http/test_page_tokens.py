"""Page tokens over HTTP: sealed for one list, the same for all servers of a lake, never readable."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from lanceway.catalogs.contract.requests import page_token
from lanceway.errors import InvalidInputError
from lanceway.lake.store import backups
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.tree import settings
from lanceway.server.http.page_tokens import PageTokenSeal
from tests.lake.conftest import store as store
from tests.lake.conftest import uri as uri
from tests.server.conftest import Cluster
from tests.server.server_helpers import Id, ask, refused, space
from tests.servers.lanceway import Lanceway

NAMES = ["secret-a", "secret-b", "secret-c"]


@pytest.fixture
def names(server: Lanceway) -> Id:
    id_ = space(server)
    for name in NAMES:
        assert ask(server, "table", [*id_, name], "declare", {}).status_code == 200
    return id_


def tables(server: Lanceway, id_: Id, **query: Any) -> Any:
    return ask(server, "namespace", id_, "table/list", params=query)


def test_pages_go_on_and_their_tokens_name_nothing(server: Lanceway, names: Id) -> None:
    first = tables(server, names, limit=2).json()
    assert first["tables"] == NAMES[:2]
    token = first["page_token"]
    assert b"secret" not in base64.urlsafe_b64decode(token + "===")
    assert tables(server, names, limit=2, page_token=token).json()["tables"] == NAMES[2:]


def test_a_token_that_the_server_did_not_make(server: Lanceway, names: Id) -> None:
    token = tables(server, names, limit=1).json()["page_token"]
    flipped = ("A" if token[5] != "A" else "B").join((token[:5], token[6:]))
    scope = f"tables\0{'$'.join(names)}"
    for forged in (
        token[:-3],
        token[3:],
        flipped,
        token + "AAAA",
        page_token(scope, "secret-a"),
        "x",
        "é",
        "A" * 20_000,
    ):
        answer = tables(server, names, limit=1, page_token=forged)
        assert refused(answer) == (400, 13)
        assert "does not belong to this list" in answer.json()["error"]


def test_a_token_of_another_list(server: Lanceway, names: Id) -> None:
    token = tables(server, names, limit=1).json()["page_token"]
    other = space(server)
    assert refused(tables(server, other, limit=1, page_token=token)) == (400, 13)
    spaces = ask(server, "namespace", names, "list", params={"limit": 1, "page_token": token})
    assert refused(spaces) == (400, 13)
    everything = server.ask("GET", "table", None, params={"limit": 1, "page_token": token})
    assert refused(everything) == (400, 13)


def test_all_tables_in_pages(server: Lanceway, names: Id) -> None:
    seen: list[str] = []
    token: str | None = None
    while token is not None or not seen:
        answer = server.ask("GET", "table", None, params={"limit": 2, **({"page_token": token} if token else {})})
        assert answer.status_code == 200, answer.text
        seen, token = [*seen, *answer.json()["tables"]], answer.json().get("page_token")
    assert len(seen) == len(set(seen))
    assert len([name for name in seen if names[1] in name]) == len(NAMES)


def test_every_server_of_a_lake_goes_on_where_another_was(cluster: Cluster) -> None:
    name = cluster.namespace()
    for table in NAMES:
        cluster.post(f"table/lake${name}${table}/declare", {}).raise_for_status()
    seen, token = [], None
    for client in cluster.clients[:3]:
        query = {"limit": 1, **({"page_token": token} if token else {})}
        page = client.get(f"/lance/v1/namespace/lake${name}/table/list", params=query).raise_for_status().json()
        seen, token = [*seen, *page["tables"]], page.get("page_token")
    assert seen == NAMES


def test_a_seal_is_for_one_list_and_one_key() -> None:
    seal = PageTokenSeal(bytes(64))
    sealed = seal.close("list_tables", ["a", "b"], "after")
    assert seal.open("list_tables", ["a", "b"], sealed) == "after"
    assert seal.open("list_tables", ["a", "b"], "") == ""
    others = [("list_namespaces", ["a", "b"]), ("list_tables", ["ab"]), ("list_tables", ["a"]), ("list_tables", [])]
    for operation, id_ in others:
        with pytest.raises(InvalidInputError):
            seal.open(operation, id_, sealed)
    with pytest.raises(InvalidInputError):
        PageTokenSeal(b"\1" * 64).open("list_tables", ["a", "b"], sealed)


def test_the_key_is_made_once_and_is_in_no_backup(store: LakeStore, uri: str, tmp_path: Any) -> None:
    import gzip

    other = open_store(uri)
    assert store.page_key == other.page_key
    assert len(store.page_key) == 64
    other.close()
    backups.backup(store, tmp_path / "backup")
    with gzip.open(tmp_path / "backup", "rt") as file:
        written = file.read()
    assert store.page_key.hex() not in written
    assert settings.PAGE_KEY not in written
    restored = LakeStore(f"sqlite:///{tmp_path}/restored.db")
    backups.restore(restored, tmp_path / "backup")
    assert restored.page_key != store.page_key
    restored.close()
