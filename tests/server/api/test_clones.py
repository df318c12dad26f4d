"""Clones over a server: for who may read the whole source, with the base paths that the server recorded alone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import lance
import pytest
from lance import DatasetBasePath

from lanceway.catalogs import RestCatalog
from tests.server.server_helpers import ask, count, created, refused, space, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

CLONE = "/lanceway/v1/tables/clone"
SEEING = ("USE_CATALOG", "USE_SCHEMA")


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    started = lanceway.start(
        whole_run, name="clones", settings=f'[catalogs.other]\ntype = "dir"\npath = "{whole_run.folder}/other"\n'
    )
    yield started
    assert started.stop() == 0


def as_user(server: Lanceway, *privileges: str) -> Lanceway:
    """The server as a new user has it, with these privileges all over the metalake."""
    token = server.token_for(f"user-{uuid.uuid4().hex[:8]}", *privileges)
    return Lanceway(server.uri, token, server.home, server.log)


def clone(caller: Lanceway, source: list[str], target: list[str], **more: Any) -> httpx.Response:
    with caller.client() as client:
        return client.post(CLONE, json={"source": source, "target": target, **more})


def cloned(caller: Lanceway, source: list[str], **more: Any) -> list[str]:
    target = [*source[:-1], f"c{uuid.uuid4().hex[:8]}"]
    answer = clone(caller, source, target, **more)
    assert answer.status_code == 201, answer.text
    assert answer.json()["id"] == target
    return target


def location(server: Lanceway, id_: list[str]) -> Path:
    return Path(ask(server, "table", id_, "describe", {}).json()["location"])


def staged(place: Path, manifest: Path, version: int) -> dict[str, Any]:
    """Stage a manifest as the next version of a table."""
    path = place / "_versions" / f"staged-{uuid.uuid4().hex}"
    path.write_bytes(manifest.read_bytes())
    return {"version": version, "manifest_path": str(path), "manifest_size": path.stat().st_size, "naming_scheme": "V2"}


def latest(folder: Path) -> Path:
    return min((folder / "_versions").glob("*.manifest"))


def test_who_may_read_the_source_and_make_tables_has_a_clone(server: Lanceway) -> None:
    source = created(server, 1, 2)
    user = as_user(server, *SEEING, "SELECT_TABLE", "CREATE_TABLE")
    target = cloned(user, source)
    assert count(user, target) == 2
    added = ask(user, "table", target, "insert", content=stream(table(3)))
    assert added.status_code == 200, added.text  # the caller owns it
    assert (count(user, target), count(user, source)) == (3, 2)
    assert refused(ask(user, "table", source, "insert", content=stream(table(3)))) == (403, 15)


def test_names_may_be_text(server: Lanceway) -> None:
    source = created(server, 1)
    with server.client() as client:
        body = {"source": ".".join(source), "target": ".".join([*source[:-1], "c"]), "delimiter": ".", "version": 1}
        assert client.post(CLONE, json=body).json()["id"] == [*source[:-1], "c"]
        assert refused(client.post(CLONE, json={"source": "", "target": []})) == (400, 13)
        assert refused(client.post(CLONE, json={"source": "lake", "target": "lake"})) == (404, 4)


@pytest.mark.parametrize("missing", ["SELECT_TABLE", "CREATE_TABLE"])
def test_both_rights_are_needed(server: Lanceway, missing: str) -> None:
    source = created(server, 1, 2)
    user = as_user(server, *SEEING, *({"SELECT_TABLE", "CREATE_TABLE"} - {missing}))
    target = [*source[:-1], "c"]
    answer = clone(user, source, target)
    assert refused(answer) == (403, 15)
    assert refused(ask(server, "table", target, "describe", {})) == (404, 4)
    assert ask(server, "table", source, "tags/list", {}).json()["tags"] == {}
    if missing == "SELECT_TABLE":
        none = [*source[:-1], "none"]
        hidden, absent = clone(user, source, target), clone(user, none, target)
        assert refused(absent) == (403, 15)
        assert hidden.json()["error"] == absent.json()["error"].replace("none", source[-1])


def test_other_catalogs_are_refused(server: Lanceway) -> None:
    source = created(server, 1)
    for pair in ((source, ["other", "c"]), (["other", "t"], [*source[:-1], "c"]), (["other", "t"], ["other", "c"])):
        answer = clone(server, *pair)
        assert refused(answer)[1] == 0
        assert "same catalog" in answer.json()["error"]


def test_a_source_that_is_dropped_names_its_clones_to_an_admin_alone(server: Lanceway) -> None:
    owner = as_user(server)
    source = created(owner, 1, 2)
    target = cloned(server, source)
    namespace = source[:-1]
    for verb in ("drop", "deregister"):
        answer = ask(owner, "table", source, verb, {})
        assert refused(answer) == (409, 19)
        assert "there are clones" in answer.json()["error"]
        assert target[-1] not in answer.text
        assert target[-1] in ask(server, "table", source, verb, {}).json()["error"]
    inside = [*namespace, "inside"]
    assert ask(server, "namespace", inside, "create").status_code == 200
    moved = {"new_table_name": "t", "new_namespace_id": inside}
    assert ask(server, "table", source, "rename", moved).status_code == 200
    answer = ask(server, "namespace", inside, "drop", {"behavior": "Cascade"})
    assert refused(answer) == (409, 19)
    assert count(server, target) == 2
    assert ask(server, "table", target, "drop", {}).status_code == 200
    assert ask(server, "namespace", inside, "drop", {"behavior": "Cascade"}).status_code == 200


def test_a_commit_of_a_client_keeps_the_recorded_bases_and_adds_none(server: Lanceway) -> None:
    source, secret = created(server, 1, 2), created(server, 100)
    target = cloned(server, source)
    with RestCatalog(uri=server.uri, token=server.token) as catalog:
        client = lance.dataset(namespace_client=catalog, table_id=target)
        client.delete("id = 1")  # a commit of the client's own, whose manifest has the base path of the source
        client.insert(table(3))
        assert [base.path for base in client.base_paths().values()] == [str(location(server, source))]
        assert count(server, target) == 2
        with pytest.raises(OSError, match="Commit result"):  # pylance loses the reason
            client.add_bases([DatasetBasePath(str(location(server, secret)), name="more", is_dataset_root=True)])
    versions = ask(server, "table", target, "version/list", {}).json()["versions"]
    assert [each["version"] for each in versions] == [1, 2, 3]
    assert count(server, target) == 2


def test_the_bases_of_a_clone_are_its_own(server: Lanceway, tmp_path: Path) -> None:
    """Another table, also one of the same user, gets nothing by it, and neither does a path below the source."""
    source = created(server, 1, 2)
    target = cloned(server, source)
    mine = created(server, 7)
    foreign = latest(location(server, target))
    assert refused(ask(server, "table", mine, "version/create", staged(location(server, mine), foreign, 2))) == (
        400,
        13,
    )
    for number, base in enumerate((f"{location(server, source)}/_versions", f"{location(server, source)}/../x")):
        folder = tmp_path / str(number)
        bases = [DatasetBasePath(base, name="base", is_dataset_root=False, id=1)]
        lance.write_dataset(table(1), str(folder), initial_bases=bases)
        claim = staged(location(server, target), latest(folder), 2)
        assert refused(ask(server, "table", target, "version/create", claim)) == (400, 13)
    assert count(server, target) == 2


def test_the_client_of_a_server(server: Lanceway) -> None:
    source = created(server, 1, 2)
    catalog: Any = RestCatalog(uri=server.uri, token=server.token)
    with catalog:
        made = catalog.clone_table(source, [*source[:-1], "c"], version=1)
        assert made.location
        assert catalog.count_table_rows({"id": [*source[:-1], "c"]}).count == 2


def test_the_audit_names_source_and_target(server: Lanceway) -> None:
    source = created(server, 1)
    target = cloned(server, source)
    with server.client() as client:
        rows = json.dumps(client.get("/lanceway/v1/audit", params={"limit": 50}).json())
    assert target[-1] in rows
    assert space(server)
