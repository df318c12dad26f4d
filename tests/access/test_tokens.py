"""Tokens: made once, kept as hashes, compared in constant time, expired and revoked by the database's clock."""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import stat
import threading
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from lanceway.access import tokens
from lanceway.access.principal import ADMIN
from lanceway.errors import (
    InvalidInputError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lanceway.lake import tokens as stored_tokens
from lanceway.lake import users
from lanceway.lake.store import backups
from lanceway.lake.store.database import LakeStore, open_store
from tests.lake.lake_helpers import rows
from tests.processes import WARM

SHAPE = re.compile(r"lw_[0-9a-f]{12}_[0-9a-f]{64}")


def change(store: LakeStore, statement: str) -> None:
    store.transact(lambda connection: connection.execute(text(statement)))


def test_a_token_is_known_again(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me", label="ci")
    assert SHAPE.fullmatch(created.secret)
    token = tokens.verify(store, created.secret).token
    assert (token.user, token.admin, token.label, token.created_by) == ("alice", False, "ci", "me")
    assert (token.expires_at, token.revoked_at, token.last_used_at) == (None, None, None)
    assert abs(token.created_at / 1000 - time.time()) < 60


def test_no_two_are_alike(store: LakeStore) -> None:
    secrets = {tokens.create(store, "alice", by="me").secret for _ in range(20)}
    assert (
        len(secrets)
        == len({secret.split("_")[1] for secret in secrets})
        == len({s.split("_")[2] for s in secrets})
        == 20
    )


def test_only_a_hash_is_kept(store: LakeStore, tmp_path: Path) -> None:
    created = tokens.create(store, "alice", by="me")
    secret = created.secret.rpartition("_")[2]
    stored = repr(rows(store))
    assert secret not in stored
    assert hashlib.sha256(created.secret.encode()).hexdigest() in stored


def test_the_secret_is_in_no_repr(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me")
    stored = tokens.verify(store, created.secret)
    for text_ in (repr(created), str(created), repr(stored), repr(tokens.page(store))):
        assert created.secret.rpartition("_")[2] not in text_
        assert hashlib.sha256(created.secret.encode()).hexdigest() not in text_


@pytest.mark.parametrize(
    "spoil",
    [
        lambda secret: secret[:-1] + ("0" if secret[-1] != "0" else "1"),
        lambda secret: secret[:-1],
        lambda secret: secret + "0",
        lambda secret: secret.upper(),
        lambda secret: secret.replace("lw_", "xx_"),
        lambda secret: f"lw_{'0' * 12}_{secret[-64:]}",
        lambda secret: "lw_",
        lambda secret: "",
        lambda secret: f"{secret}\n",
        lambda secret: "lw_\udcff",
        lambda secret: hashlib.sha256(secret.encode()).hexdigest(),
    ],
)
def test_what_is_no_token_is_refused_without_repeating_it(store: LakeStore, spoil: Any) -> None:
    spoiled = spoil(tokens.create(store, "alice", by="me").secret)
    with pytest.raises(UnauthenticatedError, match="not known here") as refused:
        tokens.verify(store, spoiled)
    assert not spoiled or spoiled not in str(refused.value)


def test_a_revoked_token_is_refused(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me")
    other = tokens.create(store, "alice", by="me")
    revoked = tokens.revoke(store, created.token.prefix, by="you")
    assert revoked is not None
    assert revoked.revoked_at is not None
    with pytest.raises(UnauthenticatedError, match=f"lw_{created.token.prefix} was revoked"):
        tokens.verify(store, created.secret)
    assert tokens.verify(store, other.secret).token.prefix == other.token.prefix
    again = tokens.revoke(store, f"lw_{created.token.prefix}", by="another")
    assert again == revoked


def test_whose_token_is_revoked(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me")
    assert tokens.revoke(store, created.token.prefix, by="bob", user="bob") is None
    assert tokens.revoke(store, "0" * 12, by="me") is None
    assert tokens.verify(store, created.secret)


def test_all_tokens_of_a_user_are_revoked(store: LakeStore) -> None:
    alice, bob = ([tokens.create(store, name, by="me") for _ in range(2)] for name in ("alice", "bob"))
    assert tokens.revoke_all(store, "alice", by="me") == 2
    assert tokens.revoke_all(store, "alice", by="me") == 0
    for token in alice:
        with pytest.raises(UnauthenticatedError, match="was revoked"):
            tokens.verify(store, token.secret)
    assert [tokens.verify(store, token.secret).token.user for token in bob] == ["bob", "bob"]
    with pytest.raises(InvalidInputError, match="no user 'carol'"):
        tokens.revoke_all(store, "carol", by="me")


def test_a_token_ends_with_the_one_that_it_was_made_with(store: LakeStore) -> None:
    maker = tokens.create(store, "alice", by="me", lifetime=timedelta(hours=1)).token
    assert maker.expires_at is not None
    for lifetime in (None, timedelta(days=1)):
        made = tokens.create(store, "alice", by="alice", lifetime=lifetime, until=maker.expires_at).token
        assert (made.expires_at or 0) // 1000 <= maker.expires_at // 1000 + 1  # two readings of a clock
        assert made.expires_at is not None
    short = tokens.create(store, "alice", by="alice", lifetime=timedelta(minutes=1), until=maker.expires_at).token
    assert (short.expires_at or maker.expires_at) < maker.expires_at
    with pytest.raises(UnauthenticatedError, match="expired"):
        tokens.create(store, "alice", by="alice", until=1)


def test_a_whole_token_is_no_prefix_and_is_not_repeated(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me")
    for secret in (created.secret, created.secret[:-3]):
        with pytest.raises(InvalidInputError) as refused:
            tokens.revoke(store, secret, by="me")
        assert secret not in str(refused.value)
    assert tokens.verify(store, created.secret)


def test_a_token_expires_by_the_databases_clock(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me", lifetime=timedelta(days=30))
    token = tokens.verify(store, created.secret).token
    assert token.expires_at is not None
    assert token.expires_at - token.created_at == 30 * 24 * 3600 * 1000
    change(store, f"UPDATE tokens SET expires_at = {token.created_at}")
    with pytest.raises(UnauthenticatedError, match="has expired"):
        tokens.verify(store, created.secret)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=-1), timedelta(days=365 * 200)])
def test_a_life_that_is_none(store: LakeStore, lifetime: timedelta) -> None:
    with pytest.raises(InvalidInputError, match="at least a second"):
        tokens.create(store, "alice", by="me", lifetime=lifetime)
    assert rows(store)["users"] == []


@pytest.mark.parametrize("user", ["", "anonymous", "a\nb", "x" * 300, "a\x00b", "\ud800"])
def test_a_user_that_cannot_be(store: LakeStore, user: str) -> None:
    with pytest.raises(InvalidInputError):
        tokens.create(store, user, by="me")
    assert rows(store)["users"] == []


@pytest.mark.parametrize("label", ["x" * 300, "a\nb", "\x1b[31m"])
def test_a_label_that_cannot_be(store: LakeStore, label: str) -> None:
    with pytest.raises(InvalidInputError, match="label"):
        tokens.create(store, "alice", by="me", label=label)


def test_nobody_becomes_an_admin_by_a_token_for_one(store: LakeStore) -> None:
    tokens.create(store, "root", by="me", admin=True)
    for user in ("root", ADMIN):
        with pytest.raises(PermissionDeniedError, match="is an admin here"):
            tokens.create(store, user, by=user, above=False)
    assert len(tokens.page(store)) == 1
    assert store.read(lambda connection: users.find(connection, ADMIN)) is None


def test_a_user_becomes_an_admin_and_all_its_tokens_with_it(store: LakeStore) -> None:
    first = tokens.create(store, "alice", by="me")
    assert not tokens.verify(store, first.secret).token.admin
    tokens.create(store, "alice", by="me", admin=True)
    assert tokens.verify(store, first.secret).token.admin


def test_a_database_that_fails_says_nothing_of_the_token(
    store: LakeStore, uri: str, caplog: pytest.LogCaptureFixture
) -> None:
    created = tokens.create(store, "alice", by="me")
    change(store, "ALTER TABLE tokens RENAME TO elsewhere")
    with caplog.at_level(logging.ERROR), pytest.raises(ServiceUnavailableError, match="cannot be checked") as refused:
        tokens.verify(store, created.secret)
    assert "127.0.0.1" not in str(refused.value)
    assert "lake.db" not in str(refused.value)
    assert created.secret not in caplog.text
    assert "A token cannot be checked" in caplog.text


def test_a_log_keeps_the_prefix_alone(store: LakeStore) -> None:
    secret = tokens.create(store, "alice", by="me").secret
    assert tokens.without_secrets(f"/a/{secret}/b?{secret}") == f"/a/{secret[:15]}_***/b?{secret[:15]}_***"
    assert tokens.without_secrets("/v1/table/lw_a$b") == "/v1/table/lw_a$b"


# -- lists ---------------------------------------------------------------------------------------


def test_lists(store: LakeStore) -> None:
    created = [tokens.create(store, user, by="me").token for user in ("bob", "alice", "bob", "carol")]
    tokens.revoke(store, created[2].prefix, by="me")
    assert [token.prefix for token in tokens.page(store)] == [created[n].prefix for n in (0, 1, 3)]
    assert [token.prefix for token in tokens.page(store, dead=True)] == [token.prefix for token in created]
    assert [token.prefix for token in tokens.page(store, user="bob")] == [created[0].prefix]
    change(store, f"UPDATE tokens SET expires_at = 1 WHERE id = {created[0].id}")
    assert tokens.page(store, user="bob") == []
    assert len(tokens.page(store, user="bob", dead=True)) == 2


def test_pages_are_complete_though_tokens_come_and_go(store: LakeStore) -> None:
    created = [tokens.create(store, "alice", by="me").token for _ in range(7)]
    listed: list[str] = []
    page_token: str | None = None
    while True:
        page, page_token = tokens.described_page(store, user=None, dead=False, limit=2, page_token=page_token)
        listed += [item["prefix"] for item in page]
        tokens.revoke(store, page[0]["prefix"], by="me")
        if not page_token:
            break
    assert listed == [f"lw_{token.prefix}" for token in created]


def test_a_page_token_of_another_list(store: LakeStore) -> None:
    for _ in range(3):
        tokens.create(store, "alice", by="me")
    _, page_token = tokens.described_page(store, user="alice", dead=False, limit=1, page_token=None)
    assert page_token
    with pytest.raises(InvalidInputError, match="does not belong to this list"):
        tokens.described_page(store, user="bob", dead=False, limit=1, page_token=page_token)


# -- the first one -------------------------------------------------------------------------------


def test_the_first_admin_and_its_file(store: LakeStore, tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    secret = tokens.ensure_admin(store, file)
    assert secret is not None
    assert file.read_text() == f"{secret}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = tokens.verify(store, secret).token
    assert (token.user, token.admin) == (ADMIN, True)
    assert tokens.ensure_admin(store, tmp_path / "other") is None
    assert not (tmp_path / "other").exists()
    assert [path.name for path in tmp_path.iterdir() if "admin" in path.name] == ["admin-token"]


def test_a_file_that_cannot_be_written_leaves_no_admin(store: LakeStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written"):
        tokens.ensure_admin(store, tmp_path / "none" / "admin-token")
    assert rows(store)["users"] == rows(store)["tokens"] == []
    assert tokens.ensure_admin(store, tmp_path / "admin-token") is not None


def test_a_file_that_a_crash_left_is_written_anew(store: LakeStore, tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    file.write_text("lw_of_a_start_that_failed\n")
    file.chmod(0o644)
    secret = tokens.ensure_admin(store, file)
    assert file.read_text() == f"{secret}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def _start(uri: str, file: Path, ready: Any, answers: Any) -> None:
    store = open_store(uri)
    ready.wait()
    answers.put((tokens.ensure_admin(store, file), file.exists()))
    store.close()


@pytest.mark.slow
def test_many_servers_start_and_one_makes_it(uri: str, tmp_path: Path) -> None:
    open_store(uri).close()
    ready, answers = WARM.Barrier(4), WARM.Queue()
    file = tmp_path / "admin-token"
    servers = [WARM.Process(target=_start, args=(uri, file, ready, answers)) for _ in range(4)]
    for server in servers:
        server.start()
    results = [answers.get(timeout=120) for _ in servers]
    for server in servers:
        server.join()
    [secret] = [secret for secret, _ in results if secret is not None]
    assert all(there for _, there in results)
    assert file.read_text() == f"{secret}\n"
    store = open_store(uri)
    assert tokens.verify(store, secret)
    assert len(tokens.page(store, dead=True)) == 1
    store.close()


def test_homes_of_their_own_on_one_database_make_one(store: LakeStore, tmp_path: Path) -> None:
    ready = threading.Barrier(6)
    secrets: list[str | None] = []

    def start(number: int) -> None:
        ready.wait()
        secrets.append(tokens.ensure_admin(store, tmp_path / f"token{number}"))

    threads = [threading.Thread(target=start, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [made] = [secret for secret in secrets if secret]
    assert len(secrets) == 6
    [file] = tmp_path.glob("token*")
    assert file.read_text() == f"{made}\n"


# -- with the lake -------------------------------------------------------------------------------


def test_a_backup_carries_users_and_tokens(store: LakeStore, tmp_path: Path) -> None:
    created = tokens.create(store, "alice", by="me", lifetime=timedelta(days=1))
    counts = backups.backup(store, tmp_path / "b")
    assert (counts["users"], counts["tokens"]) == (1, 1)
    other = LakeStore(f"sqlite:///{tmp_path}/other.db")
    backups.restore(other, tmp_path / "b")
    assert tokens.verify(other, created.secret).token == created.token
    assert tokens.create(other, "alice", by="me").token.id > created.token.id
    other.close()


def test_a_restore_may_revoke_them(store: LakeStore, tmp_path: Path) -> None:
    created = tokens.create(store, "alice", by="me")
    backups.backup(store, tmp_path / "b")
    other = LakeStore(f"sqlite:///{tmp_path}/other.db")
    backups.restore(other, tmp_path / "b", finish=partial(stored_tokens.revoke_all, user=None, by="me"))
    with pytest.raises(UnauthenticatedError, match="was revoked"):
        tokens.verify(other, created.secret)
    other.close()


def test_a_store_of_another_process_knows_it_too(store: LakeStore) -> None:
    created = tokens.create(store, "alice", by="me")
    other = pickle.loads(pickle.dumps(store))
    assert tokens.verify(other, created.secret).token.user == "alice"
    other.close()
