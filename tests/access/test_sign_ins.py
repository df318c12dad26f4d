"""Codes of links that sign in: good once, for ten minutes of the database's clock, and kept as hashes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, text

from lanceway.access import issuing, tokens, users
from lanceway.access.issuing import UnknownCodeError
from lanceway.access.users import UserNotFoundError
from lanceway.errors import PermissionDeniedError
from lanceway.lake.store import backups
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import sign_in_codes

HALF_A_DAY = 12 * 3_600_000


@pytest.fixture
def ada(store: LakeStore) -> str:
    tokens.create(store, "ada", by="admin", admin=True)
    tokens.create(store, "bob", by="admin")
    return "bob"


def test_a_code_signs_in_once(store: LakeStore, ada: str) -> None:
    code = issuing.create_code(store, ada, by="ada")
    session = issuing.redeem_code(store, code)
    token = tokens.verify(store, session.secret).token
    assert (token.user, token.label, token.created_by) == (ada, "console", "ada")
    assert (token.expires_at or 0) - token.created_at == HALF_A_DAY
    with pytest.raises(UnknownCodeError, match="lanceway console"):
        issuing.redeem_code(store, code)


def test_of_many_at_once_one_signs_in(store: LakeStore, ada: str) -> None:
    code = issuing.create_code(store, ada, by="ada")

    def try_() -> str:
        try:
            return issuing.redeem_code(store, code).token.user
        except UnknownCodeError:
            return "refused"

    with ThreadPoolExecutor(8) as pool:
        outcomes = Counter(future.result() for future in [pool.submit(try_) for _ in range(8)])
    assert outcomes == {ada: 1, "refused": 7}


def test_a_code_is_256_random_bits_and_only_its_hash_is_stored(store: LakeStore, ada: str) -> None:
    codes = {issuing.create_code(store, ada, by="ada") for _ in range(20)}
    assert {len(code) for code in codes} == {43}  # of 6 bits each: 256 and two that are 0
    stored = store.read(lambda connection: connection.execute(select(sign_in_codes)).all())
    assert {row.hash for row in stored} == {tokens.hash_of(code) for code in codes}
    assert not any(code in repr(stored) for code in codes)


def test_a_code_ends_after_ten_minutes_and_is_forgotten(store: LakeStore, ada: str) -> None:
    code = issuing.create_code(store, ada, by="ada")
    row = store.read(lambda connection: connection.execute(select(sign_in_codes)).one())
    assert row.expires_at - row.created_at == 600_000
    past = text("UPDATE sign_in_codes SET expires_at = created_at - 1")
    store.transact(lambda connection: connection.execute(past))
    with pytest.raises(UnknownCodeError):
        issuing.redeem_code(store, code)
    issuing.create_code(store, ada, by="ada")
    assert len(store.read(lambda connection: connection.execute(select(sign_in_codes)).all())) == 1


def test_codes_are_for_users_that_are_there_and_enabled(store: LakeStore, ada: str) -> None:
    with pytest.raises(UserNotFoundError):
        issuing.create_code(store, "stranger", by="ada")
    code = issuing.create_code(store, ada, by="ada")
    users.disable(store, ada, by="ada")
    with pytest.raises(UnknownCodeError):
        issuing.redeem_code(store, code)
    with pytest.raises(PermissionDeniedError, match="disabled"):
        issuing.create_code(store, ada, by="ada")


def test_who_loses_all_tokens_loses_the_codes_too(store: LakeStore, ada: str) -> None:
    code = issuing.create_code(store, ada, by="ada")
    other = issuing.create_code(store, "ada", by="ada")
    tokens.revoke_all(store, ada, by="ada")
    with pytest.raises(UnknownCodeError):
        issuing.redeem_code(store, code)
    assert issuing.redeem_code(store, other).token.admin


@pytest.mark.parametrize("code", ["", "é", "x" * 10_000, "\udc80", "' OR 1=1 --"])
def test_what_is_no_code_signs_in_no_one(store: LakeStore, ada: str, code: str) -> None:
    issuing.create_code(store, ada, by="ada")
    with pytest.raises(UnknownCodeError):
        issuing.redeem_code(store, code)


def test_a_backup_has_no_codes(store: LakeStore, ada: str, tmp_path: Path) -> None:
    issuing.create_code(store, ada, by="ada")
    assert backups.backup(store, tmp_path / "lake.backup")["sign_in_codes"] == 0
