"""A fake that stands for a bad network and an overloaded server, since no real server shows faults on demand.

It is a proxy: it runs in the test's process, on loopback, and forwards every request to a real server. A fault happens
to the next request that it is meant for:

    with Proxy(server.endpoint) as proxy:
        proxy.next(Refuse(503, {"Retry-After": "0"}), Lose(method="DELETE"))
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to a request, if it has this method and this text in its path."""

    method: str = ""
    path: str = ""

    def is_for(self, method: str, path: str) -> bool:
        return self.method in ("", method) and self.path in path


@dataclass(frozen=True)
class Refuse(Fault):
    """The server is not asked; this is answered in its stead."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Break(Fault):
    """The connection ends before the server is asked."""


@dataclass(frozen=True)
class Lose(Fault):
    """The server does what it is asked, and its answer is lost."""


@dataclass(frozen=True)
class Halve(Fault):
    """The answer breaks off in its middle; `honest`: its length says that it is short, so that it looks whole."""

    honest: bool = False


@dataclass(frozen=True)
class Delay(Fault):
    """The answer takes this much longer."""

    seconds: float


class Proxy:
    """Forwards requests to a server, and remembers each that came."""

    def __init__(self, target: str) -> None:
        self._target = target.rstrip("/")
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        self.busiest, self._busy = 0, 0  # how many requests the server had at once, at most and now
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def endpoint(self) -> str:
        """The proxy's address, with the path that the server's has."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{urlsplit(self._target).path}"

    def next(self, *faults: Fault) -> None:
        """What shall happen, each once, in this order where several are meant for a request."""
        with self._lock:
            self._faults.extend(faults)

    @property
    def waiting(self) -> list[Fault]:
        """The faults that have not happened yet."""
        with self._lock:
            return list(self._faults)

    def sent(self, method: str = "", path: str = "") -> int:
        """How many requests came that have this method and this text in their paths."""
        return sum(method in ("", found) and path in where for found, where in list(self.requests))

    def take(self, method: str, path: str) -> Fault | None:
        """The fault that happens to this request, which came just now."""
        with self._lock:
            self.requests.append((method, path))
            found = next((fault for fault in self._faults if fault.is_for(method, path)), None)
            if found is not None:
                self._faults.remove(found)
            return found

    def target(self) -> str:
        """The server that the next request goes to."""
        return self._target

    def forward(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        with self._lock:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        parts = urlsplit(self.target())
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
        try:
            connection.request(method, path, body or None, dict(headers))
            answer = connection.getresponse()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP]
            return answer.status, kept, answer.read()
        finally:
            connection.close()
            with self._lock:
                self._busy -= 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or an answer's body waits until its headers are acknowledged

        def answer(self) -> None:
            fault, body = proxy.take(self.command, self.path), self._body()
            if isinstance(fault, Break):
                self.close_connection = True
                return
            if isinstance(fault, Refuse):
                self._write(fault.status, list(fault.headers.items()), fault.body)
                return
            sent = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            status, headers, content = proxy.forward(self.command, self.path, sent, body)
            if isinstance(fault, Lose):
                self.close_connection = True
                return
            if isinstance(fault, Delay):
                time.sleep(fault.seconds)
            self._write(status, headers, content, fault if isinstance(fault, Halve) else None)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names that the library looks for

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            found = bytearray()
            while size := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return bytes(found)

        def _write(
            self, status: int, headers: list[tuple[str, str]], content: bytes, halve: Halve | None = None
        ) -> None:
            shown = content if halve is None else content[: len(content) // 2]
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            if status != http.HTTPStatus.NO_CONTENT:
                self.send_header("Content-Length", str(len(shown if halve and halve.honest else content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(shown)
            self.close_connection = self.close_connection or halve is not None

        def handle(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # a client that has waited long enough
                super().handle()

        def log_message(self, *_: object) -> None:
            """The tests say what matters."""

    return Handler
