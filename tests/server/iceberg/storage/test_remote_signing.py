"""Requests to a storage without STS that the server signs for Iceberg clients: for whom, and for how long."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import obstore
import pytest

from lanceway.access.privileges import CREATE_TABLE, MODIFY_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.access.credentials.signing_attacks import ATTACKS, Attack, on
from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, S3, SECRET

_ENTER = (USE_CATALOG, USE_SCHEMA)
_DELEGATION = {"X-Iceberg-Access-Delegation": "remote-signing"}
FORBIDDEN = (403, "ForbiddenException")
CONTENT = b"rows of a file"


@dataclass(frozen=True)
class Site:
    """A server whose storage has no STS, and its users."""

    server: Lanceway
    s3: S3
    tokens: dict[str, str]

    def ask(self, user: str, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[user]}", **options.pop("headers", {})}
        with self.server.client(headers=headers) as client:
            return client.request(method, f"/iceberg/v1/lake/{path}", json=body, **options)

    def create(self, user: str = "owner", name: str | None = None, **more: Any) -> dict[str, Any]:
        name = name or f"t{uuid.uuid4().hex[:8]}"
        body = {"name": name, "schema": COLUMNS, **more}
        answer = self.ask(user, "POST", "namespaces/team/tables", body, headers=_DELEGATION)
        assert answer.status_code == 200, answer.text
        return {"name": name, "location": answer.json()["metadata"]["location"], **answer.json()}

    def sign(
        self, user: str, table: Mapping[str, Any], method: str, uri: str, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Ask for a signature at the address that the answer of a table names."""
        body = {
            "region": "us-east-1",
            "method": method,
            "uri": uri,
            "headers": {name: [value] for name, value in (headers or {}).items()},
        }
        return self.ask(user, "POST", table["config"]["s3.signer.endpoint"].removeprefix("v1/lake/"), body)

    def uri(self, table: Mapping[str, Any], key: str = "data/1.parquet") -> str:
        return f"{self.s3.endpoint}/{table['location'].removeprefix('s3://')}/{key}"

    def send(self, method: str, signed: httpx.Response, content: bytes | None = None) -> httpx.Response:
        """Send what was signed to the storage."""
        assert signed.status_code == 200, signed.text
        headers = {name: ", ".join(values) for name, values in signed.json()["headers"].items()}
        return httpx.request(method, signed.json()["uri"], content=content, headers=headers, trust_env=False)

    def allows(self, user: str, table: Mapping[str, Any]) -> str:
        """What a user can have signed of a table: letters for GET, PUT and DELETE."""
        letters = ""
        for method in ("GET", "PUT", "DELETE"):
            answer = self.sign(user, table, method, self.uri(table))
            assert answer.status_code in (200, 403), answer.text
            letters += method[0] if answer.status_code == 200 else ""
        return letters


@pytest.fixture(scope="module")
def site(whole_run: Run, s3: S3) -> Iterator[Site]:
    lines = ["[server]", f'warehouse = "{s3.prefix()}"']
    lines += [f'storage.{key} = "{value}"' for key, value in s3.storage_options.items()]
    server = lanceway_server.start(whole_run, name="signed", settings="\n".join(lines))
    tokens = {
        "admin": server.token,
        "owner": server.token_for("owner", *_ENTER, CREATE_TABLE),
        "writer": server.token_for("writer", *_ENTER, SELECT_TABLE, MODIFY_TABLE),
        "reader": server.token_for("reader", *_ENTER, SELECT_TABLE),
        "changer": server.token_for("changer", *_ENTER, MODIFY_TABLE),
        "maker": server.token_for("maker", *_ENTER, CREATE_TABLE),
        "stranger": server.token_for("stranger", *_ENTER),
    }
    site = Site(server, s3, tokens)
    assert site.ask("admin", "POST", "namespaces", {"namespace": ["team"]}).status_code == 200
    yield site
    server.stop()


# -- what a client is told -----------------------------------------------------------------------


def test_a_table_comes_with_the_address_of_its_signer(site: Site) -> None:
    table = site.create()
    path = f"v1/lake/namespaces/team/tables/{table['name']}/sign"
    assert table["config"] == {
        "s3.remote-signing-enabled": "true",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.endpoint": path,
        "signer.endpoint": path,
        "s3.endpoint": site.s3.endpoint,
        "s3.path-style-access": "true",
        "s3.region": "us-east-1",
        "client.region": "us-east-1",
    }
    assert "storage-credentials" not in table
    for user, told in (("reader", True), ("changer", False)):
        answer = site.ask(user, "GET", f"namespaces/team/tables/{table['name']}", headers=_DELEGATION).json()
        assert bool(answer["config"]) is told, "who may not read a table is told nothing"
    with site.server.client() as client:
        config = client.get("/iceberg/v1/config", params={"warehouse": "lake"}).json()
    assert "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign" in config["endpoints"]


@pytest.mark.parametrize("wanted", ["", "vended-credentials", "something"])
def test_who_does_not_ask_for_it_is_told_nothing(site: Site, wanted: str) -> None:
    table = site.create()
    headers = {"X-Iceberg-Access-Delegation": wanted} if wanted else {}
    answer = site.ask("owner", "GET", f"namespaces/team/tables/{table['name']}", headers=headers).json()
    assert answer["config"] == {}
    credentials = site.ask("owner", "GET", f"namespaces/team/tables/{table['name']}/credentials")
    assert credentials.json() == {"storage-credentials": []}


# -- who has what signed -------------------------------------------------------------------------


def test_rights_say_what_is_signed(site: Site) -> None:
    table = site.create("owner")
    assert {user: site.allows(user, table) for user in site.tokens} == {
        "admin": "GPD",
        "owner": "GPD",
        "writer": "GP",
        "reader": "G",
        "changer": "",
        "maker": "",
        "stranger": "",
    }


def test_what_is_signed_is_done_by_the_storage(site: Site) -> None:
    table = site.create()
    uri = site.uri(table)
    signed = site.sign("writer", table, "PUT", uri, {"Content-Type": "text/plain"})
    assert signed.headers["cache-control"] == "no-cache"
    assert SECRET not in signed.text
    assert site.send("PUT", signed, CONTENT).status_code == 200
    assert site.send("GET", site.sign("reader", table, "GET", uri)).content == CONTENT
    assert site.send("DELETE", site.sign("owner", table, "DELETE", uri)).status_code == 204


def test_a_revoke_counts_from_the_next_request_on(site: Site) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    site.tokens[user] = site.server.token_for(user, *_ENTER, SELECT_TABLE, MODIFY_TABLE)
    table = site.create()
    assert site.allows(user, table) == "GP"
    with site.server.client(base_url=f"{site.server.address}/lanceway/v1") as client:

        def revoke(privilege: str) -> None:
            change = {"role": f"role-of-{user}", "object": "metalake", "privilege": privilege, "revoke": True}
            client.post("/grants", json={"changes": [change]}).raise_for_status()

        revoke(MODIFY_TABLE)
        assert site.allows(user, table) == "G"
        revoke(SELECT_TABLE)
        assert site.allows(user, table) == ""
    del site.tokens[user]


def test_a_token_that_is_not_valid_has_nothing_signed(site: Site) -> None:
    table = site.create()
    site.tokens["nobody"] = "not-a-token"
    assert site.sign("nobody", table, "GET", site.uri(table)).status_code == 401
    del site.tokens["nobody"]


def test_another_table_is_not_signed_for(site: Site) -> None:
    own, other = site.create("maker"), site.create("owner")
    assert refused(site.sign("maker", own, "GET", site.uri(other))) == FORBIDDEN
    assert refused(site.sign("maker", other, "GET", site.uri(own))) == FORBIDDEN
    assert site.sign("maker", own, "GET", site.uri(own)).status_code == 200


def test_what_is_missing_and_what_is_hidden_look_the_same(site: Site) -> None:
    hidden = site.create("owner")
    missing = {**hidden, "config": {"s3.signer.endpoint": "v1/lake/namespaces/team/tables/absent/sign"}}
    answers = [site.sign("stranger", table, "GET", site.uri(hidden)) for table in (hidden, missing)]
    assert [refused(answer)[0] for answer in answers] == [403, 403]
    texts = [answer.json()["error"]["message"] for answer in answers]
    assert texts[0].replace(hidden["name"], "") == texts[1].replace("absent", "")
    assert refused(site.sign("admin", missing, "GET", site.uri(hidden))) == (404, "NoSuchTableException")


@pytest.fixture(scope="module")
def target(site: Site) -> dict[str, Any]:
    """A table with what the attacks are after beside it."""
    table = site.create("owner")
    store = site.s3.store(table["location"].rpartition("/")[0])
    for place in (f"{table['location'].rpartition('/')[2]}2/secret", "secret/file"):
        obstore.put(store, place, CONTENT)
    return table


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_attacks_are_refused(site: Site, target: dict[str, Any], attack: Attack) -> None:
    answer = site.sign("admin", target, *on(attack, site.s3, target["location"]))
    assert refused(answer) == FORBIDDEN
    assert "is not signed" in answer.json()["error"]["message"]
    assert not {SECRET, "Signature="} & set(answer.text.split())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"region": "a", "method": "GET", "uri": 1, "headers": {}},
        {"region": "a", "method": "GET", "uri": "http://a", "headers": {"a": "b"}},
        {"region": "a", "method": "GET", "uri": "http://a", "headers": []},
    ],
)
def test_a_body_that_is_no_request_is_bad(site: Site, target: dict[str, Any], body: dict[str, Any]) -> None:
    answer = site.ask("admin", "POST", f"namespaces/team/tables/{target['name']}/sign", body)
    assert refused(answer) == (400, "BadRequestException")


def test_requests_to_other_storages_are_not_signed(site: Site, target: dict[str, Any]) -> None:
    body = {"region": "a", "method": "GET", "uri": site.uri(target), "headers": {}, "provider": "gcs"}
    answer = site.ask("admin", "POST", f"namespaces/team/tables/{target['name']}/sign", body)
    assert refused(answer) == (406, "UnsupportedOperationException")


# -- tables that are not there yet ---------------------------------------------------------------


def test_a_staged_table_is_written_to_by_its_maker_alone(site: Site) -> None:
    staged = site.create("maker", **{"stage-create": True})
    uri = site.uri(staged)
    assert "staged=" in staged["config"]["s3.signer.endpoint"]
    assert site.allows("maker", staged) == "GPD"
    for user in ("owner", "reader", "stranger"):
        assert site.allows(user, staged) == ""
    other = site.create("maker", **{"stage-create": True})
    crossed = {
        **other,
        "config": {"s3.signer.endpoint": staged["config"]["s3.signer.endpoint"].replace(staged["name"], other["name"])},
    }
    assert refused(site.sign("maker", crossed, "GET", uri)) == FORBIDDEN, "the note of another table"
    changed = {**staged, "config": {"s3.signer.endpoint": f"{staged['config']['s3.signer.endpoint'][:-3]}AAA"}}
    assert refused(site.sign("maker", changed, "GET", uri)) == FORBIDDEN
    assert refused(site.sign("maker", staged, "GET", site.uri(other))) == FORBIDDEN


def test_the_note_of_a_staged_table_ends_with_what_takes_its_place(site: Site) -> None:
    staged = site.create("maker", **{"stage-create": True})
    made = site.create("owner", staged["name"])
    assert site.allows("maker", staged) == "", "the name is another's now"
    assert refused(site.sign("maker", staged, "GET", site.uri(made))) == FORBIDDEN
    chosen = f"{staged['location'].rpartition('/')[0]}/chosen-{uuid.uuid4().hex}"
    first = site.create("maker", location=chosen, **{"stage-create": True})
    assert site.allows("maker", first) == "GPD"
    second = site.create("owner", location=chosen)
    assert second["location"] == chosen
    assert site.sign("maker", first, "GET", site.uri(second)).status_code in (400, 403), "the place is another's now"


# -- what is not an Iceberg table ----------------------------------------------------------------


def test_a_lance_table_has_nothing_signed(site: Site) -> None:
    name = f"l{uuid.uuid4().hex[:8]}"
    declared = site.server.ask("POST", f"table/lake$team${name}/declare", {}).json()
    loaded = site.ask("admin", "GET", f"namespaces/team/tables/{name}", headers=_DELEGATION).json()
    assert loaded["config"] == {}
    table = {"location": declared["location"], "config": {"s3.signer.endpoint": f"namespaces/team/tables/{name}/sign"}}
    assert site.sign("admin", table, "GET", site.uri(table)).status_code == 404


def test_a_catalog_that_is_disabled_has_nothing_signed(site: Site) -> None:
    table = site.create()
    with site.server.client(base_url=f"{site.server.address}/lanceway/v1") as client:
        client.post("/catalogs/lake/disable").raise_for_status()
        try:
            assert site.sign("owner", table, "GET", site.uri(table)).status_code != 200
        finally:
            client.post("/catalogs/lake/enable").raise_for_status()
    assert site.sign("owner", table, "GET", site.uri(table)).status_code == 200


def test_nothing_is_said_of_keys(site: Site) -> None:
    lines = site.server.lines()
    assert SECRET not in lines
    assert f"Credential={KEY}" not in lines
    assert "staged=" not in lines
    assert json.dumps(sorted(site.tokens)) not in lines
