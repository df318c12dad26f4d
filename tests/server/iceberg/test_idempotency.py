"""Requests with an Idempotency-Key are carried out once."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.access.iceberg_helpers import SCHEMA, VERSION
from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, IcebergAsker, asking, lake_of, new_token, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture
def roomy(whole_run: Run) -> Iterator[IcebergAsker]:
    """A server that takes larger bodies."""
    settings = f"[server]\nmax_json_bytes = {4 * 2**20}\n"
    started = lanceway_server.start(whole_run, name="iceberg-roomy", settings=settings)
    with asking(started, started.token, "lake") as asker:
        yield asker
    started.stop()


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def test_a_change_is_made_once(admin: IcebergAsker) -> None:
    headers = key()
    body = {"namespace": ["a"], "properties": {"k": "v"}}
    first = admin.ask("POST", "/namespaces", body, headers=headers)
    again = admin.ask("POST", "/namespaces", body, headers=headers)
    assert (first.status_code, first.content) == (again.status_code, again.content) == (200, first.content)
    assert again.headers["content-type"] == "application/json"
    assert refused(admin.ask("POST", "/namespaces", body)) == (409, "AlreadyExistsException")


def test_a_refusal_is_repeated(admin: IcebergAsker) -> None:
    headers = key()
    first = admin.ask("DELETE", admin.at("a"), headers=headers)
    assert refused(first) == (404, "NoSuchNamespaceException")
    admin.make("a")
    again = admin.ask("DELETE", admin.at("a"), headers=headers)
    assert refused(again) == refused(first)
    assert again.json() == first.json()
    assert admin.list() == ["a"]


def test_an_answer_without_a_body_is_repeated(admin: IcebergAsker) -> None:
    admin.make("a")
    headers = key()
    assert admin.ask("DELETE", admin.at("a"), headers=headers).status_code == 204
    admin.make("a")
    assert admin.ask("DELETE", admin.at("a"), headers=headers).status_code == 204
    assert admin.list() == ["a"], "the second request was the first one again"


def test_the_key_of_another_request(admin: IcebergAsker) -> None:
    headers = key()
    admin.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers).raise_for_status()
    other = admin.ask("POST", "/namespaces", {"namespace": ["b"]}, headers=headers)
    assert refused(other) == (422, "UnprocessableEntityException")
    assert admin.list() == ["a"]


def test_the_key_of_another_user_is_another_key(server: Lanceway, admin: IcebergAsker) -> None:
    headers = key()
    admin.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers).raise_for_status()
    store = lake_of(server)
    token = new_token(store, "another-with-the-key")
    store.close()
    with asking(server, token, admin.catalog) as stranger:
        answer = stranger.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers)
        assert refused(answer) == (403, "ForbiddenException")


def test_what_is_denied_may_be_allowed_later(server: Lanceway, admin: IcebergAsker) -> None:
    headers, user = key(), f"late-{admin.catalog}"
    store = lake_of(server)
    token = new_token(store, user)
    store.close()
    with asking(server, token, admin.catalog) as late:
        denied = late.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers)
        assert refused(denied) == (403, "ForbiddenException")
        server.token_for(user)
        assert late.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers).status_code == 200


@pytest.mark.parametrize("text", ["", "x", "1" * 36, "{017f22e2-79b0-7cc3-98c4-dc0c0c0739}", "a" * 10_000])
def test_a_key_that_is_none(admin: IcebergAsker, text: str) -> None:
    answer = admin.ask("POST", "/namespaces", {"namespace": ["a"]}, headers={"Idempotency-Key": text})
    assert refused(answer) == (400, "BadRequestException")
    assert admin.list() == []


def test_many_at_once_have_one_effect(admin: IcebergAsker) -> None:
    headers = key()

    def ask(_: int) -> httpx.Response:
        return admin.ask("POST", "/namespaces", {"namespace": ["a"]}, headers=headers)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert any(answer.status_code == 200 for answer in answers)
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
    assert admin.list() == ["a"]


def noise() -> dict[str, str]:
    """Properties that stay above a mebibyte when they are compressed."""
    some = random.Random(7)
    return {f"k{number}": base64.b64encode(some.randbytes(900)).decode() for number in range(1_800)}


def twice(admin: IcebergAsker, method: str, path: str, body: Any = None) -> tuple[httpx.Response, httpx.Response]:
    headers = key()
    first = admin.ask(method, path, body, headers=headers).raise_for_status()
    return first, admin.ask(method, path, body, headers=headers)


def test_large_answers_are_given_again(roomy: IcebergAsker) -> None:
    roomy.make("ns")
    large = noise()
    view = {"schema": SCHEMA, "view-version": VERSION, "properties": large}
    tables, views = roomy.at("ns", then="/tables"), roomy.at("ns", then="/views")

    def again(method: str, path: str, body: Any = None) -> Any:
        first, second = twice(roomy, method, path, body)
        assert (second.status_code, second.content) == (200, first.content), second.text[:200]
        return first.json()

    again("POST", "/namespaces", {"namespace": ["large"], "properties": large})
    again("POST", roomy.at("large", then="/properties"), {"removals": list(large), "updates": {}})
    again("POST", tables, {"name": "t", "schema": COLUMNS, "properties": large})
    set_one = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    again("POST", f"{tables}/t", set_one)
    place = again("POST", f"{tables}/t/unregister")["metadata-location"]
    again("POST", roomy.at("ns", then="/register"), {"name": "u", "metadata-location": place})
    again("POST", views, {"name": "v", **view})
    place = again("POST", f"{views}/v", set_one)["metadata-location"]
    file = Path(place.removeprefix("file://"))
    content = file.read_bytes()
    roomy.ask("DELETE", f"{views}/v").raise_for_status()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    again("POST", roomy.at("ns", then="/register-view"), {"name": "w", "metadata-location": place})


def test_a_companion_is_answered_again_as_one(admin: IcebergAsker) -> None:
    admin.make("ns")
    body = {"name": "lance", "schema": COLUMNS, "properties": {"table_type": "lance"}}
    first, again = twice(admin, "POST", admin.at("ns", then="/tables"), body)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["etag"] == first.headers["etag"]


def test_a_staged_table_is_answered_again_as_one(admin: IcebergAsker) -> None:
    admin.make("ns")
    body = {"name": "t", "schema": COLUMNS, "stage-create": True}
    first, again = twice(admin, "POST", admin.at("ns", then="/tables"), body)
    assert (again.status_code, again.content) == (200, first.content)
    assert "etag" not in first.headers
    assert "etag" not in again.headers


def test_a_later_user_of_the_name_has_none_of_the_keys(server: Lanceway, admin: IcebergAsker) -> None:
    headers, user = key(), f"gone-{admin.catalog}"
    path, body = "/namespaces", {"namespace": ["a"], "properties": {"k": "v"}}
    with asking(server, server.token_for(user), admin.catalog) as first:
        answer = first.ask("POST", path, body, headers=headers)
        assert first.ask("POST", path, body, headers=headers).content == answer.raise_for_status().content
    users = f"{server.address}/lanceway/v1"
    admin.client.delete(f"{users}/users/{user}").raise_for_status()
    token = admin.client.post(f"{users}/tokens", json={"user": user}).raise_for_status().json()["token"]
    admin.client.post(f"{users}/roles/role-of-{user}/give", json={"user": user}).raise_for_status()
    with asking(server, token, admin.catalog) as later:
        answer = later.ask("POST", path, body, headers=headers)
        assert refused(answer) == (409, "AlreadyExistsException"), "it is carried out, as a new request"
