"""Addresses: where they lead, and how that is written on the wire."""

from __future__ import annotations

import pytest

from lanceway.errors import InvalidInputError
from lanceway.wire.settings import checked_uri, read_address


@pytest.mark.parametrize(
    ("uri", "netloc", "target"),
    [
        ("http://host", "host", ""),
        ("HTTP://Host:80/", "host", "/"),
        ("https://host/a%2fb/c", "host", "/a%2fb/c"),
        ("https://host:80/a b/é?x=ü#end", "host:80", "/a%20b/%C3%A9?x=%C3%BC"),
        ("http://[::1]:8080/x", "[::1]:8080", "/x"),
        ("https://[::1]/x", "[::1]", "/x"),
    ],
)
def test_an_address_leads_to_a_server_and_a_target(uri: str, netloc: str, target: str) -> None:
    address = read_address(uri)
    assert (address.netloc, address.target) == (netloc, target)


@pytest.mark.parametrize(
    "uri", ["", "host", "ftp://host", "http://", "http://host:x", "http://ho st", "http://host\n.org", "http://[::1"]
)
def test_what_leads_nowhere_is_no_address(uri: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - that is all it says
        read_address(uri)
    with pytest.raises(InvalidInputError, match="uri"):
        checked_uri(uri)


@pytest.mark.parametrize("uri", ["http://me:hush@host", "me:hush@host", "ftp://me:hush@host/", "http://me:hush@ho st"])
def test_a_password_is_not_repeated(uri: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        checked_uri(uri)
    assert "hush" not in str(refused.value)
