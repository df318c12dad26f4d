"""Answers that are not whole are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lanceway.errors import ServiceUnavailableError
from lanceway.wire.http import Client
from tests.servers.faults import Faults
from tests.wire.client_helpers import CHANGE, READ

WRONG = {
    "no word": b"",
    "half a status": b"HTTP/1.1 20",
    "no head": b"HTTP/1.1 200 OK\r\n",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "a head without an end": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    "no header": b"HTTP/1.1 200 OK\r\nAll is well\r\nContent-Length: 2\r\n\r\n{}",
    "a header that goes on before it begins": b"HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\n{}",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
    "a length below 0": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "too short": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{}",
    "no chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ntwo\r\n{}\r\n0\r\n\r\n",
    "no last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "half of the last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "another version": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
}
WHOLE = {
    "a length": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "twice the same": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nX: y\r\n\r\n",
    "until its end": b"HTTP/1.0 200 OK\r\n\r\n{}",
    "after patience": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_an_answer_that_is_not_whole_is_none(
    faults: Faults, connect: Callable[..., Client], kind: str, way: str
) -> None:
    faults.will(WRONG[kind])
    client = connect(faults.uri, retries=0)
    with pytest.raises(ServiceUnavailableError, match="broke off"):
        client.send(CHANGE) if way == "whole" else list(client.stream(READ))


@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_answer_is_read(faults: Faults, connect: Callable[..., Client], kind: str) -> None:
    faults.will(WHOLE[kind], WHOLE[kind])
    assert connect(faults.uri).send(CHANGE).content == b"{}"
    assert b"".join(connect(faults.uri).stream(READ)) == b"{}"
