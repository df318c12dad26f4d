"""Who asks: by which header, remembered for how long, and what happens when somebody cannot be asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from lanceway.access import tokens, users
from lanceway.access.authenticator import REMEMBERED, Authenticator
from lanceway.access.oidc import Oidc, SigningKeys
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.errors import ServiceUnavailableError, UnauthenticatedError
from lanceway.lake import issuers
from lanceway.lake.store.database import LakeStore
from tests.access.conftest import Clock
from tests.access.issuer import AUDIENCE, SECOND, Issuer, public

Make = Callable[..., Authenticator]


@pytest.fixture
def make(store: LakeStore, clock: Clock) -> Iterator[Make]:
    made: list[Authenticator] = []

    def build(**options: Any) -> Authenticator:
        made.append(Authenticator(store, clock=clock, **options))
        return made[-1]

    yield build
    for authenticator in made:
        authenticator.close()


@pytest.fixture
def secret(store: LakeStore) -> str:
    return tokens.create(store, "alice", by="me").secret


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def break_tokens(store: LakeStore) -> None:
    store.transact(lambda connection: connection.execute(text("ALTER TABLE tokens RENAME TO elsewhere")))


def mend_tokens(store: LakeStore) -> None:
    store.transact(lambda connection: connection.execute(text("ALTER TABLE elsewhere RENAME TO tokens")))


def test_every_way_to_send_a_token(make: Make, secret: str) -> None:
    alice = Principal("alice")
    for headers in (
        {"authorization": f"Bearer {secret}"},
        {"authorization": f"bearer  {secret} "},
        {"x-api-key": secret},
        {"authorization": "Basic cHJveHk6cHJveHk=", "x-api-key": secret},
        {"authorization": f"Bearer {secret}", "x-api-key": "something else"},
    ):
        assert make().authenticate(headers) == alice


def test_an_admin(make: Make, store: LakeStore) -> None:
    created = tokens.create(store, "root", by="me", admin=True)
    assert make().authenticate(bearer(created.secret)) == Principal("root", admin=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic YTpi"},
        {"authorization": ""},
        {"x-api-key": ""},
        {"authorization": "Bearer lw_unknown"},
        {"x-api-key": "a.b.c"},
        {"x-api-key": "sk-1234567890"},
    ],
)
@pytest.mark.parametrize("anonymous", [True, False])
def test_wrong_credentials_are_refused_even_where_none_are_needed(
    make: Make, headers: dict[str, str], anonymous: bool
) -> None:
    authenticator = make(anonymous=anonymous)
    assert authenticator.try_fast(headers) is None
    with pytest.raises(UnauthenticatedError):
        authenticator.authenticate(headers)


def test_a_malformed_header_is_refused_with_its_form(make: Make) -> None:
    with pytest.raises(UnauthenticatedError, match="it must be `Bearer <token>`"):
        make().authenticate({"authorization": "a-token-alone"})


def test_nobody_is_let_in_only_where_that_is_configured(make: Make) -> None:
    assert make(anonymous=True).authenticate({}) == ANONYMOUS
    assert make(anonymous=True).try_fast({}) == ANONYMOUS
    assert make().try_fast({}) is None
    with pytest.raises(UnauthenticatedError, match=r"Authorization: Bearer …` or `x-api-key"):
        make().authenticate({})


# -- remembering ---------------------------------------------------------------------------------


def is_sqlite(store: LakeStore) -> bool:
    return store.fast_reads is not None


def test_a_token_that_was_seen_needs_no_waiting_in_sqlite(
    make: Make, store: LakeStore, secret: str, clock: Clock
) -> None:
    authenticator = make()
    assert authenticator.try_fast(bearer(secret)) is None
    authenticator.authenticate(bearer(secret))
    alice = Principal("alice") if is_sqlite(store) else None
    assert authenticator.try_fast(bearer(secret)) == alice
    assert authenticator.try_fast({"x-api-key": secret}) == alice
    clock.time += REMEMBERED
    assert authenticator.try_fast(bearer(secret)) is None
    assert authenticator.authenticate(bearer(secret)) == Principal("alice")


def test_what_cannot_be_read_lets_no_one_in(make: Make, store: LakeStore, secret: str) -> None:
    """Also who was known a moment ago: only the database knows whether that still holds."""
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    break_tokens(store)
    assert authenticator.try_fast(bearer(secret)) is None
    with pytest.raises(ServiceUnavailableError):
        authenticator.authenticate(bearer(secret))
    mend_tokens(store)
    assert authenticator.authenticate(bearer(secret)) == Principal("alice")


def test_it_is_remembered_for_five_seconds_at_most() -> None:
    assert REMEMBERED <= 5


def refused_at_once(authenticator: Authenticator, secret: str, reason: str) -> None:
    assert authenticator.try_fast(bearer(secret)) is None
    with pytest.raises(UnauthenticatedError, match=reason):
        authenticator.authenticate(bearer(secret))


def test_a_revoked_token_is_refused_at_once(make: Make, store: LakeStore, secret: str) -> None:
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    tokens.revoke(store, secret.split("_")[1], by="me")
    refused_at_once(authenticator, secret, "was revoked")


def test_a_token_that_has_expired_is_refused_at_once(make: Make, store: LakeStore, secret: str) -> None:
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    for ends, works in ((4_102_444_800_000, True), (1_000, False)):
        store.transact(lambda connection, at=ends: connection.execute(text(f"UPDATE tokens SET expires_at = {at}")))
        if works:
            assert authenticator.authenticate(bearer(secret)).expires_at == ends
            fast = authenticator.try_fast(bearer(secret))
            assert fast is None if not is_sqlite(store) else fast is not None
            assert fast is None or fast.expires_at == ends
    refused_at_once(authenticator, secret, "has expired")


def test_a_disabled_user_is_refused_at_once_and_comes_back(make: Make, store: LakeStore, secret: str) -> None:
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    users.disable(store, "alice", by="me")
    refused_at_once(authenticator, secret, "'alice' is disabled")
    refused_at_once(make(), secret, "'alice' is disabled")
    users.enable(store, "alice")
    assert authenticator.authenticate(bearer(secret)) == Principal("alice")


def test_a_deleted_user_is_refused_at_once(make: Make, store: LakeStore, secret: str) -> None:
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    users.delete(store, "alice")
    refused_at_once(authenticator, secret, "not known here")


def test_an_admin_is_one_from_the_next_request_on_and_no_longer(make: Make, store: LakeStore, secret: str) -> None:
    users.create(store, "another", by="me", admin=True)
    authenticator = make()
    assert not authenticator.authenticate(bearer(secret)).admin
    for change, admin in ((users.promote(store, "alice", by="me"), True), (users.demote(store, "alice"), False)):
        assert change.admin is admin
    assert not authenticator.authenticate(bearer(secret)).admin
    users.promote(store, "alice", by="me")
    assert authenticator.authenticate(bearer(secret)).admin
    fast = authenticator.try_fast(bearer(secret))
    assert fast is None or fast.admin


def test_a_refusal_is_not_remembered(make: Make, store: LakeStore, secret: str) -> None:
    authenticator = make()
    break_tokens(store)
    with pytest.raises(ServiceUnavailableError):
        authenticator.authenticate(bearer(secret))
    mend_tokens(store)
    assert authenticator.authenticate(bearer(secret)) == Principal("alice")


def test_tokens_are_not_in_memory_in_the_clear(make: Make, secret: str) -> None:
    authenticator = make()
    authenticator.authenticate(bearer(secret))
    assert secret not in repr(vars(authenticator._identities))
    assert authenticator._identities._entries


# -- last used -----------------------------------------------------------------------------------


def last_used(store: LakeStore) -> int | None:
    [token] = tokens.page(store)
    return token.last_used_at


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_use_is_recorded_once_a_minute(make: Make, store: LakeStore, secret: str, clock: Clock) -> None:
    authenticator = make()
    assert last_used(store) is None
    authenticator.authenticate(bearer(secret))
    eventually(lambda: last_used(store) is not None)
    first = last_used(store)
    clock.time += REMEMBERED
    authenticator.authenticate(bearer(secret))
    authenticator.close()
    assert last_used(store) == first
    minute_ago = f"UPDATE tokens SET last_used_at = {first} - 60000"
    store.transact(lambda connection: connection.execute(text(minute_ago)))
    make().authenticate(bearer(secret))
    eventually(lambda: (last_used(store) or 0) >= (first or 0))


def test_a_record_that_fails_fails_no_request(
    make: Make, store: LakeStore, secret: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The database takes no change of that column; all else goes on."""
    refuse = (
        ["CREATE TRIGGER t BEFORE UPDATE OF last_used_at ON tokens BEGIN SELECT RAISE(ABORT, 'no'); END"]
        if repr(store).startswith("LakeStore('sqlite")
        else [
            "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'no'; END $$ LANGUAGE plpgsql",
            "CREATE TRIGGER t BEFORE UPDATE OF last_used_at ON tokens FOR EACH ROW EXECUTE FUNCTION refuse()",
        ]
    )
    for statement in refuse:
        store.transact(lambda connection, statement=statement: connection.execute(text(statement)))
    with caplog.at_level(logging.WARNING):
        assert make().authenticate(bearer(secret)) == Principal("alice")
        eventually(lambda: "could not be recorded" in caplog.text)
    assert secret not in caplog.text
    assert last_used(store) is None


def test_a_closed_one_still_answers(make: Make, secret: str) -> None:
    authenticator = make()
    authenticator.close()
    assert authenticator.authenticate(bearer(secret)) == Principal("alice")


# -- issuers -------------------------------------------------------------------------------------


@pytest.fixture
def vouching(make: Make, store: LakeStore, issuer: Issuer, clock: Clock) -> Authenticator:
    store.transact(issuers.register, "acme", issuer.name)
    return make(oidc=Oidc(issuer.name, AUDIENCE, SigningKeys(issuer.jwks_uri, clock=clock), alias="acme"))


def test_both_kinds_of_tokens(vouching: Authenticator, issuer: Issuer, secret: str) -> None:
    signed = issuer.sign(sub="bob", groups=["g"])
    assert vouching.authenticate(bearer(signed)) == Principal("bob@acme", ("g@acme",))
    assert vouching.authenticate({"x-api-key": signed}) == Principal("bob@acme", ("g@acme",))
    assert vouching.authenticate(bearer(secret)) == Principal("alice")
    assert vouching.is_foreign(bearer(issuer.sign(sub="another")))
    assert not vouching.is_foreign(bearer(signed)), "it was verified a moment ago"
    assert not vouching.is_foreign(bearer(secret))
    assert not vouching.is_foreign({})


def test_an_issuer_that_is_down_leaves_our_own_tokens_alone(
    vouching: Authenticator, issuer: Issuer, secret: str
) -> None:
    issuer.stop()
    with pytest.raises(ServiceUnavailableError, match="keys of the tokens' issuer"):
        vouching.authenticate(bearer(issuer.sign()))
    assert vouching.authenticate(bearer(secret)) == Principal("alice")


def test_keys_are_changed_without_a_restart(vouching: Authenticator, issuer: Issuer, clock: Clock) -> None:
    vouching.authenticate(bearer(issuer.sign()))
    issuer.keys = [public(SECOND, "second")]
    clock.time += 60
    assert vouching.authenticate(bearer(issuer.sign(SECOND, kid="second"))) == Principal("alice@acme")
    with pytest.raises(UnauthenticatedError):
        vouching.authenticate(bearer(issuer.sign()))


def test_a_signed_token_is_not_remembered_beyond_its_end(vouching: Authenticator, issuer: Issuer, clock: Clock) -> None:
    signed = issuer.sign(exp=int(time.time()) - 58)  # the leeway of a minute ends in two seconds
    vouching.authenticate(bearer(signed))
    clock.time += 2
    assert vouching.try_fast(bearer(signed)) is None


def test_an_issuers_user_is_another_than_the_lakes_of_that_name(
    vouching: Authenticator, store: LakeStore, issuer: Issuer
) -> None:
    tokens.create(store, "root", by="me", admin=True)
    principal = vouching.authenticate(bearer(issuer.sign(sub="root")))
    assert principal == Principal("root@acme", admin=False)
    users.disable(store, "root@acme", by="me")
    assert not users.find(store, "root").is_disabled


def test_an_issuers_user_is_disabled_at_once(vouching: Authenticator, store: LakeStore, issuer: Issuer) -> None:
    signed = issuer.sign(sub="bob")
    assert vouching.authenticate(bearer(signed)) == Principal("bob@acme")
    assert vouching.try_fast(bearer(signed)) == (Principal("bob@acme") if is_sqlite(store) else None)
    users.disable(store, "bob@acme", by="me")
    refused_at_once(vouching, signed, "'bob@acme' is disabled")
    refused_at_once(vouching, issuer.sign(sub="bob", jti="another"), "'bob@acme' is disabled")
    assert vouching.authenticate(bearer(issuer.sign(sub="carol"))) == Principal("carol@acme")
    users.enable(store, "bob@acme")
    assert vouching.authenticate(bearer(signed)) == Principal("bob@acme")


def test_an_issuers_user_is_an_admin_once_an_admin_says_so(
    vouching: Authenticator, store: LakeStore, issuer: Issuer
) -> None:
    signed = issuer.sign(sub="bob")
    tokens.create(store, "root", by="me", admin=True)
    assert not vouching.authenticate(bearer(signed)).admin
    users.promote(store, "bob@acme", by="me")
    assert vouching.authenticate(bearer(signed)).admin
    users.demote(store, "bob@acme")
    assert not vouching.authenticate(bearer(signed)).admin


def test_a_user_of_the_lake_from_before_keeps_a_name_with_an_at_to_itself(
    vouching: Authenticator, store: LakeStore, issuer: Issuer, secret: str
) -> None:
    """Names with an @ could be given until issuers had aliases."""
    store.transact(lambda connection: connection.execute(text("UPDATE users SET name = 'alice@acme'")))
    assert vouching.authenticate(bearer(secret)) == Principal("alice@acme")
    refused_at_once(vouching, issuer.sign(sub="alice"), "lanceway users rename")
    users.rename(store, "alice@acme", "alice")
    assert vouching.authenticate(bearer(issuer.sign(sub="alice"))) == Principal("alice@acme")
    assert vouching.authenticate(bearer(secret)) == Principal("alice")


def test_without_an_issuer_signed_tokens_are_unknown(make: Make, issuer: Issuer) -> None:
    with pytest.raises(UnauthenticatedError, match="does not know the token"):
        make().authenticate(bearer(issuer.sign()))
    assert issuer.asked == 0
