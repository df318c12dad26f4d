"""Users from the command line: listed, shown, disabled, promoted, renamed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.access import tokens
from lanceway.errors import UnauthenticatedError
from lanceway.lake import issuers
from lanceway.lake.store.database import LakeStore, open_store
from tests.cli.conftest import Ended, Run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LakeStore]:
    opened = open_store(f"sqlite:///{tmp_path}/lake.db")
    opened.transact(issuers.register, "acme", "https://login.acme.example")
    yield opened
    opened.close()


@pytest.fixture
def run(bare: Run, store: LakeStore, tmp_path: Path) -> Run:
    return lambda *arguments: bare("users", *arguments, "--uri", f"sqlite:///{tmp_path}/lake.db")


def done(ended: Ended) -> Ended:
    assert ended.code == 0, ended
    return ended


def test_the_life_of_a_user(run: Run, store: LakeStore) -> None:
    assert done(run("create", "root", "--admin", "--json")).json["admin"] is True
    done(run("create", "ada"))
    secret = tokens.create(store, "ada", by="me").secret
    assert "Disabled user ada." in done(run("disable", "ada")).out
    with pytest.raises(UnauthenticatedError, match="'ada' is disabled"):
        tokens.verify(store, secret)
    shown = done(run("show", "ada", "--json")).json
    assert (shown["enabled"], "disabled_at" in shown) == (False, True)
    assert [user["name"] for user in done(run("list", "--disabled", "--json")).json] == ["ada"]
    assert [user["name"] for user in done(run("list", "--enabled", "--json")).json] == ["root"]
    done(run("enable", "ada"))
    assert tokens.verify(store, secret)
    assert done(run("promote", "ada", "--json")).json["admin"] is True
    assert done(run("demote", "ada", "--json")).json["admin"] is False
    assert (
        "Renamed user ada to ada.lovelace, with 0 things of their own."
        in done(run("rename", "ada", "ada.lovelace")).out
    )
    assert tokens.verify(store, secret).token.user == "ada.lovelace"
    done(run("delete", "ada.lovelace"))
    assert run("show", "ada.lovelace").code == 1


def test_pages(run: Run) -> None:
    for name in ("a", "b", "c"):
        done(run("create", name))
    first = done(run("list", "--limit", "2", "--json")).json
    second = done(run("list", "--limit", "2", "--page-token", first["page_token"], "--json")).json
    assert [user["name"] for page in (first, second) for user in page["users"]] == ["a", "b", "c"]


@pytest.mark.parametrize("verb", ["disable", "demote", "delete"])
def test_the_last_admin_stays(run: Run, verb: str) -> None:
    done(run("create", "root", "--admin"))
    ended = run(verb, "root")
    assert ended.code == 1
    assert "last admin who is enabled" in ended.err
    assert done(run("show", "root", "--json")).json["admin"] is True


def test_what_was_typed_yesterday_says_what_to_type(run: Run) -> None:
    assert "is called anna@acme" in run("disable", "anna").err
    assert "Aliases that are known: acme" in run("disable", "anna@elsewhere").err
    assert "Choose a name without @" in run("create", "anna@example.com").err
    assert done(run("disable", "anna@acme", "--json")).json["issuer"] == "acme"


def test_an_issuer_that_has_moved(run: Run) -> None:
    assert done(run("issuers", "--json")).json == [{"alias": "acme", "issuer": "https://login.acme.example"}]
    done(run("issuer", "acme", "https://id.acme.example"))
    assert "https://id.acme.example" in done(run("issuers")).out
    assert run("issuer", "unknown", "https://x").code == 1
