"""A fake, for what no real server shows when it is asked: it keeps connections, and hangs up, as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept"


@dataclass
class Keeping:
    uri: str
    answer: bytes = ANSWER
    # Every connection that there was; one has ended when its thread has.
    threads: list[threading.Thread] = field(default_factory=list)
    sockets: list[socket.socket] = field(default_factory=list)
    requests: int = 0

    def hang_up(self) -> None:
        """Close all connections, as a server does with those that rest."""
        for connection in self.sockets:
            with suppress(OSError):  # it is gone already
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            unread = b""
            while True:
                while b"\r\n\r\n" not in unread:
                    more = connection.recv(65536)
                    if not more:
                        return
                    unread += more
                head, _, unread = unread.partition(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                while len(unread) < size:
                    unread += connection.recv(65536)
                unread = unread[size:]
                self.requests += 1
                connection.sendall(self.answer)


@contextmanager
def keeping() -> Iterator[Keeping]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Keeping(f"http://127.0.0.1:{listening.getsockname()[1]}")

        def accept() -> None:
            with suppress(OSError):  # no longer listening
                while True:
                    connection, _ = listening.accept()
                    server.sockets.append(connection)
                    server.threads.append(threading.Thread(target=server.serve, args=[connection]))
                    server.threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            server.hang_up()
