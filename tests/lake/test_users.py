"""Users as rows: their names and those of issuers' users, the last admin, and what goes with a new name."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, text

from lanceway.access import tokens
from lanceway.access import users as accounts
from lanceway.access.users import StillVouchedForError, UserExistsError, UserNotFoundError
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.identifiers import parse
from lanceway.lake import issuers, users
from lanceway.lake.runs import jobs, leases, runs
from lanceway.lake.runs.job_states import CANCELLED, QUEUED, RUNNING
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import runs as run_rows
from lanceway.lake.tree import tables
from lanceway.lake.users import LastAdminError
from tests.lake.conftest import Lake

ACME = "https://login.acme.example"


@pytest.fixture
def acme(store: LakeStore) -> None:
    store.transact(issuers.register, "acme", ACME)


@pytest.mark.parametrize("verb", ["disable", "demote", "delete"])
def test_the_last_enabled_admin_stays(store: LakeStore, verb: str) -> None:
    change = getattr(accounts, verb)
    options = {"by": "me"} if verb == "disable" else {}
    accounts.create(store, "root", by="me", admin=True)
    accounts.create(store, "idle", by="me", admin=True)
    accounts.disable(store, "idle", by="me")
    accounts.create(store, "ada", by="me")
    with pytest.raises(LastAdminError, match="'root' is the last admin who is enabled"):
        change(store, "root", **options)
    assert accounts.find(store, "root").admin
    assert not accounts.find(store, "root").is_disabled
    accounts.enable(store, "idle")
    change(store, "root", **options)
    change(store, "ada", **options)


def test_of_admins_who_disable_each_other_at_once_one_stays(store: LakeStore) -> None:
    """Each transaction looks before the other commits; without a lock both would find another admin."""
    names = [f"admin{number}" for number in range(4)]
    for _ in range(5):
        for name in names:
            if store.read(users.find, name) is None:
                accounts.create(store, name, by="me", admin=True)
            accounts.enable(store, name)
        ready = threading.Barrier(len(names))

        def disable(name: str, ready: threading.Barrier = ready) -> bool:
            ready.wait()
            try:
                accounts.disable(store, name, by="me")
            except LastAdminError:
                return False
            return True

        with ThreadPoolExecutor(len(names)) as threads:
            results = list(threads.map(disable, names))
        assert sorted(results) == [False, True, True, True]
        assert store.read(users.has_admin)


def test_a_second_start_brings_no_deleted_admin_back(store: LakeStore, tmp_path: Any) -> None:
    assert tokens.ensure_admin(store, tmp_path / "token") is not None
    accounts.create(store, "ada", by="admin", admin=True)
    accounts.delete(store, "admin")
    assert tokens.ensure_admin(store, tmp_path / "token") is None
    assert store.read(users.find, "admin") is None


def test_a_token_makes_no_admin_of_one_who_was_demoted(store: LakeStore) -> None:
    for name in ("admin", "ada"):
        accounts.create(store, name, by="me", admin=True)
    accounts.demote(store, "admin")
    assert not tokens.create(store, "admin", by="ada").token.admin


def test_a_disabled_user_gets_no_token_and_is_not_promoted_by_one(store: LakeStore) -> None:
    accounts.create(store, "ada", by="me")
    accounts.disable(store, "ada", by="me")
    with pytest.raises(PermissionDeniedError, match="lanceway users enable ada"):
        tokens.create(store, "ada", by="me", admin=True)
    assert not accounts.find(store, "ada").admin


def test_disabling_twice_keeps_who_did_it_first(store: LakeStore) -> None:
    accounts.create(store, "ada", by="me")
    first = accounts.disable(store, "ada", by="one")
    assert accounts.disable(store, "ada", by="another") == first
    assert (first.disabled_by, first.is_disabled) == ("one", True)


# -- issuers -------------------------------------------------------------------------------------


def test_a_name_with_an_at_needs_an_issuer_that_is_known(store: LakeStore, acme: None) -> None:
    for name in ("ada@example.com", "@acme", "ada@", "ada@acme@elsewhere"):
        with pytest.raises(InvalidInputError, match="without @ for a user of the lake itself"):
            accounts.create(store, name, by="me")
        with pytest.raises(InvalidInputError):
            tokens.create(store, name, by="me")
    assert accounts.create(store, "ada@acme", by="me").issuer == "acme"
    assert accounts.create(store, "ada@example.com@acme", by="me").issuer == "acme"
    assert tokens.create(store, "bob@acme", by="me").token.user == "bob@acme"
    assert accounts.create(store, "ada", by="me").issuer is None


def test_an_alias_stands_for_one_issuer_until_it_is_moved(store: LakeStore, acme: None) -> None:
    store.transact(issuers.register, "acme", ACME)
    with pytest.raises(InvalidInputError, match=f"stands for the issuer {ACME}.*lanceway users issuer acme https://x"):
        store.transact(issuers.register, "acme", "https://x")
    accounts.move_issuer(store, "acme", "https://x")
    store.transact(issuers.register, "acme", "https://x")
    assert accounts.known_issuers(store) == {"acme": "https://x"}


def test_a_disabled_user_of_an_issuer_is_not_let_in_by_a_delete(store: LakeStore, acme: None) -> None:
    accounts.disable(store, "ada@acme", by="me")
    with pytest.raises(StillVouchedForError, match="let in again"):
        accounts.delete(store, "ada@acme")
    accounts.enable(store, "ada@acme")
    accounts.delete(store, "ada@acme")


def test_a_user_that_is_not_there(store: LakeStore, acme: None) -> None:
    for change in (
        partial(accounts.disable, store, "ada", by="me"),
        partial(accounts.promote, store, "ada", by="me"),
        partial(accounts.enable, store, "ada"),
        partial(accounts.delete, store, "ada"),
        partial(tokens.revoke_all, store, "ada", by="me"),
        partial(accounts.rename, store, "ada", "bob"),
    ):
        with pytest.raises(UserNotFoundError, match="is called ada@acme"):
            change()
    with pytest.raises(UserNotFoundError, match="Aliases that are known: acme"):
        accounts.disable(store, "ada@elsewhere", by="me")


# -- names ---------------------------------------------------------------------------------------


def test_what_is_a_users_own_goes_with_its_name(lake: Lake) -> None:
    store = lake.store
    store.transact(issuers.register, "acme", ACME)
    secret = tokens.create(store, "ada", by="me").secret
    lake.do(tables.create, parse("t"), by="ada")
    lake.do(tables.create, parse("u"), by="bob")
    assert accounts.rename(store, "ada", "ada@acme") == ("ada@acme", 1)
    assert tokens.verify(store, secret).token.user == "ada@acme"
    assert accounts.find(store, "ada@acme").issuer == "acme"
    rows = store.read(lambda c: c.execute(text("SELECT name, owner, created_by FROM objects WHERE name <> ''")).all())
    assert sorted(map(tuple, rows)) == [("t", "ada@acme", "ada"), ("u", "bob", "bob")], "history stays as it is"


def test_a_name_without_a_row_hands_on_what_it_owns(lake: Lake) -> None:
    """As issuers' users from before aliases, who needed no row."""
    store = lake.store
    store.transact(issuers.register, "acme", ACME)
    lake.do(tables.create, parse("t"), by="ada")
    accounts.promote(store, "ada@acme", by="me")
    assert accounts.rename(store, "ada", "ada@acme") == ("ada@acme", 1)
    assert store.read(lambda c: c.execute(text("SELECT owner FROM objects WHERE name = 't'")).scalar()) == "ada@acme"


def test_a_new_name_that_is_taken(store: LakeStore) -> None:
    for name in ("ada", "bob"):
        accounts.create(store, name, by="me")
    with pytest.raises(UserExistsError, match="There is a user 'bob' already"):
        accounts.rename(store, "ada", "bob")
    for wanted in ("ada", "anonymous", "a@b", ""):
        with pytest.raises(InvalidInputError):
            accounts.rename(store, "ada", wanted)


def test_the_jobs_and_runs_of_a_deleted_user_are_not_those_of_the_next(store: LakeStore) -> None:
    """Those that have not ended are cancelled: they would run with the rights of whom the name is given next."""
    first = accounts.create(store, "ada", by="root")
    waiting = store.transact(jobs.record, "backfill", "m", "lake", ["t"], {}, by="ada")
    running = store.transact(jobs.claim, "m", "w1", by="worker", lifetime=60_000)
    queued = store.transact(jobs.record, "backfill", "m", "lake", ["u"], {}, by="ada")
    others = store.transact(jobs.record, "backfill", "m", "lake", ["v"], {}, by="bob")
    pipeline = store.transact(leases.ensure, name="nightly")
    store.transact(runs.create, pipeline.id, "k1", by="ada", full=False, graph={})
    assert running is not None
    assert running.key == waiting.key
    accounts.delete(store, "ada")
    accounts.create(store, "ada", by="root")
    known = {key: store.read(jobs.find, key) for key in (running.key, queued.key, others.key)}
    assert {key: row and (row.requested_by, row.state, row.cancelled_by) for key, row in known.items()} == {
        running.key: (f"ada@#{first.id}", RUNNING, "admin"),  # its worker is asked to end
        queued.key: (f"ada@#{first.id}", CANCELLED, "admin"),
        others.key: ("bob", QUEUED, None),
    }
    assert store.read(lambda connection: connection.scalar(select(run_rows.c.started_by))) == f"ada@#{first.id}"
    with pytest.raises(InvalidInputError):
        accounts.create(store, f"ada@#{first.id}", by="root")
