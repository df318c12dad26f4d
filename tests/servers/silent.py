"""A server that takes every connection and never says a word: what a network looks like that loses its packets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SilentServer:
    """`asked` is set as soon as a client has connected."""

    port: int
    asked: threading.Event = field(default_factory=threading.Event)


@contextmanager
def silence() -> Iterator[SilentServer]:
    """Listen on a free port until the block ends; then all connections are closed."""
    sockets: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SilentServer(listener.getsockname()[1])

        def accept() -> None:
            while True:
                try:
                    sockets.append(listener.accept()[0])
                except OSError:  # closed
                    return
                server.asked.set()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in sockets:
                connection.close()
