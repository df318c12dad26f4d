"""Signing in by OAuth2 client credentials, and Gravitino's simple way: who gets a token, and for how long it is one."""

from __future__ import annotations

import base64
import json
import sqlite3
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import lanceway as library
from tests.processes import lanceway as program
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

PATH, ME, TOKENS = "/lanceway/v1/oauth/tokens", "/lanceway/v1/me", "/lanceway/v1/tokens"


class User:
    """A user of the server, with one token."""

    def __init__(self, server: Lanceway, name: str, **options: Any) -> None:
        self.server, self.name = server, name
        with server.client() as admin:
            made = admin.post(TOKENS, json={"user": name, **options}).raise_for_status().json()
        self.token, self.prefix = made["token"], made["prefix"]

    def form(self, **changed: str) -> dict[str, str]:
        form = {"grant_type": "client_credentials", "client_id": self.name, "client_secret": self.token}
        return {**form, "scope": "all", **changed}

    def sign_in(self, **changed: str) -> httpx.Response:
        return httpx.post(f"{self.server.address}{PATH}", data=self.form(**changed), timeout=60, trust_env=False)

    def change(self, column: str, value: int) -> None:
        """Set a time of the user's tokens, which no test waits for."""
        with sqlite3.connect(self.server.home / "lake.db", timeout=30) as database:
            prefix = self.prefix.removeprefix("lw_")
            assert database.execute(f"UPDATE tokens SET {column} = ? WHERE prefix = ?", (value, prefix)).rowcount == 1


@pytest.fixture
def user(server: Lanceway) -> User:
    return User(server, f"signing-{uuid.uuid4().hex[:8]}")


def ask(server: Lanceway, token: str, path: str = ME) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{server.address}{path}", headers=headers, timeout=60, trust_env=False)


def refused(answer: httpx.Response) -> None:
    """The one answer to whatever is wrong with a client."""
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.json()["error_description"] == (
        "client_id must be a user of this server, and client_secret a token of that user that is still valid."
    )
    assert "access_token" not in answer.text


def test_a_token_is_issued_for_a_users_token(server: Lanceway, user: User) -> None:
    answer = user.sign_in()
    body = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("bearer", 3600, "all")
    assert ask(server, body["access_token"]).json()["name"] == user.name
    header, payload, token = body["access_token"].split(".")
    ends = json.loads(base64.b64decode(payload + "=" * (-len(payload) % 4)))["exp"]
    assert isinstance(ends, int), "by this Gravitino's client knows when to ask again"
    assert ask(server, f"{header}.{payload}.{token[:-1]}x").status_code == 401
    assert ask(server, f"{header}.{payload}.{user.token}").json()["name"] == user.name
    assert body["access_token"] not in server.lines()
    listed = ask(server, user.token, TOKENS).json()["tokens"]
    assert [one["prefix"] for one in listed] == [user.prefix], "what is issued is not in the list"


def test_the_header_takes_the_credentials_too(server: Lanceway, user: User) -> None:
    answer = httpx.post(
        f"{server.address}{PATH}",
        data={"grant_type": "client_credentials"},
        auth=(user.name, user.token),
        trust_env=False,
    )
    assert answer.status_code == 200
    both = httpx.post(f"{server.address}{PATH}", data=user.form(), auth=(user.name, user.token), trust_env=False)
    assert (both.status_code, both.json()["error"]) == (400, "invalid_request")


def test_our_own_client_signs_in_so(server: Lanceway, user: User) -> None:
    settings = {"uri": server.uri, "credential": f"{user.name}:{user.token}", "token_uri": f"{server.address}{PATH}"}
    with library.connect("rest", **settings) as catalog:  # type: ignore[attr-defined]
        assert catalog.list_namespaces({"id": []}).namespaces == []


def test_a_wrong_secret_and_an_unknown_user_are_answered_alike(server: Lanceway, user: User) -> None:
    other = User(server, f"other-{uuid.uuid4().hex[:8]}")
    for changed in (
        {"client_id": "no-such-user"},
        {"client_id": "admin"},
        {"client_id": ""},
        {"client_id": user.name.upper()},
        {"client_secret": other.token},
        {"client_secret": user.token[:-1] + ("0" if user.token[-1] != "0" else "1")},
        {"client_secret": user.prefix},
        {"client_secret": "wrong"},
        {"client_secret": ""},
        {"client_id": "no-such-user", "client_secret": f"lw_{'0' * 12}_{'0' * 64}"},
    ):
        refused(user.sign_in(**changed))


def test_tokens_that_ended_and_users_that_are_disabled(server: Lanceway, user: User) -> None:
    user.change("expires_at", 1)
    refused(user.sign_in())
    revoked = User(server, user.name)
    with server.client() as admin:
        admin.delete(f"{TOKENS}/{revoked.prefix}").raise_for_status()
        refused(revoked.sign_in())
        third = User(server, user.name)
        issued = third.sign_in().json()["access_token"]
        admin.post(f"/lanceway/v1/users/{user.name}/disable").raise_for_status()
        refused(third.sign_in())
        assert ask(server, issued).status_code == 401
        admin.post(f"/lanceway/v1/users/{user.name}/enable").raise_for_status()
        assert ask(server, issued).status_code == 200


def test_what_is_issued_ends_with_its_token(server: Lanceway, user: User) -> None:
    issued = user.sign_in().json()["access_token"]
    assert ask(server, issued).status_code == 200
    with server.client() as admin:
        admin.delete(f"{TOKENS}/{user.prefix}").raise_for_status()
    assert ask(server, issued).status_code == 401, "it is revoked with it, from the next request on"
    short = User(server, f"short-{uuid.uuid4().hex[:8]}", expires_in=90)
    answer = short.sign_in().json()
    assert answer["expires_in"] <= 90
    made = httpx.post(
        f"{server.address}{TOKENS}", headers={"authorization": f"Bearer {answer['access_token']}"}, trust_env=False
    ).json()
    assert made["expires_at"] - made["created_at"] <= 90_000, "nor does what is made with it last longer"


def test_what_is_issued_cannot_be_exchanged_again(server: Lanceway, user: User) -> None:
    issued = user.sign_in().json()["access_token"]
    refused(user.sign_in(client_secret=issued))
    refused(user.sign_in(client_secret=issued.rpartition(".")[2]))


def test_an_expired_one_is_refused(server: Lanceway, user: User) -> None:
    issued = user.sign_in().json()["access_token"]
    with sqlite3.connect(server.home / "lake.db", timeout=30) as database:
        prefix = issued.rpartition(".")[2].split("_")[1]
        assert database.execute("UPDATE tokens SET expires_at = 1 WHERE prefix = ?", (prefix,)).rowcount == 1
    assert ask(server, issued).status_code == 401


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "unsupported_grant_type"),
        (b"\xff", "invalid_request"),
        (b'{"grant_type": "client_credentials"}', "invalid_request"),
        (b"grant_type=client_credentials&grant_type=client_credentials", "invalid_request"),
        (b"grant_type=password&username=a&password=b", "unsupported_grant_type"),
        (b"client_id=a&client_secret=b", "unsupported_grant_type"),
        (b"&".join(b"a%d=1" % number for number in range(50)), "invalid_request"),
    ],
)
def test_what_is_no_request_for_a_token(server: Lanceway, body: bytes, error: str) -> None:
    answer = httpx.post(f"{server.address}{PATH}", content=body, trust_env=False)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert httpx.get(f"{server.address}{PATH}", trust_env=False).status_code == 405


# -- Gravitino's simple way ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def simple(whole_run: Run) -> Iterator[Lanceway]:
    server = lanceway.start(whole_run, name="simple", settings="[server]\nsimple_auth = true\nworker = false\n")
    yield server
    assert server.stop() == 0


def believed(server: Lanceway, name: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.address}{ME}", auth=(name, "dummy"), headers=headers, trust_env=False)


def test_a_user_is_believed_only_where_that_is_configured(simple: Lanceway, server: Lanceway) -> None:
    assert simple.printed("SIMPLE AUTHENTICATION IS ON")
    user = User(simple, "believed")
    assert believed(simple, user.name).json() == {"name": "believed", "groups": [], "admin": False, "anonymous": False}
    assert believed(simple, "admin").json()["admin"] is True
    metalake = f"{simple.address}/api/metalakes/lanceway"
    for name, password, status in (("admin", "dummy", 200), ("none", "dummy", 401), ("admin", user.token, 401)):
        assert httpx.get(metalake, auth=(name, password), trust_env=False).status_code == status
    for name in ("no-such-user", "anonymous", ""):
        assert believed(simple, name).status_code == 401
    with simple.client() as admin:
        admin.post("/lanceway/v1/users/believed/disable").raise_for_status()
    assert believed(simple, user.name).status_code == 401
    assert believed(server, "admin").status_code == 401
    assert believed(simple, "admin", host="pages.example").status_code == 403, "a page that leads its name here"
    assert believed(simple, "admin", origin="http://pages.example").status_code == 403


def test_nobody_is_believed_beyond_this_machine() -> None:
    ended = program("up", "--host", "0.0.0.0", LANCEWAY_SERVER__SIMPLE_AUTH="true")
    assert ended.returncode == 1
    assert "simple_auth is on" in ended.stderr


def test_who_has_a_thousand_of_them_is_told_to_wait(server: Lanceway, user: User) -> None:
    assert user.sign_in().status_code == 200
    with sqlite3.connect(server.home / "lake.db", timeout=30) as database:
        database.row_factory = sqlite3.Row
        parent = "SELECT id FROM tokens WHERE prefix = ?"
        row = dict(
            database.execute(
                f"SELECT * FROM tokens WHERE parent_id = ({parent})", (user.prefix.removeprefix("lw_"),)
            ).fetchone()
        )
        row.pop("id")
        columns = ", ".join(row)
        copies = [{**row, "prefix": uuid.uuid4().hex[:12]} for _ in range(999)]
        places = ", ".join(f":{column}" for column in row)
        database.executemany(f"INSERT INTO tokens ({columns}) VALUES ({places})", copies)
    answer = user.sign_in()
    assert (answer.status_code, answer.json()["error"]) == (429, "temporarily_unavailable")
    assert int(answer.headers["retry-after"]) > 0
    refused(user.sign_in(client_secret="lw_wrong"))
