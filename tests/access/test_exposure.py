"""Anonymous access: said loudly, and refused where others could reach it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lanceway.access.exposure import check_exposure, is_loopback
from lanceway.errors import InvalidInputError


@dataclass(frozen=True)
class Settings:
    host: str
    anonymous: bool = True
    allow_public_anonymous: bool = False
    tls_cert: Path | None = None
    simple_auth: bool = False


LOOPBACK = ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LocalHost"]
PUBLIC = ["0.0.0.0", "::", "", "192.168.1.7", "10.0.0.1", "example.com", "localhost.example.com", "127.1"]


@pytest.mark.parametrize("host", LOOPBACK)
def test_on_this_machine_it_is_said(host: str) -> None:
    assert is_loopback(host)
    warning = check_exposure(Settings(host))
    assert warning is not None
    assert warning.startswith("ANONYMOUS ACCESS IS ON")


@pytest.mark.parametrize("host", PUBLIC)
def test_elsewhere_it_is_refused_unless_said_twice(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(InvalidInputError, match="allow_public_anonymous"):
        check_exposure(Settings(host))
    warning = check_exposure(Settings(host, allow_public_anonymous=True))
    assert warning is not None
    assert f"THE SERVER LISTENS ON {host}" in warning


@pytest.mark.parametrize("host", [*LOOPBACK, *PUBLIC])
@pytest.mark.parametrize("second", [True, False])
def test_who_must_say_who_they_are_is_welcome_anywhere(host: str, second: bool) -> None:
    encrypted = Settings(host, anonymous=False, allow_public_anonymous=second, tls_cert=Path("cert.pem"))
    assert check_exposure(encrypted) is None


def test_tokens_that_travel_in_the_clear_are_warned_of() -> None:
    assert {check_exposure(Settings(host, anonymous=False)) for host in LOOPBACK} == {None}
    for host in PUBLIC:
        assert f"PLAIN HTTP, AND THE SERVER LISTENS ON {host}" in str(check_exposure(Settings(host, anonymous=False)))


@pytest.mark.parametrize("host", LOOPBACK)
def test_names_are_believed_on_this_machine_with_a_warning(host: str) -> None:
    assert "SIMPLE AUTHENTICATION IS ON" in (check_exposure(Settings(host, anonymous=False, simple_auth=True)) or "")


@pytest.mark.parametrize("host", PUBLIC)
def test_names_are_never_believed_elsewhere(host: str) -> None:
    for public in (False, True):
        settings = Settings(host, allow_public_anonymous=public, simple_auth=True, tls_cert=Path("cert.pem"))
        with pytest.raises(InvalidInputError, match="simple_auth"):
            check_exposure(settings)
