"""A way for bytes from a task's worker into the JVM, beside the one that Spark has made.

Through Spark's own socket, bytes travel as values of rows and are copied several times on their way. What a scan reads
goes through a socket of the file system instead, from which the JVM reads straight into its columns (`Columnar.java`).
The rows that Spark is given only say where that socket is.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterable, Iterator
from threading import Thread
from typing import TYPE_CHECKING

from lanceway import config

if TYPE_CHECKING:
    import pyarrow as pa

PREFIX = b"unix:"
_FOLDER, _NAME = "lanceway-", "s"
# The name of a socket has to be shorter than that, whatever the system.
_LONGEST = 100
# How long the JVM may take for reading one row and connecting, before it is taken for gone.
_PATIENCE = 120


def through(messages: Iterable[pa.Buffer], buffered: int | None = None) -> Iterator[bytes]:
    """Send messages through a socket of their own, and give what tells the JVM of it.

    Something large follows, so that the worker passes on what it buffers, `buffered` bytes at most. Nothing more comes
    until all is sent, or the JVM has read enough and hung up. What goes wrong while messages are made is raised here.
    """
    size = buffered or config.spark_buffer()
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as folder, socket.socket(socket.AF_UNIX) as listening:
        name = os.path.join(folder, _NAME)
        listening.bind(name)
        listening.listen(1)
        sender = _Sender(listening, messages)
        sender.start()
        yield PREFIX + name.encode()
        yield bytes(2 * size)
        sender.join()
        if sender.failure is not None:
            raise sender.failure


def are_possible() -> bool:
    """Whether this system has such sockets, and a place whose name is short enough for them."""
    name = os.path.join(tempfile.gettempdir(), f"{_FOLDER}12345678", _NAME)
    return hasattr(socket, "AF_UNIX") and len(name.encode()) < _LONGEST


class _Sender(Thread):
    """Sends beside the worker's own thread, which may have to wait until the JVM has read what Spark sends it."""

    failure: BaseException | None = None

    def __init__(self, listening: socket.socket, messages: Iterable[pa.Buffer]) -> None:
        super().__init__(name="lanceway-sender", daemon=True)
        self._listening, self._messages = listening, messages

    def run(self) -> None:
        try:
            self._send()
        except BaseException as error:  # noqa: BLE001 - it belongs to the worker's own thread
            self.failure = error

    def _send(self) -> None:
        self._listening.settimeout(_PATIENCE)
        connection, _ = self._listening.accept()
        with connection:
            connection.setblocking(True)
            for message in self._messages:
                try:
                    connection.sendall(message)
                except (BrokenPipeError, ConnectionResetError):
                    return  # the JVM has read enough
