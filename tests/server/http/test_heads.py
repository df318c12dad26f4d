"""Connections before anything is known of who opened them: large heads, slow ones, silent ones, and too many."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.server.http.test_protocol import whole
from tests.server.server_helpers import created, path
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

START = b"GET /health HTTP/1.1\r\nHost: x\r\n"
CONNECTIONS = 8


@pytest.fixture(scope="module")
def strict(whole_run: Run) -> Iterator[Lanceway]:
    """A server with little patience, and few connections."""
    limits = f"head_timeout = 1\nsend_timeout = 1\nmax_connections = {CONNECTIONS}\n"
    server = lanceway.start(whole_run, settings=f"[server]\n{limits}")
    yield server
    assert server.stop() == 0


def connect(server: Lanceway) -> socket.socket:
    url = httpx.URL(server.address)
    return socket.create_connection((str(url.host), url.port or 0), timeout=60)


def answer_to(server: Lanceway, *parts: bytes) -> bytes:
    """All that comes back; what is sent after the server has closed is lost."""
    with connect(server) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            """The server has closed."""
        try:
            return whole(connection)
        except ConnectionResetError:
            return b""


def is_healthy(server: Lanceway) -> bool:
    with server.client() as client:
        return client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "head",
    [
        START + b"a: b\r\n" * 100 + b"\r\n",
        START + b"a: " + b"x" * 70_000 + b"\r\n\r\n",
        START + b"".join(b"a%d: %b\r\n" % (i, b"x" * 1_000) for i in range(70)) + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["many", "one large", "large together", "line"],
)
def test_a_large_head_is_431(server: Lanceway, head: bytes) -> None:
    answer = answer_to(server, head)
    assert answer.startswith(b"HTTP/1.1 431 "), answer[:200]
    assert b'"code":13' in answer


@pytest.mark.parametrize("start", [START + b"a: ", b"GET /", START + b"x" * 100], ids=["value", "line", "name"])
def test_a_head_without_end_is_cut(server: Lanceway, start: bytes) -> None:
    answer = answer_to(server, start, *[b"x" * 2**16] * 400)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 "), answer[:200]
    assert is_healthy(server)


def test_what_follows_a_chunked_body_is_cut_too_and_is_no_header(server: Lanceway) -> None:
    where = path("namespace", ["lake"], "describe")
    head = (
        f"POST /lance/v1/{where} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n"
    ).encode()
    token = f"Authorization: Bearer {server.token}\r\n".encode()
    body = b"2\r\n{}\r\n0\r\n"
    assert answer_to(server, head + token + b"\r\n" + body + b"a: b\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert answer_to(server, head + b"\r\n" + body + token + b"\r\n").startswith(b"HTTP/1.1 401 ")
    answer = answer_to(server, head + token + b"\r\n" + body + b"a: ", *[b"x" * 2**16] * 100)
    assert b"200 OK" not in answer


def test_a_head_of_usual_size_is_read(server: Lanceway) -> None:
    head = START + b"".join(b"a%d: %b\r\n" % (i, b"x" * 600) for i in range(90)) + b"Connection: close\r\n\r\n"
    assert answer_to(server, head).startswith(b"HTTP/1.1 200 ")
    assert answer_to(server, *(head[i : i + 1000] for i in range(0, len(head), 1000))).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "start", [b"", b"G", START, START + b"\r\n" + START], ids=["silent", "letter", "half", "second"]
)
def test_a_head_that_does_not_come_is_408(strict: Lanceway, start: bytes) -> None:
    """The connection is closed by the server: `whole` would else wait for its minute, and raise."""
    answer = answer_to(strict, start)
    assert answer.count(b"HTTP/1.1 408 ") == 1, answer
    assert answer.count(b"HTTP/1.1 200 ") == start.count(b"\r\n\r\n")


def test_silent_connections_keep_nobody_out(strict: Lanceway) -> None:
    with ExitStack() as opened:
        silent = [opened.enter_context(connect(strict)) for _ in range(CONNECTIONS * 4)]
        assert is_healthy(strict)
        ended = [connection for connection in silent if _has_ended(connection)]
        assert len(ended) >= CONNECTIONS * 3


def _has_ended(connection: socket.socket) -> bool:
    """Whether the server has closed it, with a refusal or without."""
    connection.setblocking(False)
    try:
        connection.recv(1)
        return True
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False


def test_connections_at_work_are_kept(strict: Lanceway) -> None:
    """Where each connection has a request, a further one is told to come back."""
    where = f"POST /lance/v1/{path('namespace', ['lake'], 'describe')} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
    head = f"{where}Authorization: Bearer {strict.token}\r\nContent-Type: application/json\r\n\r\n".encode()
    with ExitStack() as opened:
        busy = [opened.enter_context(connect(strict)) for _ in range(CONNECTIONS)]
        for connection in busy:
            connection.sendall(head + b"{")
        further = answer_to(strict, START + b"\r\n")
        assert further.startswith(b"HTTP/1.1 503 "), further
        assert b"retry-after" in further
        for connection in busy:
            connection.sendall(b"}")
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_does_not_read_is_cut_off(strict: Lanceway) -> None:
    from tests.server.server_helpers import ask, batches, sent, space

    id_ = [*space(strict), "large"]
    assert ask(strict, "table", id_, "create", content=sent(batches(20))).status_code == 200
    body = b'{"k":0,"vector":{}}'
    with connect(strict) as connection:
        connection.sendall(
            f"POST /lance/v1/{path('table', id_, 'query')} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {strict.token}\r\nx-request-id: unread\r\n"
            "Content-Type: application/json\r\n\r\n".encode()
            + body
        )
        assert strict.logged("unread")["bytes"] < 20 * 2**21, "the answer ended while most of it was unread"


def test_other_tables_are_served_meanwhile(strict: Lanceway) -> None:
    assert created(strict, 1)
