"""Bodies on their way: compressed ones, large ones, and those that the server does not want."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from lanceway.errors import InternalError, InvalidInputError, ServiceUnavailableError
from lanceway.wire.http import Client, Request
from tests.servers.faults import Faults, answer
from tests.wire.client_helpers import CHANGE, OK, READ, Parts, sending

Connect = Callable[..., Client]
ROWS = b"one row after another " * 100_000
GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    "body",
    [gzip.compress(ROWS), gzip.compress(ROWS[:1000]) + gzip.compress(ROWS[1000:])],
    ids=["one member", "two members"],
)
def test_a_compressed_answer_is_read(faults: Faults, connect: Connect, body: bytes) -> None:
    faults.will(answer(200, body, GZIP), answer(200, body, GZIP))
    client = connect(faults.uri)
    assert client.send(READ).content == ROWS
    assert b"".join(client.stream(READ)) == ROWS
    assert faults.seen[0].headers["accept-encoding"] == "gzip"


def test_nothing_may_be_said_to_be_compressed(faults: Faults, connect: Connect) -> None:
    faults.will(answer(200, b"", GZIP))
    assert connect(faults.uri).send(READ).content == b""


@pytest.mark.parametrize("body", [b"not compressed", gzip.compress(ROWS)[:-9]], ids=["it is not", "half of it"])
def test_an_answer_that_cannot_be_decompressed_is_no_answer(faults: Faults, connect: Connect, body: bytes) -> None:
    faults.will(*[answer(200, body, GZIP)] * 2)
    client = connect(faults.uri, retries=0)
    with pytest.raises(InternalError, match="compressed and cannot be read"):
        client.send(READ)
    with pytest.raises(InternalError, match="compressed and cannot be read"):
        list(client.stream(READ))


def test_a_compressed_refusal_is_understood(faults: Faults, connect: Connect) -> None:
    faults.will(answer(400, gzip.compress(b"no such thing"), GZIP))
    with pytest.raises(ServiceUnavailableError, match="no such thing"):
        connect(faults.uri).send(CHANGE)


def test_a_large_body_arrives_whole(faults: Faults, connect: Connect) -> None:
    faults.will(OK, OK)
    client = connect(faults.uri)
    client.send(Request("insert", "POST", "/", content=ROWS))
    client.send(sending(Parts(b"", ROWS, b"", b"end")))
    assert [(request.body, request.whole) for request in faults.seen] == [(ROWS, True), (ROWS + b"end", True)]


@pytest.mark.parametrize("content", [ROWS * 10, Parts(ROWS * 10)], ids=["bytes", "parts"])
@pytest.mark.slow
def test_a_body_is_sent_for_as_long_as_the_server_reads(connect: Connect, content: bytes | Parts) -> None:
    """The time for a connection is not the time for what is sent on it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as reading:
                time.sleep(1)
                size = 0
                while size < len(ROWS) * 10:
                    size += len(reading.read1())
                connection.sendall(OK)

        server = threading.Thread(target=serve)
        server.start()
        uri = f"http://127.0.0.1:{listening.getsockname()[1]}"
        client = connect(uri, connect_timeout=0.3, timeout=20, retries=0)
        assert client.send(Request("insert", "POST", "/", content=content)).status == 200
        server.join()


def test_no_body_has_no_length_unless_one_is_expected(faults: Faults, connect: Connect) -> None:
    faults.will(OK, OK)
    client = connect(faults.uri)
    client.send(Request("drop", "POST", "/"))
    client.send(Request("list", "GET", "/"))
    assert [request.headers.get("content-length") for request in faults.seen] == ["0", None]


def test_the_words_of_a_server_that_does_not_want_the_rest_are_heard(connect: Connect) -> None:
    """It answers in the middle of a body and hangs up, so that what follows cannot be sent."""
    gone = threading.Event()

    class Rows:
        started = False

        def __iter__(self) -> Iterator[bytes]:
            self.started = True
            yield b"first"
            assert gone.wait(30)
            for _ in range(100):
                yield b"more" * 100_000

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(10)  # what is left unread makes the system hang up at once
                connection.sendall(answer(413, b"that is too much"))
            gone.set()

        server = threading.Thread(target=refuse)
        server.start()
        with pytest.raises(ServiceUnavailableError, match="that is too much"):
            connect(f"http://127.0.0.1:{listening.getsockname()[1]}").send(sending(Rows()))
        server.join()


@pytest.mark.parametrize("failure", [OSError("the disk is gone"), ValueError("no number")], ids=repr)
def test_what_goes_wrong_in_a_body_is_not_blamed_on_the_server(
    faults: Faults, connect: Connect, failure: Exception
) -> None:
    with pytest.raises(type(failure)) as raised:
        connect(faults.uri).send(sending(Parts(b"one", failure=failure)))
    assert raised.value is failure


@pytest.mark.parametrize("headers", [{"x-given": "two\r\nlines"}, {"x-given": "漢"}], ids=["lines", "beyond Latin"])
def test_what_http_cannot_write_is_not_sent(faults: Faults, connect: Connect, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="no way to write it") as refused:
        connect(faults.uri).send(Request("describe", "GET", "/", headers=headers))
    assert "漢" not in str(refused.value)
    assert faults.seen == []


def test_headers_of_one_name_are_a_list(faults: Faults, connect: Connect) -> None:
    faults.will(b"HTTP/1.1 200 OK\r\nX-A: one\r\nContent-Length: 0\r\nx-a: two\r\n\r\n")
    assert connect(faults.uri).send(READ).headers["x-a"] == "one, two"
