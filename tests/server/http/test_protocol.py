"""HTTP itself: what goes over the wire, seen from a bare socket."""

from __future__ import annotations

import socket

import httpx
import pytest

from tests.server.server_helpers import created, path, space
from tests.servers.lanceway import Lanceway


def asked(server: Lanceway, where: str, *lines: str, method: str = "POST") -> bytes:
    head = [f"{method} {where} HTTP/1.1", "Host: x", f"Authorization: Bearer {server.token}", *lines]
    return "\r\n".join([*head, "\r\n"]).encode()


@pytest.fixture
def connection(server: Lanceway) -> socket.socket:
    url = httpx.URL(server.address)
    return socket.create_connection((str(url.host), url.port or 0), timeout=60)


def whole(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    parts = []
    while part := connection.recv(2**16):
        parts.append(part)
    return b"".join(parts)


def test_answers_to_requests_that_did_not_wait_come_in_order(server: Lanceway, connection: socket.socket) -> None:
    here, there = (f"/lance/v1/{path('namespace', id_, 'exists')}" for id_ in (space(server), ["lake", "nowhere"]))
    with connection:
        connection.sendall(
            asked(server, here, "Content-Length: 0")
            + asked(server, there, "Content-Length: 0")
            + asked(server, here, "Content-Length: 0", "Connection: close")
        )
        statuses = [part[:3] for part in whole(connection).split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404", b"200"]


def test_a_client_that_waits_for_a_word_before_its_body_gets_it(server: Lanceway, connection: socket.socket) -> None:
    where = f"/lance/v1/{path('table', created(server, 1), 'describe')}"
    with connection:
        lines = ("Content-Type: application/json", "Content-Length: 2", "Expect: 100-continue", "Connection: close")
        connection.sendall(asked(server, where, *lines))
        assert connection.recv(2**16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert whole(connection).startswith(b"HTTP/1.1 200 ")


def test_what_is_no_http_is_told_so(connection: socket.socket) -> None:
    with connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert whole(connection).startswith(b"HTTP/1.1 400 ")
