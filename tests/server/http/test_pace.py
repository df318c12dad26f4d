"""Bodies that are large for what they are, or come slowly: they keep nobody else waiting."""

from __future__ import annotations

import itertools
import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from lanceway.wire.lance import ARROW_STREAM
from tests.server.http.test_heads import connect
from tests.server.server_helpers import ask, count, created, path, refused, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

THREADS = 4


@pytest.fixture(scope="module")
def narrow(whole_run: Run) -> Iterator[Lanceway]:
    """A server with few threads for uploads."""
    server = lanceway.start(whole_run, settings=f"[server]\nthreads = {THREADS}\n")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def impatient(whole_run: Run) -> Iterator[Lanceway]:
    server = lanceway.start(whole_run, settings="[server]\nupload_timeout = 1\nmin_upload_rate = 1000\n")
    yield server
    assert server.stop() == 0


def begin(connection: socket.socket, token: str, where: str, kind: str, length: int = 10_000_000) -> None:
    head = f"POST {where} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nContent-Type: {kind}\r\n"
    connection.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())


def test_json_has_a_limit_of_its_own(server: Lanceway) -> None:
    id_ = created(server, 1)
    for size, status in ((2**19, 200), (2**21, 413)):
        answer = ask(server, "table", id_, "describe", {"context": {"a": "x" * size}})
        assert answer.status_code == status, answer.text
    assert "max_json_bytes" in answer.json()["error"]
    assert refused(ask(server, "table", id_, "describe", content=b'{"newer":[' + b"[]," * 2**20 + b"[]]}")) == (413, 13)


def test_large_json_that_is_none_is_told_so(server: Lanceway) -> None:
    """It is parsed on a thread, and its error comes from there."""
    assert refused(ask(server, "table", created(server, 1), "describe", content=b"[" * 2**17)) == (400, 13)


@pytest.mark.parametrize("where", ["/lance/v1/table/{id}/insert", "/lance/v1/table/{id}/describe"])
def test_a_body_that_comes_too_slowly_is_408(impatient: Lanceway, where: str) -> None:
    """A byte now and then is not enough."""
    id_ = created(impatient, 1)
    is_arrow = where.endswith("insert")
    kind, body = (ARROW_STREAM, stream(table(*range(5_000)))) if is_arrow else ("application/json", b" " * 50_000)
    with connect(impatient) as connection:
        begin(connection, impatient.token, where.replace("{id}", "%24".join(id_)), kind, len(body))
        connection.setblocking(False)
        answer = b""
        for place in itertools.count():
            with suppress(BlockingIOError):
                answer = connection.recv(2**16)
                break
            with suppress(OSError):
                connection.send(body[place : place + 1])
            time.sleep(0.05)
    assert answer.startswith(b"HTTP/1.1 408 "), answer
    assert b"upload_timeout" in answer
    assert count(impatient, id_) == 1


def test_uploads_of_one_user_leave_threads_for_others(narrow: Lanceway) -> None:
    id_ = created(narrow, 1)
    other = narrow.token_for(f"u{uuid.uuid4().hex}")
    with ExitStack() as opened:
        for _ in range(THREADS * 2):
            connection = opened.enter_context(connect(narrow))
            begin(connection, narrow.token, f"/lance/v1/{path('table', id_, 'insert')}", ARROW_STREAM)
            connection.sendall(b"\xff\xff\xff\xff")  # and nothing more
        assert count(narrow, id_) == 1, "the uploads have begun: this was asked after them"
        headers = {"authorization": f"Bearer {other}", "content-type": ARROW_STREAM}
        with narrow.client(headers=headers, timeout=30) as client:
            answer = client.post(f"/lance/v1/{path('table', id_, 'insert')}", content=stream(table(2)))
        assert answer.status_code == 200, answer.text
    assert count(narrow, id_) == 2


def test_a_user_who_waits_for_a_share_gets_it(narrow: Lanceway) -> None:
    """More uploads at once than the share has: all of them are done in the end."""
    id_ = created(narrow, 1)
    with ThreadPoolExecutor(THREADS * 2) as clients:
        answers = clients.map(
            lambda number: ask(narrow, "table", id_, "insert", content=stream(table(number))), range(THREADS * 2)
        )
        assert [answer.status_code for answer in answers] == [200] * THREADS * 2
    assert count(narrow, id_) == 1 + THREADS * 2


def test_a_short_answer_is_sent_whole(server: Lanceway) -> None:
    """Its head and its body are one packet: a client that has read the head has the body too."""
    id_ = "%24".join(created(server, 1))
    with connect(server) as connection:
        for _ in range(100):
            begin(connection, server.token, f"/lance/v1/table/{id_}/describe", "application/json", 0)
            head, _, body = connection.recv(2**16).partition(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
            assert len(body) == int(length.rpartition(b":")[2])
