"""A way to a Thrift server on which the requests are counted."""

from __future__ import annotations

import selectors
import socket
import socketserver
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PART = 65_536


class ThriftProxy:
    """Passes the bytes of every connection on to one server, and counts its requests.

    A client of Thrift sends a request and waits for the answer. So each request begins where bytes of the client follow
    those of the server, or are the first of a connection; no protocol need be understood.
    """

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 9083)
        self.requests: list[bytes] = []  # how each began
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False

    @property
    def endpoint(self) -> str:
        return f"thrift://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[socketserver.BaseRequestHandler]:
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                proxy._pass_on(self.request)

        return Handler

    def _pass_on(self, client: socket.socket) -> None:
        with socket.create_connection(self._target) as server, selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            is_answered = True
            while True:
                for key, _ in ready.select():
                    source, other = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    try:
                        part = source.recv(_PART)
                    except ConnectionError:
                        part = b""
                    if not part:
                        return
                    if source is client and is_answered:
                        self.requests.append(part)
                    is_answered = source is server
                    other.sendall(part)
