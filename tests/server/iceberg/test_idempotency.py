"""Requests with an Idempotency-Key are carried out once."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_token, refused
from tests.servers.lanceway import Lanceway


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
