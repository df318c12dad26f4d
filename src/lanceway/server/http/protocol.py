"""HTTP of one connection, with the limits that uvicorn leaves to others.

Before a head is complete nothing is known of who sends it, so all of this holds for anyone: a head has a largest size
and a longest time, connections have a largest number, and a client that does not read its answer is cut off.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import getrandbits
from typing import Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lanceway.wire import lance

HEAD_BYTES = 64 * 2**10
HEAD_FIELDS = 100
_INVALID, _BUSY = 13, 17  # the protocol's codes
_GOODBYE = b"CLOSE /"
# What the application has in its state to be called when the server begins to stop: its lifespan ends later, when all
# requests are answered, and some of them wait for something to happen.
STOPPING = "stopping"
# A larger write is worth a packet of its own, and not worth a copy.
_SMALL_BYTES = 16 * 2**10


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How much of the server connections may take, before and after a request."""

    connections: int
    head_seconds: float
    send_seconds: float


class _TooLargeError(Exception):
    """A head beyond its limits, raised through the parser."""


class JoinedWrites:
    """A transport that sends the head of an answer and its body in one packet.

    uvicorn writes them one after the other, and uvloop makes a system call of each. So a small write waits for the one
    that follows, until the event loop's next turn at most. docs/decisions/020 has what that saves.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting = b""
        self._is_scheduled = False
        # Asked for in every request: found here, they need no `__getattr__`.
        self.is_closing, self.resume_reading = transport.is_closing, transport.resume_reading

    def write(self, data: bytes) -> None:
        if len(data) >= _SMALL_BYTES:
            self._flush()
            self._transport.write(data)
        elif self._waiting:
            head, self._waiting = self._waiting, b""
            self._transport.write(head + data)
        else:
            self._waiting = data
            if not self._is_scheduled:
                self._is_scheduled = True
                self._loop.call_soon(self._end_turn)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _end_turn(self) -> None:
        self._is_scheduled = False
        self._flush()

    def _flush(self) -> None:
        head, self._waiting = self._waiting, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol on httptools, which itself has no limits."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._has_begun = False  # a head, which is not complete
        self._is_surplus = False
        self._unread = 0  # bytes since the last part of a message that was complete
        self._refusal: tuple[int, int, str] | None = None
        self._idle_since = 0.0
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    # -- connections -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport, self.loop)))
        self._idle_since = self.loop.time()
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
        if len(self.connections) > self._limits.connections:
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest, or refuse this one where all others are at work."""
        others = (other for other in self.connections if isinstance(other, LimitedProtocol) and other is not self)
        idle = [other for other in others if other.is_idle]
        longest = min(idle, key=lambda other: other._idle_since, default=self)
        if longest is not self:
            longest.close_idle()
        elif len(self.connections) <= 2 * self._limits.connections:
            # Closed at once, with its request unread, it would be reset before the client has the answer.
            self._is_surplus = True
        else:
            self.close_idle()

    def shutdown(self) -> None:
        """Begin to stop: uvicorn calls it for every connection, and then waits for their answers."""
        stopping = self.app_state.get(STOPPING)
        if stopping is not None:
            stopping()
        super().shutdown()

    @property
    def is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def close_idle(self) -> None:
        # It stays among the connections until the loop has closed it, and must not be chosen twice.
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._send_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    # -- heads -----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_surplus:
            self._refuse(503, _BUSY, "The server has as many connections as it takes. Try again later.")
            return
        if data.startswith(_GOODBYE) and self.is_idle and not self._has_begun:
            self._part()
            return
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unread > HEAD_BYTES:  # of a head, of what follows a chunked body, or of a chunk's size
            self._refuse(*_too_large())
        elif self._has_begun and self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _part(self) -> None:
        """Answer a client of Gravitino REST that says goodbye with a method of its own, which the parser refuses."""
        self.transport.write(STATUS_LINE[204] + b"connection: close\r\n\r\n")
        self.transport.close()

    def on_message_begin(self) -> None:
        self._has_begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # Counted once, here: a method for each header would cost more than all else in this class.
        if len(self.headers) > HEAD_FIELDS or (self._unread > HEAD_BYTES and self._head_size() > HEAD_BYTES):
            self._refusal = _too_large()
            raise _TooLargeError
        self._has_begun = False
        self._unread = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()
        # What follows a chunked body is not part of the head: by then it has been decided who asks.
        self.headers = []

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        super().on_message_complete()

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if not self.is_idle:  # it waits for the answer to the request before, and is not read meanwhile
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
            return
        seconds = self._limits.head_seconds
        self._refuse(408, _BUSY, f"The head of the request was not complete after {seconds:g} seconds. Send it again.")

    # -- answers ---------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._send_timer = self.loop.call_later(self._limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
        super().resume_writing()

    # -- refusals --------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser does not take; uvicorn calls it for any error of the parser."""
        self._refuse(*(self._refusal or (400, _INVALID, "The request is not valid HTTP/1.1. Correct the client.")))

    def _refuse(self, status: int, code: int, message: str) -> None:
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()  # in the middle of an answer, no other one can be sent
            return
        request_id = f"{getrandbits(128):032x}"
        body = msgspec.json.encode(lance.error_body(message, code, request_id))
        retry = "retry-after: 1\r\n" if code == _BUSY else ""
        head = (
            f"content-type: {lance.JSON}\r\ncontent-length: {len(body)}\r\n{lance.REQUEST_ID}: {request_id}\r\n"
            f"{retry}connection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + body)
        self.transport.close()


def _too_large() -> tuple[int, int, str]:
    text = f"The head of the request is too large: it may have {HEAD_FIELDS} headers and {HEAD_BYTES:,} bytes."
    return 431, _INVALID, text
