"""The HTTP client: what it repeats and what never, whom it tells its secrets, and what it makes of broken answers."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity.nap
import trustme

from lanceway.errors import (
    InternalError,
    InvalidInputError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lanceway.wire import errors
from lanceway.wire.authentication import ClientCredentials, Credentials, TokenFile, WithHeaders, bearer
from lanceway.wire.http import Client, Request
from tests.servers import faults as fake
from tests.servers.faults import Faults, Seen, answer
from tests.wire.client_helpers import CHANGE, OK, READ, TOKEN, Parts, sending


@pytest.fixture
def client(faults: Faults, connect: Callable[..., Client], naps: list[float]) -> Client:
    return connect(f"{faults.uri}/base/")


# -- repeating -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", sorted(errors.PATIENCE))
def test_a_read_is_asked_again_where_patience_may_help(
    client: Client, faults: Faults, naps: list[float], status: int
) -> None:
    faults.will(answer(status), answer(status), OK)
    assert client.send(READ).content == b'{"ok": true}'
    assert len(faults.seen) == 3
    assert len(naps) == 2


@pytest.mark.parametrize("status", [400, 403, 404, 409, 418, 500, 501])
def test_a_refusal_is_not_argued_with(client: Client, faults: Faults, status: int) -> None:
    faults.will(answer(status), OK)
    with pytest.raises(ServiceUnavailableError):
        client.send(READ)
    assert len(faults.seen) == 1


@pytest.mark.parametrize("status", sorted(errors.PATIENCE))
def test_a_change_is_never_asked_again_once_it_arrived(client: Client, faults: Faults, status: int) -> None:
    faults.will(answer(status, headers={"Retry-After": "0"}), OK)
    with pytest.raises(ServiceUnavailableError):
        client.send(CHANGE)
    assert len(faults.seen) == 1


BROKEN = {
    "no word": b"",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": answer(200, {"ok": True}, missing=3),
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{}",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_to_a_read_is_asked_for_again(client: Client, faults: Faults, kind: str) -> None:
    faults.will(BROKEN[kind], OK)
    assert client.send(READ).content == b'{"ok": true}'
    assert len(faults.seen) == 2


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_to_a_change_leaves_a_doubt(client: Client, faults: Faults, kind: str) -> None:
    faults.will(BROKEN[kind], OK)
    with pytest.raises(ServiceUnavailableError, match="not known whether it was carried out"):
        client.send(CHANGE)
    assert len(faults.seen) == 1


def test_retries_end(client: Client, faults: Faults, naps: list[float]) -> None:
    faults.will(*[answer(503, b"busy")] * 9)
    with pytest.raises(ServiceUnavailableError, match="busy"):
        client.send(READ)
    assert len(faults.seen) == 4
    assert len(naps) == 3


def test_without_retries_there_are_none(faults: Faults, connect: Callable[..., Client]) -> None:
    faults.will(answer(503), OK)
    with pytest.raises(ServiceUnavailableError):
        connect(faults.uri, retries=0).send(READ)
    assert len(faults.seen) == 1


def test_a_server_is_given_the_time_it_asks_for(client: Client, faults: Faults, naps: list[float]) -> None:
    faults.will(answer(503, headers={"Retry-After": "7"}), answer(429, headers={"Retry-After": "3"}), OK)
    client.send(READ)
    assert 7 <= naps[0] < 8
    assert 3 <= naps[1] < 4


def test_one_that_asks_for_too_much_is_not_waited_for(client: Client, faults: Faults, naps: list[float]) -> None:
    faults.will(answer(503, headers={"Retry-After": "3600"}), OK)
    with pytest.raises(ServiceUnavailableError) as refused:
        client.send(READ)
    assert refused.value.retry_after == 3600  # type: ignore[attr-defined]
    assert naps == []


def test_retry_after_is_a_number_or_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    seconds = errors.retry_after(soon)
    assert seconds is not None
    assert 90 < seconds <= 100
    assert errors.retry_after("Sun, 06 Nov 1994 08:49:37 GMT") == 0
    assert errors.retry_after(" 12 ") == 12
    assert [errors.retry_after(text) for text in (None, "", "soon", "-1", "1.5", "²")] == [None] * 6


def test_waits_have_jitter_and_grow(faults: Faults, connect: Callable[..., Client], naps: list[float]) -> None:
    client = connect(faults.uri, retries=40)
    faults.will(*[answer(503)] * 40, OK)
    client.send(READ)
    assert len(set(naps)) > 30
    assert max(naps) <= 10
    assert max(naps[20:]) > max(naps[:2])


@pytest.mark.parametrize("request_", [READ, CHANGE], ids=["read", "change"])
def test_what_did_not_leave_is_sent_again(
    connect: Callable[..., Client], monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with ExitStack() as stack:

        def start(_: float) -> None:
            stack.enter_context(fake.faults(port=port)).will(OK)

        monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=start))
        assert connect(f"http://127.0.0.1:{port}").send(request_).status == 200


def test_a_server_that_is_not_there_is_unavailable(connect: Callable[..., Client], naps: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(ServiceUnavailableError, match=f"127.0.0.1:{port} cannot be reached"):
        connect(f"http://127.0.0.1:{port}").send(CHANGE)
    assert len(naps) == 3


def test_a_server_that_stalls_is_left(faults: Faults, connect: Callable[..., Client]) -> None:
    faults.will(faults.stall)
    with pytest.raises(ServiceUnavailableError, match="did not answer in time"):
        connect(faults.uri, timeout=0.2, retries=0).send(READ)


def test_a_read_that_stalls_is_asked_again(faults: Faults, connect: Callable[..., Client], naps: list[float]) -> None:
    faults.will(faults.stall, faults.stall, OK)
    assert connect(faults.uri, timeout=0.3).send(READ).content == b'{"ok": true}'
    assert (len(faults.seen), len(naps)) == (3, 2)


def test_a_change_that_stalls_is_not_asked_again(faults: Faults, connect: Callable[..., Client]) -> None:
    faults.will(faults.stall, OK)
    with pytest.raises(ServiceUnavailableError, match=r"setting timeout says.*not known whether"):
        connect(faults.uri, timeout=0.3).send(CHANGE)
    assert len(faults.seen) == 1


# -- bodies --------------------------------------------------------------------------------------


def test_a_body_streams_in(client: Client, faults: Faults) -> None:
    faults.will(OK)
    client.send(sending(Parts(b"one", b"two")))
    assert (faults.seen[0].body, faults.seen[0].whole) == (b"onetwo", True)
    assert faults.seen[0].headers["transfer-encoding"] == "chunked"


def test_a_body_that_began_is_never_sent_again(client: Client, faults: Faults) -> None:
    faults.will(answer(503, headers={"Retry-After": "0"}), OK)
    with pytest.raises(ServiceUnavailableError):
        client.send(sending(Parts(b"one")))
    assert len(faults.seen) == 1


def test_a_body_that_fails_is_not_ended(client: Client, faults: Faults) -> None:
    """The server must see that something is missing, or it would take the half for the whole."""
    faults.will(OK)
    with pytest.raises(InvalidInputError, match="no more"):
        client.send(sending(Parts(b"one", failure=InvalidInputError("no more"))))
    client.close()
    wait_for(lambda: len(faults.seen) == 1)
    assert not faults.seen[0].whole


def test_an_answer_streams_out(client: Client, faults: Faults) -> None:
    faults.will(answer(200, b"x" * 1_000_000), OK)
    parts = list(client.stream(READ))
    assert sum(map(len, parts)) == 1_000_000
    assert len(parts) > 1


def test_an_answer_that_breaks_off_on_its_way_is_an_error(client: Client, faults: Faults) -> None:
    faults.will(answer(200, b"x" * 1_000_000, missing=1))
    with pytest.raises(ServiceUnavailableError, match="broke off"):
        list(client.stream(READ))


def test_a_download_may_be_left(client: Client, faults: Faults) -> None:
    faults.will(answer(200, b"x" * 1_000_000), OK)
    download = client.stream(READ)
    next(iter(download))
    download.close()
    assert client.send(READ).status == 200


def test_a_large_error_is_not_read_whole(client: Client, faults: Faults) -> None:
    faults.will(answer(400, b"x" * 5_000_000))
    with pytest.raises(ServiceUnavailableError) as refused:
        client.send(READ)
    assert len(str(refused.value)) < 100_000


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to that")


# -- who asks ------------------------------------------------------------------------------------


def test_credentials_and_headers_are_sent(faults: Faults, connect: Callable[..., Client]) -> None:
    faults.will(OK, OK)
    client = connect(faults.uri, **{"header.X-Team": "a", "headers.x-other": "é"})
    client.send(READ)
    sent = faults.seen[0].headers
    assert (sent["authorization"], sent["x-team"], sent["x-other"]) == (f"Bearer {TOKEN}", "a", "é")


def test_a_request_that_says_who_asks_is_sent_with_nobody_elses_credentials(
    faults: Faults, connect: Callable[..., Client]
) -> None:
    faults.will(OK)
    client = connect(faults.uri, **{"header.X-Api-Key": "of-the-catalog"})
    client.send(Request("describe", "GET", "/", headers=bearer("of-the-request")))
    assert faults.seen[0].headers["authorization"] == "Bearer of-the-request"
    assert "x-api-key" not in faults.seen[0].headers


def test_no_cookie_is_kept(client: Client, faults: Faults) -> None:
    faults.will(answer(200, headers={"Set-Cookie": "session=1; Path=/"}), OK)
    client.send(READ)
    client.send(READ)
    assert "cookie" not in faults.seen[1].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(client: Client, faults: Faults, status: int) -> None:
    with fake.faults() as elsewhere:
        elsewhere.will(OK)
        faults.will(answer(status, headers={"Location": f"{elsewhere.uri}/v1/x?secret=1"}))
        with pytest.raises(InternalError, match="redirect is not followed") as refused:
            client.send(READ)
        assert elsewhere.seen == []
    assert elsewhere.uri in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_token_that_the_server_repeats_is_hidden(client: Client, faults: Faults) -> None:
    faults.will(answer(400, f"bad token {TOKEN}".encode()))
    with pytest.raises(ServiceUnavailableError, match=r"bad token \*\*\*"):
        client.send(READ)


def test_no_secret_is_logged(client: Client, faults: Faults, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faults.will(OK, answer(503), BROKEN["half a body"])
    secret = Request("create", "POST", "/v1/x", query=[("storage_options", "hush-hush")], content=b"hush-hush")
    client.send(secret)
    for _ in range(2):
        with pytest.raises(ServiceUnavailableError):
            client.send(secret)
    assert "/v1/x" in caplog.text
    assert faults.seen[0].query == [("storage_options", "hush-hush")]
    assert "hush" not in caplog.text
    assert TOKEN not in caplog.text
    assert "hush" not in repr(secret)


def test_the_path_is_sent_as_it_was_written(client: Client, faults: Faults) -> None:
    faults.will(OK)
    client.send(Request("describe", "GET", "/v1/a%2Fb/%2E%2E/%24", query=[("on", "a b"), ("on", "c&d")]))
    assert faults.seen[0].path == "/base/v1/a%2Fb/%2E%2E/%24"
    assert faults.seen[0].query == [("on", "a b"), ("on", "c&d")]


# -- tokens that end -----------------------------------------------------------------------------


def token(name: str, **more: object) -> bytes:
    return answer(200, {"access_token": name, "token_type": "bearer", **more})


@pytest.fixture
def issuer() -> Iterator[Faults]:
    with fake.faults() as server:
        yield server


@pytest.fixture
def fetching(faults: Faults, issuer: Faults, connect: Callable[..., Client], naps: list[float]) -> Client:
    def credentials() -> Credentials:
        fetched = ClientCredentials(f"{issuer.uri}/oauth/token", "me", "my-secret", "all")
        return WithHeaders({"x-api-key": "beside"}, fetched)

    return connect(faults.uri, credentials)


def authorizations(server: Faults) -> list[str]:
    return [request.headers["authorization"] for request in server.seen]


def test_a_token_is_fetched_once_and_used_until_it_ends(fetching: Client, faults: Faults, issuer: Faults) -> None:
    issuer.will(token("one", expires_in=3600))
    faults.will(OK, OK)
    fetching.send(READ)
    fetching.send(READ)
    assert authorizations(faults) == ["Bearer one"] * 2
    assert faults.seen[1].headers["x-api-key"] == "beside"
    assert len(issuer.seen) == 1
    assert issuer.seen[0].body == b"grant_type=client_credentials&scope=all"
    assert issuer.seen[0].headers["authorization"].startswith("Basic ")


def test_a_token_is_renewed_before_it_ends(fetching: Client, faults: Faults, issuer: Faults) -> None:
    issuer.will(token("one", expires_in=0), token("two", expires_in=3600))
    faults.will(OK, OK)
    fetching.send(READ)
    fetching.send(CHANGE)
    assert authorizations(faults) == ["Bearer one", "Bearer two"]


@pytest.mark.parametrize("request_", [READ, CHANGE], ids=["read", "change"])
def test_a_token_that_is_refused_is_renewed_once(
    fetching: Client, faults: Faults, issuer: Faults, request_: Request
) -> None:
    issuer.will(token("one"), token("two"))
    faults.will(answer(401), OK)
    assert fetching.send(request_).status == 200
    assert authorizations(faults) == ["Bearer one", "Bearer two"]


def test_a_second_refusal_is_final(fetching: Client, faults: Faults, issuer: Faults) -> None:
    issuer.will(token("one"), token("two"), token("three"))
    faults.will(answer(401), answer(401, b"go away"), OK)
    with pytest.raises(UnauthenticatedError, match="go away"):
        fetching.send(READ)
    assert authorizations(faults) == ["Bearer one", "Bearer two"]


def test_rows_that_were_sent_with_an_old_token_are_not_sent_again(
    fetching: Client, faults: Faults, issuer: Faults
) -> None:
    issuer.will(token("one"), token("two"))
    faults.will(answer(401), OK)
    with pytest.raises(UnauthenticatedError):
        fetching.send(sending(Parts(b"rows")))
    fetching.send(sending(Parts(b"rows")))
    assert authorizations(faults) == ["Bearer one", "Bearer two"]


def test_many_threads_fetch_one_token(fetching: Client, faults: Faults, issuer: Faults) -> None:
    issuer.will(token("one", expires_in=3600))
    faults.will(*[OK] * 8)
    with ThreadPoolExecutor(8) as pool:
        assert {response.status for response in pool.map(lambda _: fetching.send(READ), range(8))} == {200}
    assert len(issuer.seen) == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (answer(401, b"my-secret is wrong"), UnauthenticatedError),
        (answer(400, {"error": "invalid_client"}), UnauthenticatedError),
        (answer(503), ServiceUnavailableError),
        (b"", ServiceUnavailableError),
        (answer(200, b"<html>"), InternalError),
        (answer(200, {"access_token": "two\r\nlines"}), InternalError),
        (answer(200, {"access_token": "x", "expires_in": "soon"}), InternalError),
        (answer(200, ["x"]), InternalError),
        (answer(302, headers={"Location": "http://127.0.0.1:1/"}), UnauthenticatedError),
    ],
    ids=["denied", "bad", "busy", "cut off", "garbage", "two lines", "no number", "a list", "elsewhere"],
)
def test_a_token_that_cannot_be_had(
    fetching: Client, issuer: Faults, faults: Faults, said: bytes, expected: type[Exception]
) -> None:
    issuer.will(said)
    with pytest.raises(expected) as refused:
        fetching.send(READ)
    assert "secret" not in str(refused.value)
    assert issuer.uri in str(refused.value)
    assert faults.seen == []


def test_a_token_in_a_file_is_read_again_when_it_changes(
    faults: Faults, connect: Callable[..., Client], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")

    def rotate(seen: Seen) -> bytes:
        file.write_text("three, which is longer")
        return answer(401)

    client = connect(faults.uri, lambda: TokenFile(str(file)))
    faults.will(OK, rotate, OK, OK)
    client.send(READ)
    client.send(CHANGE)
    file.write_text("four!")
    client.send(READ)
    assert [sent.split()[1] for sent in authorizations(faults)] == ["one", "one", "three,", "four!"]


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xfe"], ids=["missing", "empty", "lines", "bytes"])
def test_a_file_without_a_token_says_so(connect: Callable[..., Client], tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UnauthenticatedError, match="token_file"):
        connect("http://127.0.0.1:1", lambda: TokenFile(str(file))).send(READ)


# -- TLS -----------------------------------------------------------------------------------------


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def certificates(authority: trustme.CA, tmp_path: Path) -> dict[str, str]:
    """The files of a client that knows the authority, and is known to it."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    mine = authority.issue_cert("client@example.com")
    mine.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    mine.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    files = {"ssl_ca_cert": "ca.pem", "cert_file": "cert.pem", "key_file": "key.pem"}
    return {f"tls.{name}": str(tmp_path / file) for name, file in files.items()}


def context(authority: trustme.CA, host: str) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(tls)
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    return tls


def test_client_and_server_know_each_other(
    authority: trustme.CA, certificates: dict[str, str], connect: Callable[..., Client]
) -> None:
    with fake.faults(context(authority, "localhost")) as server:
        server.will(OK)
        assert connect(server.uri, **certificates).send(READ).status == 200


def test_a_strange_server_is_told_nothing(
    authority: trustme.CA, connect: Callable[..., Client], naps: list[float]
) -> None:
    with fake.faults(context(authority, "localhost")) as server:
        with pytest.raises(ServiceUnavailableError, match=r"(?i)certificate"):
            connect(server.uri).send(READ)
        assert server.seen == []


def test_a_certificate_for_another_name_must_be_allowed(
    authority: trustme.CA, certificates: dict[str, str], connect: Callable[..., Client], naps: list[float]
) -> None:
    with fake.faults(context(authority, "elsewhere.example.com")) as server:
        server.will(OK)
        with pytest.raises(ServiceUnavailableError, match=r"(?i)certificate"):
            connect(server.uri, **certificates).send(READ)
        assert connect(server.uri, **certificates, **{"tls.assert_hostname": "false"}).send(READ).status == 200


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0},
        {"timeout": "nan"},
        {"connect_timeout": -1},
        {"retries": -1},
        {"tls.key_file": "key.pem"},
        {"header.X": "two\r\nlines"},
        {"header.X Y": "1"},
        {"header.X": "漢"},
        {"headers.X": " blank"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(connect: Callable[..., Client], wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        connect("http://127.0.0.1:1", **wrong)


@pytest.mark.parametrize(
    "uri", ["", "host", "host:80", "ftp://host", "http://", "http://host/?a=b", "http://host/#a", "http://[::1", "/x"]
)
def test_an_address_must_be_one(connect: Callable[..., Client], uri: str) -> None:
    with pytest.raises(InvalidInputError, match="uri"):
        connect(uri)


def test_a_password_in_an_address_is_refused_and_not_repeated(connect: Callable[..., Client]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        connect("http://me:hush-hush@host")
    assert "hush" not in str(refused.value)


def test_missing_files_are_named(connect: Callable[..., Client], tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere\.pem"):
        connect("https://127.0.0.1:1", **{"tls.ssl_ca_cert": str(tmp_path / "nowhere.pem")}).send(READ)


# -- life ----------------------------------------------------------------------------------------


def test_a_closed_client_opens_again(client: Client, faults: Faults) -> None:
    faults.will(OK, OK)
    client.send(READ)
    client.close()
    client.close()
    assert client.send(READ).status == 200


@pytest.mark.slow
def test_threads_share_a_client(client: Client, faults: Faults) -> None:
    faults.will(*[OK] * 32)
    with ThreadPoolExecutor(16) as pool:
        assert {response.status for response in pool.map(lambda _: client.send(READ), range(32))} == {200}
