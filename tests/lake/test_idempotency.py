"""Keys of requests that must not be carried out twice, as rows."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import update

from lanceway.lake import idempotency
from lanceway.lake.idempotency import KeptAnswer, KeyStanding, RequestKey
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import idempotency_keys

LEASE, LIFETIME = 60_000, 1_800_000
KEY = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
ANSWER = KeptAnswer(200, {"etag": '"a"'}, b'{"metadata": {}}')


def request(principal: str = "ada", digest: str = "d1", holder: str = "h1") -> RequestKey:
    return RequestKey(principal, KEY, digest, holder)


def begin(store: LakeStore, asked: RequestKey, lease: int = LEASE) -> tuple[KeyStanding, KeptAnswer | None]:
    return store.transact(idempotency.begin, asked, lease=lease, lifetime=LIFETIME)


def change(store: LakeStore, **values: int) -> None:
    store.transact(lambda connection: connection.execute(update(idempotency_keys).values(values)))


def test_the_first_carries_it_out_and_others_get_its_answer(store: LakeStore) -> None:
    assert begin(store, request()) == (KeyStanding.NEW, None)
    assert begin(store, request(holder="h2")) == (KeyStanding.BUSY, None)
    assert store.transact(idempotency.finish, request(), ANSWER)
    assert begin(store, request(holder="h2")) == (KeyStanding.ANSWERED, ANSWER)
    assert begin(store, request(digest="d2", holder="h2")) == (KeyStanding.OTHER, None)
    assert begin(store, request("bob", digest="d2")) == (KeyStanding.NEW, None), "a key is one principal's"


def test_a_key_is_taken_over_once_its_holder_has_had_its_time(store: LakeStore) -> None:
    begin(store, request())
    change(store, held_until=0)
    assert begin(store, request(holder="h2")) == (KeyStanding.TAKEN_OVER, None)
    assert begin(store, request(holder="h3")) == (KeyStanding.BUSY, None)
    assert not store.transact(idempotency.finish, request(), ANSWER), "the first one comes too late"
    assert store.transact(idempotency.finish, request(holder="h2"), ANSWER)


def test_an_end_that_is_not_known_lets_the_next_take_over_at_once(store: LakeStore) -> None:
    begin(store, request())
    store.transact(idempotency.leave, request())
    assert begin(store, request(holder="h2")) == (KeyStanding.TAKEN_OVER, None)


def test_what_was_refused_is_forgotten(store: LakeStore) -> None:
    begin(store, request())
    store.transact(idempotency.forget, request(holder="h2"))
    assert begin(store, request(holder="h2"))[0] is KeyStanding.BUSY, "a holder forgets its own alone"
    store.transact(idempotency.forget, request())
    assert begin(store, request(holder="h2"))[0] is KeyStanding.NEW


def test_an_expired_key_is_new_and_is_purged(store: LakeStore) -> None:
    begin(store, request())
    store.transact(idempotency.finish, request(), ANSWER)
    change(store, expires_at=0)
    assert begin(store, request(digest="d2", holder="h2")) == (KeyStanding.NEW, None)
    change(store, expires_at=0)
    assert store.transact(idempotency.purge, most=10) == 0, "one that is held stays"
    store.transact(idempotency.finish, request(digest="d2", holder="h2"), ANSWER)
    begin(store, request("bob"))
    assert store.transact(idempotency.purge, most=10) == 1
    assert begin(store, request("bob", holder="h2"))[0] is KeyStanding.BUSY


def test_an_answer_that_is_too_large_is_kept_without_its_body(store: LakeStore) -> None:
    begin(store, request())
    large = KeptAnswer(200, {}, os.urandom(idempotency.LARGEST_BODY + 1))
    store.transact(idempotency.finish, request(), large)
    assert begin(store, request(holder="h2")) == (KeyStanding.ANSWERED, KeptAnswer(200, {}, None))


def test_of_many_at_once_one_carries_it_out(store: LakeStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        standings = list(pool.map(lambda number: begin(store, request(holder=f"h{number}"))[0], range(16)))
    assert sorted(standings) == [KeyStanding.BUSY] * 15 + [KeyStanding.NEW]
