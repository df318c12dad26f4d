"""Connections: used again while that is sound, never more than there may be, and closed when nobody needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from lanceway.errors import ServiceUnavailableError
from lanceway.wire import transport
from lanceway.wire.http import Client
from tests.wire.client_helpers import CHANGE, READ
from tests.wire.keeping_server import ANSWER, Keeping, keeping

Connect = Callable[..., Client]


@pytest.fixture
def server() -> Iterator[Keeping]:
    with keeping() as server:
        yield server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_a_connection_is_used_again(server: Keeping, connect: Connect) -> None:
    client = connect(server.uri)
    assert [client.send(CHANGE).content for _ in range(3)] == [b"kept"] * 3
    assert b"".join(client.stream(READ)) == b"kept"
    assert client.send(CHANGE).content == b"kept"
    assert len(server.threads) == 1


def test_one_that_rested_too_long_is_not(server: Keeping, connect: Connect, clock: SimpleNamespace) -> None:
    client = connect(server.uri)
    client.send(CHANGE)
    clock.now += transport.IDLE_SECONDS - 0.1
    client.send(CHANGE)
    assert len(server.threads) == 1
    clock.now += transport.IDLE_SECONDS
    client.send(CHANGE)
    assert len(server.threads) == 2
    server.threads[0].join(10)
    assert not server.threads[0].is_alive()


def test_others_that_rested_too_long_are_closed_beside(
    server: Keeping, connect: Connect, clock: SimpleNamespace
) -> None:
    client = connect(server.uri)
    downloads = [client.stream(READ) for _ in range(3)]
    assert [b"".join(download) for download in downloads] == [b"kept"] * 3
    for _ in range(3):
        clock.now += transport.IDLE_SECONDS / 2
        client.send(READ)
    for thread in server.threads[:2]:
        thread.join(10)
    assert [thread.is_alive() for thread in server.threads] == [False, False, True]


def test_a_change_is_not_sent_where_the_server_hung_up(server: Keeping, connect: Connect) -> None:
    """It would be lost, and nobody could say whether it was carried out."""
    client = connect(server.uri, retries=0)
    client.send(CHANGE)
    server.hang_up()
    assert client.send(CHANGE).content == b"kept"
    assert server.requests == 2


def test_an_answer_that_was_left_does_not_answer_the_next_request(server: Keeping, connect: Connect) -> None:
    client = connect(server.uri)
    server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000
    download = client.stream(READ)
    next(iter(download))
    download.close()
    server.answer = ANSWER
    assert client.send(READ).content == b"kept"
    assert len(server.threads) == 2


def test_there_are_only_so_many(server: Keeping, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_CONNECTIONS", 2)
    client = connect(server.uri, timeout=0.2, retries=0)
    downloads = [client.stream(READ) for _ in range(2)]
    with pytest.raises(ServiceUnavailableError, match="are in use") as refused:
        client.send(CHANGE)
    assert "not known" not in str(refused.value)
    downloads.pop().close()
    assert client.send(CHANGE).content == b"kept"
    downloads.pop().close()


def test_one_that_cannot_be_made_takes_no_place(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_CONNECTIONS", 2)
    with keeping() as gone:
        pass
    client = connect(gone.uri, timeout=5, retries=0)
    for _ in range(3):
        with pytest.raises(ServiceUnavailableError, match="cannot be reached"):
            client.send(CHANGE)


def test_closing_lets_a_request_end_and_keeps_nothing(server: Keeping, connect: Connect) -> None:
    client = connect(server.uri)
    client.send(READ)
    under_way = client.stream(READ)
    client.close()
    assert b"".join(under_way) == b"kept"
    server.threads[0].join(10)
    assert not server.threads[0].is_alive()
    assert client.send(READ).content == b"kept"
    assert len(server.threads) == 2


def test_threads_do_not_share_a_connection_at_the_same_time(server: Keeping, connect: Connect) -> None:
    client = connect(server.uri)
    with ThreadPoolExecutor(8) as threads:
        assert {response.content for response in threads.map(lambda _: client.send(READ), range(200))} == {b"kept"}
    assert server.requests == 200
    assert len(server.threads) <= 8
