"""A fake, for what no real server shows when it is asked: it breaks off, stalls, lies and redirects as it is told.

It answers one request after another with the bytes of its script, and remembers what it was sent.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

Headers = Mapping[str, str]
# What is sent, before the connection is closed; or a function of the request that makes it.
Step = bytes | Callable[["Seen"], bytes]


@dataclass(frozen=True)
class Seen:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    whole: bool  # whether the body came to its end

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Faults:
    uri: str
    script: list[Step] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    # Set at the end: whoever stalls waits for this.
    over: threading.Event = field(default_factory=threading.Event)

    def will(self, *steps: Step) -> None:
        self.script.extend(steps)

    def stall(self, seen: Seen) -> bytes:
        """Say nothing until the test is over."""
        self.over.wait(60)
        return b""


def answer(status: int, body: bytes | object = b"", headers: Headers | None = None, *, missing: int = 0) -> bytes:
    """An HTTP answer; `missing` bytes of its body never come."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    given = {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {}), "Connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"HTTP/1.1 {status} Said so\r\n{lines}\r\n".encode() + content[: len(content) - missing]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        body, whole = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, body, whole)
        faults = self.server.faults
        faults.seen.append(seen)
        step = faults.script.pop(0) if faults.script else answer(500, b"the script is over")
        self.close_connection = True
        with suppress(OSError):  # the client may have gone
            self.wfile.write(step if isinstance(step, bytes) else step(seen))

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names that the library looks for

    def _body(self) -> tuple[bytes, bool]:
        if self.headers.get("transfer-encoding") != "chunked":
            wanted = int(self.headers.get("content-length", 0))
            found = self.rfile.read(wanted)
            return found, len(found) == wanted
        parts = []
        while size := int(self.rfile.readline().strip() or b"-1", 16):
            if size < 0:
                return b"".join(parts), False
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts), True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


class _Server(ThreadingHTTPServer):
    faults: Faults
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off is part of the play."""


@contextmanager
def faults(tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Faults]:
    """A server that is ready for its script."""
    server = _Server(("127.0.0.1", port), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    name = "localhost" if tls else "127.0.0.1"
    server.faults = Faults(f"http{'s' if tls else ''}://{name}:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.faults
    finally:
        server.faults.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
