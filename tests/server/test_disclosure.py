from __future__ import annotations

import pytest

from lanceway.server.context import merged, to_headers
from lanceway.server.disclosure import disclosed

SECRETS = (
    "access_key_id",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "secret_access_key",
    "token",
    "azure_storage_account_key",
    "azure_storage_sas_key",
    "google_service_account_key",
    "account_key",
    "sas_token",
    "client_secret",
    "headers",
    "header.authorization",
    "something_new",
)


def test_what_is_not_known_to_be_harmless_stays() -> None:
    assert disclosed(dict.fromkeys(SECRETS, "x")) == {}


@pytest.mark.parametrize("key", ["region", "aws_region", "AWS_REGION", "aws_endpoint", "azure_storage_account_name"])
def test_where_and_how_is_told(key: str) -> None:
    assert disclosed({key: "here"}) == {key: "here"}


def test_an_address_with_a_password_is_a_secret() -> None:
    assert disclosed({"endpoint": "https://me:pass@host"}) == {}
    assert disclosed({"endpoint": "https://host/?sig=abc"}) == {}
    assert disclosed({"endpoint": "https://host:9000"}) == {"endpoint": "https://host:9000"}
    assert disclosed(None) is None


# -- headers and context -------------------------------------------------------------------------

SENT = [
    (b"host", b"x"),
    (b"authorization", b"Bearer secret"),
    (b"x-api-key", b"secret"),
    (b"cookie", b"secret"),
    (b"content-length", b"3"),
    (b"accept-encoding", b"gzip"),
    (b"x-forwarded-for", b"1.2.3.4"),
    (b"x-request-id", b"1"),
    (b"x-lancedb-min-timestamp", b"7"),
]


def test_headers_become_context_but_no_credential_does() -> None:
    assert merged(None, SENT) == {"header.x-lancedb-min-timestamp": "7"}
    assert merged(None, SENT[:-1]) is None


def test_what_was_sent_beats_what_is_said() -> None:
    said = {
        "header.x-lancedb-min-timestamp": "1",
        "header.Authorization": "Bearer other",
        "header.X-Api-Key": "k",
        "a": "b",
    }
    assert merged(said, SENT) == {"header.x-lancedb-min-timestamp": "7", "a": "b"}


def test_context_of_an_answer_becomes_headers() -> None:
    context = {"header.x-cost": "3", "plain": "1", "header.Retry-After": "9"}
    assert to_headers(context) == [(b"x-cost", b"3"), (b"retry-after", b"9")]


@pytest.mark.parametrize(
    "entry",
    [
        ("header.content-length", "1"),
        ("header.Transfer-Encoding", "chunked"),
        ("header.connection", "close"),
        ("header.set-cookie", "a=b"),
        ("header.x-a\r\nx-b", "1"),
        ("header.x-a", "1\r\nx-b: 2"),
        ("header.x-a", "日本"),
        ("header.", "1"),
        ("header.www-authenticate", "Basic"),
    ],
)
def test_what_would_break_an_answer_is_no_header(entry: tuple[str, str]) -> None:
    assert to_headers(dict([entry])) == []
