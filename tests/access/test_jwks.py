"""An issuer's keys: kept, looked for again when one is new, and done without for a while when the issuer is down."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import pytest

from lanceway.access.oidc import FRESH, KEPT, PAUSE, SigningKeys
from lanceway.errors import ServiceUnavailableError, UnauthenticatedError
from tests.access.conftest import Clock
from tests.access.issuer import FIRST, SECOND, Issuer, public


@pytest.fixture
def keys(issuer: Issuer, clock: Clock) -> SigningKeys:
    return SigningKeys(issuer.jwks_uri, clock=clock)


def test_a_new_key_is_found_when_a_token_names_it(issuer: Issuer, keys: SigningKeys, clock: Clock) -> None:
    assert keys.find("first")["kid"] == "first"
    issuer.keys = [public(SECOND, "second"), public(FIRST, "first")]
    clock.time += PAUSE
    assert keys.find("second")["kid"] == "second"
    assert keys.find("first")["kid"] == "first"
    assert issuer.asked == 2


def test_an_old_key_goes(issuer: Issuer, keys: SigningKeys, clock: Clock) -> None:
    keys.find("first")
    issuer.keys = [public(SECOND, "second")]
    clock.time += FRESH - 1
    assert keys.find("first")
    clock.time += 1
    with pytest.raises(UnauthenticatedError):
        keys.find("first")


def test_unknown_names_do_not_make_it_ask_all_the_time(issuer: Issuer, keys: SigningKeys, clock: Clock) -> None:
    for number in range(20):
        with pytest.raises(UnauthenticatedError):
            keys.find(f"unknown{number}")
    assert issuer.asked == 1
    clock.time += PAUSE
    for number in range(20):
        with pytest.raises(UnauthenticatedError):
            keys.find(f"unknown{number}")
    assert issuer.asked == 2


def test_an_issuer_that_is_down_from_the_start(
    issuer: Issuer, keys: SigningKeys, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.stop()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(ServiceUnavailableError, match="cannot be had at present"):
                keys.find("first")
    assert caplog.text.count("cannot be had") == 1
    issuer.start()
    clock.time += PAUSE
    assert keys.find("first")


def test_known_keys_outlive_the_issuer_for_a_while(issuer: Issuer, keys: SigningKeys, clock: Clock) -> None:
    keys.find("first")
    issuer.stop()
    clock.time += FRESH
    assert keys.find("first")
    with pytest.raises(ServiceUnavailableError):
        keys.find("second")
    clock.time += KEPT - FRESH
    with pytest.raises(ServiceUnavailableError):
        keys.find("first")
    issuer.start()
    clock.time += PAUSE
    assert keys.find("first")


def test_who_has_a_key_does_not_wait_for_one_who_asks(issuer: Issuer, clock: Clock) -> None:
    keys = SigningKeys(issuer.jwks_uri, clock=clock, patience=60)
    keys.find("first")
    issuer.silent.set()
    clock.time += FRESH
    asking = threading.Thread(target=keys.find, args=("first",))
    asking.start()
    try:
        while issuer.asked < 2:
            time.sleep(0.01)
        assert keys.find("first")["kid"] == "first"
        assert asking.is_alive()
    finally:
        issuer.silent.clear()
        asking.join()


def test_many_threads_ask_once(issuer: Issuer) -> None:
    keys = SigningKeys(issuer.jwks_uri)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(keys.find("first"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert issuer.asked == 1


def test_an_issuer_that_never_answers(issuer: Issuer, clock: Clock) -> None:
    keys = SigningKeys(issuer.jwks_uri, clock=clock, patience=0.2)
    issuer.silent.set()
    with pytest.raises(ServiceUnavailableError):
        keys.find("first")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"keys": 1}',
        b'{"keys": []}',
        b'{"keys": [1, "x", null]}',
        b"[" * 100_000,
        b"\xff\xfe\x00",
        b'{"keys": [{"kty": "oct", "kid": "first", "k": "AAAA"}]}',
        json.dumps({"keys": [public(FIRST, "first")], "x": "x" * 2_000_000}).encode(),
    ],
)
def test_an_answer_that_is_none(issuer: Issuer, keys: SigningKeys, answer: bytes) -> None:
    issuer.answer = answer
    with pytest.raises(ServiceUnavailableError):
        keys.find("first")


@pytest.mark.parametrize("status", [302, 404, 500])
def test_another_status(issuer: Issuer, keys: SigningKeys, status: int) -> None:
    issuer.status = status
    with pytest.raises(ServiceUnavailableError):
        keys.find("first")
