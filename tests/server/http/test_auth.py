"""Who asks, over HTTP: refused with a challenge, let in by every kind of credential, and never written down."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lanceway.access import tokens
from lanceway.lake.store.database import open_store
from tests.access.issuer import AUDIENCE, STRANGER, Issuer
from tests.processes import lanceway as program
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

LIST, ME = "/lance/v1/namespace/$/list", "/lanceway/v1/me"
CHALLENGE, WRONG = 'Bearer realm="lanceway"', 'Bearer realm="lanceway", error="invalid_token"'


def get(server: Lanceway, path: str, headers: Any = None) -> httpx.Response:
    return httpx.get(f"{server.address}{path}", headers=headers or {}, timeout=60, trust_env=False)


def token_of(server: Lanceway, user: str) -> str:
    store = open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)
    try:
        return tokens.create(store, user, by="me").secret
    finally:
        store.close()


@pytest.mark.parametrize("path", [LIST, ME, "/lanceway/v1/tokens", "/lance/v1/nothing", "/lanceway/v1/nothing"])
def test_who_says_nothing_is_refused(server: Lanceway, path: str) -> None:
    answer = get(server, path)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, CHALLENGE)
    body = answer.json()
    assert (body["code"], body["instance"]) == (16, answer.headers["x-request-id"])
    assert "Authorization: Bearer" in body["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer lw_000000000000_wrong"},
        {"authorization": f"Bearer lw_{'0' * 12}_{'0' * 64}"},
        {"authorization": "Basic YWRtaW46YWRtaW4="},
        {"authorization": "Bearer a.b.c"},
        {"x-api-key": "wrong"},
        {"authorization": "Bearer", "x-api-key": ""},
        [("authorization", "Bearer a"), ("authorization", "Bearer b")],
        {"authorization": b"Bearer \xff\xfe"},
    ],
)
def test_wrong_credentials_are_refused(server: Lanceway, headers: Any) -> None:
    answer = get(server, LIST, headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, WRONG)
    assert answer.json()["code"] == 16


def test_every_way_in(server: Lanceway) -> None:
    alice = token_of(server, "alice")
    for headers in ({"Authorization": f"Bearer {alice}"}, {"X-API-Key": alice}):
        assert get(server, LIST, headers).status_code == 200
        assert get(server, ME, headers).json() == {"name": "alice", "groups": [], "admin": False, "anonymous": False}
    assert get(server, ME, server.headers).json() == {"name": "admin", "groups": [], "admin": True, "anonymous": False}


def test_health_asks_nobody(server: Lanceway) -> None:
    assert [get(server, path).status_code for path in ("/health", "/ready")] == [200, 200]


def test_the_log_names_the_user_and_no_token(server: Lanceway) -> None:
    carol = token_of(server, "carol")
    bearer = {"Authorization": f"Bearer {carol}"}
    get(server, ME, {**bearer, "x-request-id": "carol-was-here"})
    get(server, f"/lanceway/v1/tokens/{carol}", bearer)
    get(server, f"/lance/v1/table/{carol}/describe?token={carol}", bearer)
    last = get(server, ME, {"Authorization": f"Bearer {carol}x"})
    server.logged(last.headers["x-request-id"])
    lines = server.lines()
    assert server.logged("carol-was-here")["user"] == "carol"
    assert carol not in lines
    assert server.token not in lines
    assert carol.rpartition("_")[2] not in lines


def test_no_process_has_the_token_on_its_command_line(server: Lanceway) -> None:
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "lanceway up" in shown
    assert server.token not in shown


# -- an issuer -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


@pytest.fixture(scope="module")
def trusting(whole_run: Run, issuer: Issuer) -> Iterator[Lanceway]:
    """A server that trusts the issuer."""
    settings = (
        f'[server]\noidc_issuer = "{issuer.name}"\noidc_audience = "{AUDIENCE}"\n'
        f'oidc_jwks_uri = "{issuer.jwks_uri}"\noidc_leeway = 5\n'
    )
    started = lanceway.start(whole_run, name="trusting", settings=settings)
    yield started
    started.stop()


def test_an_issuers_token(trusting: Lanceway, issuer: Issuer) -> None:
    signed = {"Authorization": f"Bearer {issuer.sign(groups=['readers'])}"}
    assert get(trusting, LIST, signed).status_code == 200
    assert get(trusting, ME, signed).json() == {
        "name": "alice@127.0.0.1",
        "groups": ["readers@127.0.0.1"],
        "admin": False,
        "anonymous": False,
    }


@pytest.mark.parametrize(("lifetime", "status"), [(0, 403), (3600, 201)])
def test_tokens_that_an_issuers_user_makes(whole_run: Run, issuer: Issuer, lifetime: int, status: int) -> None:
    settings = (
        f'[server]\noidc_issuer = "{issuer.name}"\noidc_audience = "{AUDIENCE}"\n'
        f'oidc_jwks_uri = "{issuer.jwks_uri}"\noidc_token_lifetime = {lifetime}\n'
    )
    server = lanceway.start(whole_run, name=f"tokens-{lifetime}", settings=settings)
    try:
        signed = {"Authorization": f"Bearer {issuer.sign()}"}
        address = f"{server.address}/lanceway/v1/tokens"
        response = httpx.post(address, json={"expires_in": 10**6}, headers=signed, timeout=60, trust_env=False)
    finally:
        server.stop()
    assert response.status_code == status, response.text
    made = response.json()
    if lifetime:
        assert made["expires_at"] == made["created_at"] + 1000 * lifetime
    else:
        assert "oidc_token_lifetime" in made["error"]


def test_what_an_issuer_did_not_sign(trusting: Lanceway, issuer: Issuer) -> None:
    for signed in (issuer.sign(STRANGER), issuer.sign(aud="other"), issuer.sign(iss="other"), issuer.sign(exp=1)):
        answer = get(trusting, LIST, {"Authorization": f"Bearer {signed}"})
        assert (answer.status_code, answer.json()["code"], answer.headers["www-authenticate"]) == (401, 16, WRONG)
        trusting.logged(answer.headers["x-request-id"])
        assert signed not in answer.text + trusting.lines()


def test_an_issuer_that_is_silent_holds_up_nobody_else(whole_run: Run) -> None:
    """Many wait for its keys; a token of our own is answered meanwhile, and those who wait get 17."""
    with Issuer() as silent:
        settings = (
            f'[server]\noidc_issuer = "{silent.name}"\noidc_audience = "{AUDIENCE}"\n'
            f'oidc_jwks_uri = "{silent.jwks_uri}"\n'
        )
        started = lanceway.start(whole_run, name="waiting", settings=settings)
        silent.silent.set()
        answers: list[httpx.Response] = []
        signed = {"Authorization": f"Bearer {silent.sign()}"}
        waiting = [threading.Thread(target=lambda: answers.append(get(started, LIST, signed))) for _ in range(20)]
        for thread in waiting:
            thread.start()
        while not silent.asked:
            time.sleep(0.01)
        assert get(started, LIST, started.headers).status_code == 200
        assert answers == []
        for thread in waiting:
            thread.join()
        assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(503, 17)] * 20
        assert all("retry-after" in answer.headers for answer in answers)
        started.stop()


# -- anonymous -----------------------------------------------------------------------------------


def test_nobody_in_particular(whole_run: Run) -> None:
    open_ = lanceway.start(whole_run, name="open", arguments=("--anonymous",))
    assert get(open_, LIST).status_code == 200
    assert get(open_, ME).json() == {"name": "anonymous", "groups": [], "admin": False, "anonymous": True}
    assert get(open_, "/lanceway/v1/tokens").status_code == 401
    assert get(open_, LIST, {"x-api-key": "wrong"}).status_code == 401
    assert get(open_, ME, open_.headers).json()["name"] == "admin"
    assert open_.printed("ANONYMOUS ACCESS IS ON")
    open_.stop()


def test_it_does_not_listen_to_everybody_by_mistake(tmp_path: Path) -> None:
    done = program("up", "--home", str(tmp_path / "home"), "--port", "0", "--anonymous", "--host", "0.0.0.0")
    assert done.returncode == 1
    assert "allow_public_anonymous" in done.stderr
    assert not (tmp_path / "home").exists()


def test_the_rights_of_a_group_that_an_issuer_names(trusting: Lanceway, issuer: Issuer) -> None:
    """A role of the group opens a table to a user whom the issuer says to be in it, as long as it says so."""
    with trusting.client() as admin:
        for path, body in (
            ("/lance/v1/namespace/lake$shelf/create", {}),
            ("/lance/v1/table/lake$shelf$books/declare", {}),
            ("/lanceway/v1/groups", {"name": "readers@127.0.0.1"}),
            ("/lanceway/v1/roles", {"name": "reader"}),
            ("/lanceway/v1/roles/reader/give", {"group": "readers@127.0.0.1"}),
        ):
            admin.post(path, json=body).raise_for_status()
        grants = (("lake", "USE_CATALOG"), ("lake$shelf", "USE_SCHEMA"), ("lake$shelf$books", "SELECT_TABLE"))
        changes = [{"role": "reader", "object": place, "privilege": privilege} for place, privilege in grants]
        admin.post("/lanceway/v1/grants", json={"changes": changes}).raise_for_status()

    def read(*groups: str) -> httpx.Response:
        signed = {"Authorization": f"Bearer {issuer.sign(groups=list(groups))}"}
        with trusting.client(headers=signed) as client:
            return client.post("/lance/v1/table/lake$shelf$books/describe", json={})

    for _ in range(2):  # what was decided for one token is not what holds for the next
        assert read("others", "readers").status_code == 200
        for groups in ((), ("others",), ("readers@127.0.0.1",), ("Readers",)):
            answer = read(*groups)
            assert (answer.status_code, answer.json()["code"]) == (403, 15), groups
            assert "alice@127.0.0.1 may not see a table" in answer.json()["error"]
