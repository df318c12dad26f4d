"""Connections to one server that are used again."""

from __future__ import annotations

import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

from lanceway.wire.failures import Lost, Reason, unreached

_CONNECTIONS, _IDLE = 100, 32
# Servers close an idle connection after five seconds or more: it must not be used in that very moment.
IDLE_SECONDS = 4.0
_EVER = float("inf")


class Pool:
    """Shared by the threads of one process. Closed, it keeps no connection, but may be used all the same."""

    def __init__(self, opened: Callable[[], HTTPConnection], seconds: float) -> None:
        """`opened` makes a connection, `seconds` is how long to wait for one and for each word on it."""
        self._opened, self._seconds = opened, seconds
        self._free = threading.BoundedSemaphore(_CONNECTIONS)
        self._idle: deque[tuple[float, HTTPConnection]] = deque()
        self._is_closed = False

    def take(self) -> HTTPConnection:
        """A connection that stands, to be given back. Raises Lost where there is none."""
        if not self._free.acquire(timeout=self._seconds):
            raise Lost(Reason.BUSY)
        connection = None
        try:
            connection = self._kept() or self._new()
        finally:
            if connection is None:
                self._free.release()
        return connection

    def give_back(self, connection: HTTPConnection, *, is_clean: bool) -> None:
        """`is_clean`: the last answer was read to its end, and another request may follow."""
        now = time.monotonic()
        if is_clean and not self._is_closed and connection.sock is not None and len(self._idle) < _IDLE:
            self._idle.append((now, connection))
        else:
            connection.close()
        self._free.release()
        # Looked at again: it may have been closed just now.
        self._drop(_EVER if self._is_closed else now - IDLE_SECONDS)

    def close(self) -> None:
        self._is_closed = True
        self._drop(_EVER)

    def _kept(self) -> HTTPConnection | None:
        """The one that was used last: others may rest, and end."""
        with suppress(IndexError):  # no more are left
            while True:
                since, connection = self._idle.pop()
                if time.monotonic() - since < IDLE_SECONDS and not _has_news(connection):
                    return connection
                connection.close()
        return None

    def _new(self) -> HTTPConnection:
        connection = self._opened()
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise unreached(error) from error
        connection.sock.settimeout(self._seconds)
        return connection

    def _drop(self, before: float) -> None:
        """Close those that have been idle since `before`."""
        with suppress(IndexError):  # no more are left
            while self._idle[0][0] <= before:
                self._idle.popleft()[1].close()


def _has_news(connection: HTTPConnection) -> bool:
    """Whether the server has something to say that nobody asked for: mostly that it is gone."""
    if sys.platform == "win32":  # where a socket may have any number, and there is no poll
        return bool(select.select([connection.sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
