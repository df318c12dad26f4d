"""A server on loopback that writes down all that it is sent, and refuses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Listener:
    endpoint: str
    heads: list[str] = field(default_factory=list)  # of each request: its line and its headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _refuse(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.listener.heads.append(f"{self.requestline}\n{self.headers}")
        self.close_connection = True
        self.send_response(403)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_CONNECT = _refuse  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    listener: Listener


@contextmanager
def listen() -> Iterator[Listener]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.listener = Listener(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
