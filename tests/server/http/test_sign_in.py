"""Signing in by a link: from the server's own page, on its own machine, once."""

from __future__ import annotations

import json
import uuid

import httpx

from tests.processes import lanceway as program
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

PATH, ME, TOKENS = "/lanceway/v1/sign-in", "/lanceway/v1/me", "/lanceway/v1/tokens"


def code_of(server: Lanceway, user: str = "admin") -> str:
    """Return the code of a new link."""
    done = program("console", "--home", str(server.home), "--user", user)
    assert done.returncode == 0, done.stderr
    address, _, code = done.stdout.strip().partition("/#/sign-in?code=")
    assert address == server.address
    return code


def sign_in(server: Lanceway, code: object, **headers: str) -> httpx.Response:
    """Send what a page of the server sends; `headers` are others, or no header where one is empty."""
    sent = {"Origin": server.address, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = json.dumps({"code": code})
    with server.client(headers={name: value for name, value in sent.items() if value}) as client:
        return client.post(PATH, content=content)


def test_a_link_gives_a_token_of_its_user_once(server: Lanceway) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    with server.client() as client:
        client.post(TOKENS, json={"user": user}).raise_for_status()
    code = code_of(server, user)
    answer = sign_in(server, code)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    with server.client(headers={"Authorization": f"Bearer {answer.json()['token']}"}) as client:
        assert client.get(ME).json()["name"] == user
    again = sign_in(server, code)
    assert (again.status_code, "lanceway console" in again.json()["error"]) == (401, True)
    log = server.lines()
    assert code not in log
    assert answer.json()["token"] not in log


ELSEWHERE = (
    {"Origin": ""},
    {"Origin": "null"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "none"},
    {"Host": "evil.example", "Origin": "http://evil.example"},
    {"X_Forwarded_For": "203.0.113.9"},
    {"Forwarded": "for=203.0.113.9"},
)


def test_a_code_counts_from_the_servers_own_page_on_its_machine_alone(server: Lanceway) -> None:
    code = code_of(server)
    answers = {str(headers): sign_in(server, code, **headers).status_code for headers in ELSEWHERE}
    assert set(answers.values()) == {403}, answers
    assert sign_in(server, code).status_code == 200, "a refusal does not use it up"


def test_other_requests_are_refused(server: Lanceway) -> None:
    assert sign_in(server, "x" * 201).status_code == 400
    assert sign_in(server, 7).status_code == 400
    assert sign_in(server, "guess").status_code == 401
    assert sign_in(server, "guess", Content_Type="text/plain").status_code in (400, 415)
    with server.client() as client:
        assert client.get(PATH).status_code == 405


def test_links_are_for_users_that_are_there(server: Lanceway) -> None:
    done = program("console", "--home", str(server.home), "--user", "stranger")
    assert (done.returncode, done.stdout) == (1, "")
    assert "stranger" in done.stderr


def test_a_server_that_does_not_run_or_is_not_on_loopback_has_no_link(whole_run: Run) -> None:
    server = lanceway.start(whole_run)
    server.stop()
    done = program("console", "--home", str(server.home))
    assert done.returncode == 1
    assert "Start it with lanceway up" in done.stderr


def test_the_address_of_the_console_is_the_first_that_is_said(server: Lanceway) -> None:
    assert server.printed("console")
    first = next(line for line in server.lines().splitlines() if "8" in line or "http" in line)
    assert "console" in first
    assert f"{server.address}/" in first
