"""`/lanceway/v1/tokens`: one's own, an admin's all, shown once, listed by prefix, revoked for good."""

from __future__ import annotations

import time
import uuid
from typing import Any

import httpx
import pytest

from tests.servers.lanceway import Lanceway

TOKENS, ME = "/lanceway/v1/tokens", "/lanceway/v1/me"


class Caller:
    """Somebody with a token."""

    def __init__(self, server: Lanceway, token: str) -> None:
        self.server, self.token = server, token

    def ask(self, method: str, path: str = TOKENS, **options: Any) -> httpx.Response:
        headers = {"x-api-key": self.token, "content-type": "application/json", **options.pop("headers", {})}
        return httpx.request(
            method, f"{self.server.address}{path}", headers=headers, timeout=60, trust_env=False, **options
        )

    def make(self, **wanted: Any) -> dict[str, Any]:
        answer = self.ask("POST", json=wanted)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def list(self, **query: Any) -> dict[str, Any]:
        answer = self.ask("GET", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def admin(server: Lanceway) -> Caller:
    return Caller(server, server.token)


@pytest.fixture
def user(admin: Caller) -> Caller:
    """A new user, who is not an admin."""
    made = admin.make(user=f"user-{uuid.uuid4().hex[:8]}")
    return Caller(admin.server, made["token"])


def name(caller: Caller) -> str:
    return str(caller.ask("GET", ME).json()["name"])


def refused(answer: httpx.Response) -> tuple[int, int]:
    assert answer.json()["instance"] == answer.headers["x-request-id"]
    return answer.status_code, answer.json()["code"]


def test_a_token_is_made_and_shown_once(user: Caller) -> None:
    answer = user.ask("POST", json={"label": "laptop", "expires_in": 3600})
    made = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    secret = made.pop("token")
    assert made["expires_at"] - made["created_at"] == 3_600_000
    assert (made["user"], made["created_by"], made["label"]) == (name(user), name(user), "laptop")
    assert secret.startswith(f"{made['prefix']}_")
    assert name(Caller(user.server, secret)) == name(user)
    listed = user.ask("GET", params={})
    assert secret.rpartition("_")[2] not in listed.text
    assert made["prefix"] in [token["prefix"] for token in listed.json()["tokens"]]


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"of a newer client": 1}'])
def test_a_body_that_asks_for_nothing_in_particular(user: Caller, body: bytes) -> None:
    answer = user.ask("POST", content=body)
    assert (answer.status_code, answer.json()["user"]) == (201, name(user))


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'"x"',
        b"\xff",
        b'{"user": 7}',
        b'{"label": ["x"]}',
        b'{"expires_in": 0}',
        b'{"expires_in": -5}',
        b'{"expires_in": "30d"}',
        b'{"expires_in": 1e300}',
        b'{"expires_in": 99999999999999999999999}',
        b'{"label": "a\\nb"}',
        b'{"label": "\\ud800"}',
        b"[" * 50_000,
    ],
)
def test_a_bad_body(user: Caller, body: bytes) -> None:
    assert refused(user.ask("POST", content=body)) == (400, 13)
    assert len(user.list()["tokens"]) == 1


def test_a_token_outlives_no_other_that_it_was_made_with(user: Caller) -> None:
    maker = user.make(expires_in=600)
    short_lived = Caller(user.server, maker["token"])
    for wanted in ({}, {"expires_in": 86_400}):
        assert short_lived.make(**wanted)["expires_at"] <= maker["expires_at"] + 1000  # two readings of a clock
    assert short_lived.make(expires_in=60)["expires_at"] < maker["expires_at"]
    assert "expires_at" not in user.make()


def test_too_large_a_body(user: Caller) -> None:
    assert refused(user.ask("POST", content=b" " * 100_000)) == (413, 13)


@pytest.mark.parametrize("wanted", ["", "anonymous", "a\x00b", "x" * 300])
def test_a_user_that_cannot_be(admin: Caller, wanted: str) -> None:
    assert refused(admin.ask("POST", json={"user": wanted})) == (400, 13)


def test_only_an_admin_makes_tokens_for_others(user: Caller) -> None:
    for other in ("admin", "somebody"):
        assert refused(user.ask("POST", json={"user": other})) == (403, 15)


def test_only_an_admin_sees_those_of_others(admin: Caller, user: Caller) -> None:
    assert {token["user"] for token in user.list()["tokens"]} == {name(user)}
    assert user.list(user=name(user)) == user.list()
    assert refused(user.ask("GET", params={"user": "admin"})) == (403, 15)
    assert admin.list(user=name(user)) == user.list()
    assert {"admin", name(user)} <= {token["user"] for token in everybodys(admin)}


def everybodys(admin: Caller) -> list[dict[str, Any]]:
    page = admin.list(limit=1000)
    found = page["tokens"]
    while page["page_token"]:
        page = admin.list(limit=1000, page_token=page["page_token"])
        found += page["tokens"]
    return list(found)


def test_pages(user: Caller) -> None:
    made = [user.make()["prefix"] for _ in range(6)]
    first = user.list(limit=3)
    second = user.list(limit=3, page_token=first["page_token"])
    last = user.list(limit=3, page_token=second["page_token"])
    seen = [token["prefix"] for page in (first, second, last) for token in page["tokens"]]
    assert seen[1:] == made
    assert last["page_token"] is None


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": -1}, {"limit": "x"}, {"limit": "9" * 40}, {"page_token": "x"}, {"all": "maybe"}]
)
def test_a_bad_query(user: Caller, query: dict[str, Any]) -> None:
    assert refused(user.ask("GET", params=query)) == (400, 13)


def test_revoking_ones_own(user: Caller) -> None:
    made = user.make()
    answer = user.ask("DELETE", f"{TOKENS}/{made['prefix']}")
    assert (answer.status_code, "revoked_at" in answer.json()) == (200, True)
    assert made["prefix"] not in [token["prefix"] for token in user.list()["tokens"]]
    assert made["prefix"] in [token["prefix"] for token in user.list(all="true")["tokens"]]
    assert Caller(user.server, made["token"]).ask("GET", ME).status_code == 401


def test_a_token_in_use_is_refused_as_soon_as_it_was_revoked(user: Caller) -> None:
    made = user.make()
    busy = Caller(user.server, made["token"])
    assert busy.ask("GET", ME).status_code == 200
    user.ask("DELETE", f"{TOKENS}/{made['prefix']}")
    answer = busy.ask("GET", ME)
    assert refused(answer) == (401, 16)
    assert "was revoked" in answer.json()["error"]


def test_only_an_admin_revokes_those_of_others(admin: Caller, user: Caller) -> None:
    [theirs] = user.list()["tokens"]
    other = Caller(admin.server, admin.make(user=f"{name(user)}-other")["token"])
    missing = other.ask("DELETE", f"{TOKENS}/lw_000000000000")
    foreign = other.ask("DELETE", f"{TOKENS}/{theirs['prefix']}")
    assert refused(missing) == refused(foreign) == (404, 13)
    assert name(user)
    assert admin.ask("DELETE", f"{TOKENS}/{theirs['prefix']}").status_code == 200


def test_a_whole_token_is_not_repeated(user: Caller) -> None:
    answer = user.ask("DELETE", f"{TOKENS}/{user.token}")
    assert refused(answer) == (400, 13)
    assert user.token not in answer.text
    assert name(user)


def test_other_paths_and_methods(user: Caller) -> None:
    for path in ("/lanceway/v1", "/lanceway/v1/", "/lanceway/v1/none", "/lanceway/v2/me", "/lanceway/v1/me/x"):
        assert user.ask("GET", path).status_code == 404, path
    answer = user.ask("PUT")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    assert user.ask("DELETE").status_code == 405
    assert user.ask("GET", f"{TOKENS}/lw_000000000000").status_code == 405


def test_the_last_use_is_shown(user: Caller) -> None:
    deadline = time.monotonic() + 60
    while "last_used_at" not in user.list()["tokens"][0]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
