"""The ways to sign in to a service over HTTP: one at a time, and their secrets are shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs.metastore.credentials import ServiceSignIn, sign_in_settings
from lanceway.config import read_settings
from lanceway.errors import InvalidInputError
from lanceway.wire.authentication import ClientCredentials, Fixed, TokenFile

ELSEWHERE = "http://127.0.0.1:1/token"


def sign_in(*others: str, **given: object) -> ServiceSignIn:
    return ServiceSignIn.read(
        "Here", {**read_settings("Here", sign_in_settings("all"), given), **dict.fromkeys(others)}
    )


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, Fixed),
        ({"auth_token": "hush-hush"}, Fixed),
        ({"credential": "id:hush-hush"}, ClientCredentials),
        ({"token_file": "token"}, TokenFile),
    ],
    ids=str,
)
def test_each_way(given: dict[str, Any], kind: type) -> None:
    chosen = sign_in(**given)
    assert isinstance(chosen.credentials(ELSEWHERE), kind)
    assert "hush-hush" not in repr(chosen)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"auth_token": "hush-hush", "token_file": "t"}, "auth_token and token_file are set"),
        ({"credential": "hush-hush"}, "client_id:client_secret"),
        ({"credential": ":hush-hush"}, "client_id:client_secret"),
        ({"credential": "a:hush-hush", "oauth2_server_uri": "nowhere"}, "not an address"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_without_the_secret(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        sign_in(**given)
    assert "hush-hush" not in str(refused.value)


def test_a_token_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("fresh\n")
    credentials = sign_in(token_file=str(tmp_path / "token")).credentials(ELSEWHERE)
    assert isinstance(credentials, TokenFile)
