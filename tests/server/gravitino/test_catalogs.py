"""Catalogs over Gravitino REST: what is found of their storage is told, and those of the configuration are kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

import lanceway
from tests.server.gravitino.gravitino_helpers import BASE, refused
from tests.server.server_helpers import table
from tests.servers import lanceway as lanceway_server
from tests.servers import moto
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

CHECKS = "lanceway.storage-checks"


@pytest.fixture(scope="module")
def configured(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lanceway]:
    """A server with a catalog, `filed`, of its configuration."""
    folder = tmp_path_factory.mktemp("filed")
    catalog: Any = lanceway.connect("dir", path=str(folder))
    with catalog:
        catalog.create_table_stream({"id": ["t"]}, table(1, 2).to_reader())
    text = f'[server]\nworker = false\n[catalogs.filed]\ntype = "dir"\npath = "{folder}"\n'
    server = lanceway_server.start(whole_run, name="filed", settings=text)
    yield server
    assert server.stop() == 0


@pytest.fixture
def client(configured: Lanceway) -> Iterator[httpx.Client]:
    with configured.client() as client:
        yield client


def bucket(server: moto.Glue, name: str) -> dict[str, str]:
    """The settings of a folder of a bucket, whose tables have credentials that moto does not hold to their policy."""
    server.client("s3").create_bucket(Bucket=name)
    return {
        "path": f"s3://{name}/tables",
        "storage.aws_access_key_id": moto.KEY,
        "storage.aws_secret_access_key": moto.SECRET,
        "storage.aws_region": moto.REGION,
        "storage.aws_endpoint": server.endpoint,
        "storage.allow_http": "true",
        "credentials.role_arn": f"arn:aws:iam::{moto.ACCOUNT}:role/tables",
    }


def told(answer: httpx.Response) -> dict[str, str]:
    """What the answer tells of each check."""
    lines: str = answer.raise_for_status().json()["catalog"]["properties"][CHECKS]
    return dict(line.split(": ", 1) for line in lines.splitlines())


def test_a_storage_that_enforces_nothing_is_told(client: httpx.Client) -> None:
    name = f"c{uuid.uuid4().hex[:10]}"
    with moto.serve() as server:
        settings = bucket(server, name)
        body = {"name": name, "type": "relational", "provider": "dir", "comment": None, "properties": settings}
        made = client.post(f"{BASE}/catalogs", json=body)
        assert told(made)["reads"] == "passed"
        wrong = told(made)["refused outside the table"]
        assert wrong.startswith("failed: ")
        assert "do not vend credentials" in wrong
        update = {"@type": "setProperty", "property": "credentials.duration", "value": "60"}
        altered = client.put(f"{BASE}/catalogs/{name}", json={"updates": [update]})
        assert told(altered) == told(made)
        assert CHECKS not in client.get(f"{BASE}/catalogs/{name}").json()["catalog"]["properties"]
        tested = client.post(f"{BASE}/catalogs/{name}/testConnection")
        assert (
            "did not pass its test: the check 'storage: refused outside the table' failed" in tested.json()["message"]
        )
        assert moto.SECRET not in made.text + altered.text + tested.text


def test_a_refusal_says_what_was_not_done(client: httpx.Client) -> None:
    name, nowhere = f"c{uuid.uuid4().hex[:10]}", {"uri": "http://127.0.0.1:9/lance", "retries": "0"}

    def made(settings: Mapping[str, str]) -> httpx.Response:
        body = {"name": name, "type": "relational", "provider": "rest", "comment": None, "properties": settings}
        return client.post(f"{BASE}/catalogs", json=body)

    assert f"'{name}' was not made: the check 'list' failed" in made(nowhere).json()["message"]
    address = str(client.base_url).rstrip("/")
    made({"uri": f"{address}/lance", "token": client.headers["authorization"].split()[1]}).raise_for_status()
    update = {"@type": "setProperty", "property": "uri", "value": nowhere["uri"]}
    changed = client.put(f"{BASE}/catalogs/{name}", json={"updates": [update]}).json()["message"]
    assert f"'{name}' was not changed: the check 'list' failed" in changed


def test_a_catalog_of_the_configuration_is_shown_and_kept(client: httpx.Client) -> None:
    loaded = client.get(f"{BASE}/catalogs/filed").raise_for_status().json()["catalog"]
    assert loaded["provider"] == "dir"
    rename, comment = {"@type": "rename", "newName": "other"}, {"@type": "updateComment", "newComment": "mine"}
    setting = {"@type": "setProperty", "property": "path", "value": "/tmp"}
    again = {"name": "filed", "type": "relational", "provider": "lakehouse-generic", "comment": None, "properties": {}}
    for answer in (
        *(client.put(f"{BASE}/catalogs/filed", json={"updates": [update]}) for update in (rename, comment, setting)),
        client.patch(f"{BASE}/catalogs/filed", json={"inUse": False}),
        client.delete(f"{BASE}/catalogs/filed"),
        client.post(f"{BASE}/catalogs", json=again),
    ):
        assert refused(answer)[0] == 400
        assert "comes from the configuration and is read-only here" in answer.json()["message"]
        assert "[catalogs.filed]" in answer.json()["message"]
    assert client.get(f"{BASE}/catalogs/filed").json()["catalog"] == loaded
    assert client.post("/lance/v1/table/filed$t/count_rows", json={}).json() == 2
