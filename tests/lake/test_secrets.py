"""Secrets: encrypted for one context, with keys of a file or of the configuration."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceway.errors import InvalidInputError
from lanceway.lake.secrets import SealedSecrets, SecretKeys, SecretsUnavailableError

FIRST, SECOND = "0a" * 32, "0b" * 32
VALUES = {"token": "sesame"}


def test_what_is_sealed_opens_in_its_context_alone() -> None:
    keys = SecretKeys(FIRST)
    sealed = keys.seal(VALUES, ["row", "rest", {"uri": "http://a"}])
    assert keys.open(sealed, ["row", "rest", {"uri": "http://a"}]) == VALUES
    assert "sesame" not in repr((sealed, keys))
    for other in (["other", "rest", {"uri": "http://a"}], ["row", "rest", {"uri": "http://b"}], ["row", "dir", {}]):
        with pytest.raises(SecretsUnavailableError, match="do not belong to its settings"):
            keys.open(sealed, other)
    assert keys.seal(VALUES, 1).text != keys.seal(VALUES, 1).text


def test_what_was_changed_does_not_open() -> None:
    keys = SecretKeys(FIRST)
    sealed = keys.seal(VALUES, 1)
    raw = bytearray(base64.b64decode(sealed.text))
    for place in (0, 12, len(raw) - 1):
        changed = bytes(byte ^ (at == place) for at, byte in enumerate(raw))
        with pytest.raises(SecretsUnavailableError):
            keys.open(SealedSecrets(base64.b64encode(changed).decode(), sealed.key_id), 1)


def test_several_keys_open_and_the_first_seals() -> None:
    sealed = SecretKeys(FIRST).seal(VALUES, 1)
    both = SecretKeys(f"{SECOND}, {FIRST}")
    assert both.open(sealed, 1) == VALUES
    assert both.seal(VALUES, 1).key_id != sealed.key_id
    with pytest.raises(SecretsUnavailableError, match=f"the key {sealed.key_id}, which this server does not have"):
        SecretKeys(SECOND).open(sealed, 1)


@pytest.mark.parametrize("text", ["short", FIRST[:-1], FIRST + "0", "g" * 64])
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(InvalidInputError, match="64 hexadecimal digits") as refused:
        SecretKeys(text)
    assert text not in str(refused.value)


def test_without_a_file_a_key_must_be_configured() -> None:
    with pytest.raises(InvalidInputError, match="LANCEWAY_SECRET_KEY"):
        SecretKeys().seal(VALUES, 1)


def test_a_file_is_made_once_by_the_first(tmp_path: Path) -> None:
    file = tmp_path / "secret-key"
    with ThreadPoolExecutor(8) as threads:
        sealed = list(threads.map(lambda _: SecretKeys(file=file).seal(VALUES, 1), range(8)))
    assert {SecretKeys(file=file).open(each, 1)["token"] for each in sealed} == {"sesame"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]


def test_a_rotation_keeps_what_is_in_use(tmp_path: Path) -> None:
    file = tmp_path / "secret-key"
    keys, running = SecretKeys(file=file), SecretKeys(file=file)
    old = keys.seal(VALUES, 1)
    assert running.open(old, 1) == VALUES
    keys.begin_rotation()
    new = keys.seal(VALUES, 1)
    assert new.key_id != old.key_id
    assert running.open(new, 1) == VALUES, "a process that runs reads the file again"
    keys.end_rotation({old.key_id})
    assert SecretKeys(file=file).open(old, 1) == VALUES
    keys.end_rotation({new.key_id})
    with pytest.raises(SecretsUnavailableError):
        SecretKeys(file=file).open(old, 1)
    assert file.stat().st_mode & 0o777 == 0o600
