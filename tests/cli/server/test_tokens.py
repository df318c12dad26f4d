"""Tokens from the command line: made and shown once, listed by prefix, revoked; never given as an argument."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from lanceway.access import tokens
from lanceway.errors import UnauthenticatedError
from lanceway.lake.store.database import LakeStore, open_store
from tests.cli.conftest import Ended, Run
from tests.servers.postgres import Postgres

SHAPE = re.compile(r"lw_[0-9a-f]{12}_[0-9a-f]{64}")
DAY = 24 * 3600 * 1000


@pytest.fixture(autouse=True)
def _no_server_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE", "WAREHOUSE", "SEPARATOR", "SEPARATOR_POLICY", "SERVER__HOME", "SERVER__DATABASE"):
        monkeypatch.delenv(f"LANCEWAY_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home 100%?"


@pytest.fixture
def store(home: Path) -> Iterator[LakeStore]:
    """The lake of a home, whose name needs care in a uri."""
    home.mkdir()
    uri = f"sqlite:///{home}/lake.db".replace("%", "%25").replace("?", "%3F")
    opened = open_store(uri)
    yield opened
    opened.close()


@pytest.fixture
def run(bare: Run, home: Path, store: LakeStore) -> Run:
    """`lanceway tokens …` on the test's own home, which must succeed."""

    def run_(*arguments: str) -> Ended:
        ended = bare("tokens", *arguments, "--home", str(home))
        assert ended.code == 0, ended
        return ended

    return run_


def test_a_token_is_printed_alone(run: Run, store: LakeStore) -> None:
    made = run("create", "alice")
    secret = made.out.removesuffix("\n")
    assert SHAPE.fullmatch(secret)
    assert "(never expires). It will not be shown again" in made.err
    assert tokens.verify(store, secret).token.user == "alice"


def test_for_programs(run: Run, store: LakeStore) -> None:
    made = run("create", "alice", "--label", "ci", "--expires", "30d", "--json").json
    assert SHAPE.fullmatch(made["token"])
    assert made["token"].startswith(made["prefix"])
    assert (made["user"], made["label"], made["expires_at"] - made["created_at"]) == ("alice", "ci", 30 * DAY)


@pytest.mark.parametrize(
    ("given", "milliseconds"), [("90s", 90_000), ("30m", 1_800_000), ("12h", DAY // 2), ("1d", DAY), ("2w", 14 * DAY)]
)
def test_times_to_live(run: Run, given: str, milliseconds: int) -> None:
    made = run("create", "alice", "--expires", given, "--json").json
    assert made["expires_at"] - made["created_at"] == milliseconds


@pytest.mark.parametrize("given", ["", "30", "d", "30 d", "-1d", "1y", "1.5d", "999999999w", "٣d"])
def test_a_time_that_is_none(bare: Run, home: Path, store: LakeStore, given: str) -> None:
    ended = bare("tokens", "create", "alice", "--expires", given, "--home", str(home))
    assert (ended.code, ended.out) == (2, "")
    assert "such as 30d" in ended.err


@pytest.mark.parametrize("given", ["0s", "999999999d"])
def test_a_time_too_short_or_too_long(bare: Run, home: Path, store: LakeStore, given: str) -> None:
    ended = bare("tokens", "create", "alice", "--expires", given, "--home", str(home))
    assert ended.code in (1, 2)
    assert tokens.page(store) == []


def test_an_admin(run: Run, store: LakeStore) -> None:
    first = run("create", "alice").out.strip()
    assert not tokens.verify(store, first).token.admin
    run("create", "alice", "--admin")
    assert tokens.verify(store, first).token.admin
    assert tokens.verify(store, run("create", "admin").out.strip()).token.admin


def test_a_list_has_prefixes_and_no_secrets(run: Run) -> None:
    secrets = [run("create", user, "--label", f"of {user}").out.strip() for user in ("alice", "bob")]
    shown = run("list").out
    for secret in secrets:
        assert secret[:15] in shown
        assert secret.rpartition("_")[2] not in shown
    listed = run("list", "--json").json
    assert [(item["prefix"], item["user"]) for item in listed] == [(secrets[0][:15], "alice"), (secrets[1][:15], "bob")]
    assert [item["user"] for item in run("list", "--user", "bob", "--json").json] == ["bob"]
    assert run("list", "--user", "nobody").out == "Nothing found.\n"


def test_pages(run: Run) -> None:
    made = [run("create", "alice", "--json").json["prefix"] for _ in range(3)]
    first = run("list", "--limit", "2", "--json").json
    second = run("list", "--limit", "2", "--page-token", first["page_token"], "--json").json
    assert [item["prefix"] for page in (first, second) for item in page["tokens"]] == made
    assert second["page_token"] is None


def test_a_long_list_is_whole(run: Run, store: LakeStore) -> None:
    first = tokens.create(store, "alice", by="me").token
    copy = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) "
        "INSERT INTO tokens (user_id, prefix, hash, created_by, created_at) "
        f"SELECT user_id, printf('%012x', i), 'x', 'me', 1 FROM tokens, n WHERE tokens.id = {first.id}"
    )
    store.transact(lambda connection: connection.execute(text(copy)))
    listed = run("list", "--json").json
    assert len({item["prefix"] for item in listed}) == len(listed) == 2501


def test_revoke(run: Run, store: LakeStore) -> None:
    kept, gone = (run("create", "alice").out.strip() for _ in range(2))
    assert run("revoke", gone[:15]).out == f"Revoked token {gone[:15]} of alice.\n"
    with pytest.raises(UnauthenticatedError, match="was revoked"):
        tokens.verify(store, gone)
    assert tokens.verify(store, kept)
    assert [item["prefix"] for item in run("list", "--json").json] == [kept[:15]]
    everything = run("list", "--all", "--json").json
    assert [("revoked_at" in item, item["prefix"]) for item in everything] == [(False, kept[:15]), (True, gone[:15])]
    assert "revoked" in run("list", "--all").out


def test_revoke_all_of_a_user(run: Run, store: LakeStore) -> None:
    secrets = [tokens.create(store, name, by="me").secret for name in ("alice", "alice", "bob")]
    assert run("revoke", "--user", "alice").out == "Revoked 2 tokens of alice.\n"
    assert run("revoke", "--user", "alice", "--json").json == {"user": "alice", "revoked": 0}
    for secret in secrets[:2]:
        with pytest.raises(UnauthenticatedError, match="was revoked"):
            tokens.verify(store, secret)
    assert tokens.verify(store, secrets[2]).token.user == "bob"


def test_what_cannot_be_revoked(bare: Run, run: Run, home: Path, store: LakeStore) -> None:
    secret = run("create", "alice").out.strip()
    missing = bare("tokens", "revoke", "lw_000000000000", "--home", str(home))
    assert (missing.code, "There is no token lw_000000000000" in missing.err) == (1, True)
    whole = bare("tokens", "revoke", secret, "--home", str(home))
    assert (whole.code, f"Give its prefix alone: {secret[:15]} " in whole.err) == (1, True)
    assert secret not in whole.err + whole.out
    assert tokens.verify(store, secret)


# -- which server --------------------------------------------------------------------------------


def test_the_usual_home(bare: Run, tmp_path: Path) -> None:
    ended = bare("tokens", "list")
    assert (ended.code, f"{tmp_path}/me/.lanceway" in ended.err) == (2, True)
    assert not (tmp_path / "me").exists()
    (tmp_path / "me" / ".lanceway").mkdir(parents=True)
    open_store(f"sqlite:///{tmp_path}/me/.lanceway/lake.db").close()
    assert bare("tokens", "list", "--json").json == []


def test_the_configuration_and_the_environment(bare: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("file", "variable", "option", "namespace"):
        opened = open_store(f"sqlite:///{tmp_path}/{name}.db")
        tokens.create(opened, name, by="me")
        opened.close()

    def seen(*arguments: str, before: tuple[str, ...] = ()) -> list[str]:
        return [item["user"] for item in bare(*before, "tokens", "list", "--json", *arguments).json]

    (tmp_path / "lanceway.toml").write_text(
        f'[server]\ndatabase = "sqlite:///{tmp_path}/file.db"\n'
        f'[namespaces.n]\ntype = "lake"\nuri = "sqlite:///{tmp_path}/namespace.db"\n'
    )
    assert seen() == ["file"]
    monkeypatch.setenv("LANCEWAY_DATABASE", f"sqlite:///{tmp_path}/variable.db")
    assert seen() == ["variable"]
    assert seen("--uri", f"sqlite:///{tmp_path}/option.db") == ["option"]
    assert seen(before=("--in", "n")) == ["namespace"]


def test_on_postgresql(bare: Run, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = postgres.schema()
    monkeypatch.setenv("LANCEWAY_DATABASE", postgres.uri(schema))
    open_store(postgres.uri(schema)).close()
    made = json.loads(bare("tokens", "create", "alice", "--json").out)
    assert [item["prefix"] for item in bare("tokens", "list", "--json").json] == [made["prefix"]]
    assert bare("tokens", "revoke", made["prefix"]).code == 0
    assert bare("tokens", "list", "--json").json == []
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
