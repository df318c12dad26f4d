"""Errors before an operation is reached: who asks, which path, which body."""

from __future__ import annotations

import sqlite3

import httpx
import pytest

from lanceway.access import tokens
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


def test_without_a_token(server: Lanceway) -> None:
    for headers in ({}, {"Authorization": "Bearer None"}, {"Authorization": "Bearer x"}):
        with server.client(headers=headers) as client:
            answer = client.get("/iceberg/v1/config")
            assert refused(answer) == (401, "NotAuthorizedException")
            assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_that_has_expired(server: Lanceway) -> None:
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        token: str = client.post("/tokens", json={"user": "admin"}).raise_for_status().json()["token"]
    with sqlite3.connect(server.home / "lake.db", timeout=30) as database:
        prefix = (tokens.prefix_of(token),)
        assert database.execute("UPDATE tokens SET expires_at = 1 WHERE prefix = ?", prefix).rowcount == 1
    with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
        assert refused(client.get("/iceberg/v1/config")) == (419, "AuthenticationTimeoutException")


def test_where_no_token_is_needed_pyiceberg_has_none(whole_run: Run) -> None:
    server = lanceway_server.start(whole_run, name="iceberg-anonymous", arguments=("--anonymous",))
    with server.client(headers={"Authorization": "Bearer None"}) as client:
        answer = client.get("/iceberg/v1/config")
        assert answer.status_code in (200, 400), answer.text
    server.stop()


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/", "/v1/lake", "/v1/namespaces", "/v1/lake/nothing", "/v2/config"]
)
def test_paths_that_there_are_not(server: Lanceway, path: str) -> None:
    with server.client() as client:
        answer = client.get(f"/iceberg{path}")
        assert answer.status_code == 404, answer.text
        if path:
            assert refused(answer) == (404, "NotFoundException")


def test_a_method_that_a_path_does_not_take(admin: IcebergAsker) -> None:
    answer = admin.ask("PUT", "/namespaces", {})
    assert refused(answer) == (405, "UnsupportedOperationException")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"namespace": ["a"', b"null", b"[]", b'"a"', b"\xff", b'{"namespace": "a"}', b"[" * 100_000],
)
def test_a_body_that_cannot_be_read(admin: IcebergAsker, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = admin.client.post(f"/iceberg/v1/{admin.catalog}/namespaces", content=content, headers=headers)
    assert refused(answer) == (400, "BadRequestException")
    assert admin.list() == []


def test_a_body_that_is_no_json(admin: IcebergAsker) -> None:
    headers = {"content-type": "text/plain"}
    answer = admin.client.post(
        f"/iceberg/v1/{admin.catalog}/namespaces", content=b'{"namespace":["a"]}', headers=headers
    )
    assert refused(answer)[0] == 415


def test_a_body_that_is_too_large(whole_run: Run) -> None:
    server = lanceway_server.start(whole_run, name="iceberg-small", settings="[server]\nmax_json_bytes = 100_000\n")
    with server.client() as client:
        body = {"namespace": ["a"], "properties": {"k": "v" * 200_000}}
        assert refused(client.post("/iceberg/v1/lake/namespaces", json=body))[0] == 413
    server.stop()


def test_half_of_a_surrogate_pair(admin: IcebergAsker) -> None:
    headers = {"content-type": "application/json"}
    answer = admin.client.post(
        f"/iceberg/v1/{admin.catalog}/namespaces", content=b'{"namespace": ["\\ud800"]}', headers=headers
    )
    assert refused(answer)[0] == 400


def test_tokens_at_the_protocols_own_path(server: Lanceway) -> None:
    form = {"grant_type": "client_credentials", "client_id": "admin", "client_secret": server.token, "scope": "catalog"}
    with httpx.Client(base_url=server.address, trust_env=False) as client:
        answer = client.post("/iceberg/v1/oauth/tokens", data=form)
        token = answer.json()["access_token"]
        assert answer.json()["token_type"] == "bearer"
        config = client.get("/iceberg/v1/config", headers={"Authorization": f"Bearer {token}"})
        assert config.status_code == 200
        exchange = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token}
        answer = client.post("/iceberg/v1/oauth/tokens", data=exchange)
        assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")
        wrong = client.post("/iceberg/v1/oauth/tokens", data={**form, "client_secret": "x"})
        assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")


def test_a_request_has_an_id_and_a_line_in_the_log(server: Lanceway, admin: IcebergAsker) -> None:
    answer = admin.ask("GET", "/namespaces")
    assert server.logged(answer.headers["x-request-id"])["operation"] == "list_namespaces"


def test_changes_are_audited(server: Lanceway, admin: IcebergAsker) -> None:
    answer = admin.create("a", "b")
    found = admin.client.get("/lanceway/v1/audit", params={"limit": 50}).json()["events"]
    mine = [event for event in found if event["request_id"] == answer.headers["x-request-id"]]
    assert {event["outcome"] for event in mine} >= {"attempted"}
    assert {(event["via"], event["operation"]) for event in mine} == {("Iceberg REST", "create_namespace")}
