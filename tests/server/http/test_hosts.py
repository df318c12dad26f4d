"""Which names a server answers to: a web page whose name leads to this machine gets nothing from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.server_helpers import refused
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

LIST, ME = "/lance/v1/namespace/%24/list", "/lanceway/v1/me"
OWN = "lance.example.com"


@pytest.fixture(scope="module")
def open_(whole_run: Run) -> Iterator[Lanceway]:
    """A server that asks nobody who they are, and has one name besides those of this machine."""
    server = lanceway.start(
        whole_run, arguments=("--anonymous",), settings=f'[server]\nallowed_hosts = ["{OWN.upper()}"]\n'
    )
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def local(whole_run: Run) -> Iterator[Lanceway]:
    """One that was told of no names."""
    server = lanceway.start(whole_run, arguments=("--anonymous",))
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("host", ["localhost", "LocalHost.:1", "127.0.0.1:8400", "127.8.9.1", "[::1]", "[::1]:8400"])
def test_names_of_this_machine_are_answered(local: Lanceway, host: str) -> None:
    with local.client(headers={"host": host}) as client:
        assert client.get(LIST).status_code == 200
        assert client.get(ME).json()["anonymous"]


@pytest.mark.parametrize(
    "host", ["pages.example", "pages.example:8400", "localhost.pages.example", "127.0.0.1.pages.example", "", OWN]
)
def test_other_names_are_not(local: Lanceway, host: str) -> None:
    with local.client(headers={"host": host}) as client:
        for page in (LIST, ME):
            assert refused(client.get(page)) == (403, 15)
        assert client.get("/health").status_code == 200, "what looks after a server has names of its own for it"


def test_a_name_that_was_allowed_is(open_: Lanceway) -> None:
    for host, status in ((OWN, 200), (f"{OWN}:443", 200), ("localhost", 200), ("pages.example", 403)):
        with open_.client(headers={"host": host}) as client:
            assert client.get(LIST).status_code == status


def test_a_token_is_answered_under_any_name(server: Lanceway) -> None:
    with server.client(headers={**server.headers, "host": "pages.example"}) as client:
        assert client.get(LIST).status_code == 200
