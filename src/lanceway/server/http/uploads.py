"""Bodies of requests: JSON is read as a whole, Arrow is handed to a thread as it arrives."""

from __future__ import annotations

import asyncio
import threading
import time
import types
from collections import deque
from collections.abc import Awaitable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import Message, Receive

from lanceway.errors import InvalidInputError
from lanceway.server.http.errors import BodyTooLargeError, MediaTypeError, SilentClientError
from lanceway.wire import lance

# A body of JSON above this size is parsed on a thread: the event loop serves others meanwhile.
JSON_IN_LOOP_BYTES = 64 * 2**10
# The buffer between a client that sends and a catalog that reads.
UPLOAD_BUFFER_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class UploadPace:
    """How slow a client may send: in so many seconds at least `rate` bytes for each. A slower one holds up others."""

    seconds: float = 60.0
    rate: int = 1024


_PACE = UploadPace()


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How large a body may be, and how slowly it may come."""

    arrow: int
    json: int
    pace: UploadPace


class ClientGoneError(InvalidInputError):
    """The client closed its connection in the middle of its body; the answer is never read."""

    status = 499


_SHOWN = 100  # characters of a header in a message
JSON_TYPES = (lance.JSON.encode(),)
ARROW_TYPES = (lance.ARROW_STREAM.encode(), lance.ARROW_FILE.encode())


def check_type(headers: Iterable[tuple[bytes, bytes]], accepted: tuple[bytes, ...]) -> None:
    """Refuse a body whose Content-Type is none of these: a web page may send any other without asking first."""
    is_named, what = False, "The body has no Content-Type."
    for name, value in headers:
        if name == b"content-type":
            is_named = value in accepted or value.partition(b";")[0].strip().lower() in accepted
            if not is_named:
                what = f"The Content-Type {value.decode('latin-1')[:_SHOWN]!r} is not one that this operation reads."
                break
    if not is_named:
        raise MediaTypeError(f"{what} Send the body as {b' or '.join(accepted).decode()}.")


def check_length(headers: Iterable[tuple[bytes, bytes]], most: int) -> None:
    """Refuse a body whose Content-Length is too large, before any of it is read."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise _too_large(most)


async def read_json(receive: Receive, headers: Iterable[tuple[bytes, bytes]], limits: BodyLimits) -> object:
    """Read the body as JSON; None where there is no body at all. Raises MediaTypeError if it is not sent as JSON."""
    body = await read_body(receive, min(limits.json, limits.arrow), limits.pace, "max_json_bytes")
    if not body:
        return None
    check_type(headers, JSON_TYPES)
    return parse_json(body) if len(body) <= JSON_IN_LOOP_BYTES else await asyncio.to_thread(parse_json, body)


async def read_body(receive: Receive, most: int, pace: UploadPace = _PACE, setting: str | None = None) -> bytes:
    """Read a whole body. Raises BodyTooLargeError, SilentClientError or ClientGoneError."""
    body = BodyReceiver(receive, pace)
    message = await body.next()
    parts: list[bytes] = [message.get("body", b"")]
    while body.received <= most and message.get("more_body"):
        message = await body.next()
        parts.append(message.get("body", b""))
    if body.received > most:
        raise _too_large(most, setting)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def parse_json(body: bytes) -> object:
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # The message leaves the body out: it may hold a credential.
        raise InvalidInputError(
            "The body is not valid JSON in UTF-8. Send one JSON object, or no body at all."
        ) from error
    return value


async def _within(seconds: float, receiving: Awaitable[Message]) -> Message:
    """Await a part of a body. Raises TimeoutError if it takes too long.

    Most bodies are there before they are asked for, and a timer costs more than reading them: so one is set only where
    something has to be waited for.
    """
    steps = receiving.__await__()
    try:
        awaited = next(steps)
    except StopIteration as done:
        message: Message = done.value
        return message
    async with asyncio.timeout(seconds):
        return await _resume(steps, awaited)


@types.coroutine
def _resume(steps: Generator[Any, Any, Message], awaited: Any) -> Generator[Any, Any, Message]:
    """Wait for the first thing that is awaited, then take the steps that follow."""
    try:
        yield awaited
    except BaseException:  # it is late, or the server stops
        steps.close()
        raise
    return (yield from steps)


class BodyReceiver:
    """Receives a body part by part from a client that must keep up its pace."""

    def __init__(self, receive: Receive, pace: UploadPace) -> None:
        self._receive, self._pace = receive, pace
        self.received = 0  # bytes
        self._waited, self._of_window = 0.0, 0

    async def next(self) -> Message:
        """Return the next part. Raises SilentClientError or ClientGoneError."""
        started = time.monotonic()
        try:
            message = await _within(self._pace.seconds, self._receive())
        except TimeoutError as error:
            raise self._slow() from error
        if message["type"] == "http.disconnect":
            raise ClientGoneError("The client closed the connection in the middle of its body. Nothing was changed.")
        size = len(message.get("body", b""))
        self.received += size
        if message.get("more_body"):
            self._count(size, time.monotonic() - started)
        return message

    def _count(self, size: int, seconds: float) -> None:
        # Only the time that the client is waited for counts, not that in which the catalog makes it wait.
        self._waited += seconds
        self._of_window += size
        if self._waited >= self._pace.seconds:
            if self._of_window < self._pace.rate * self._pace.seconds:
                raise self._slow()
            self._waited, self._of_window = 0.0, 0

    def _slow(self) -> SilentClientError:
        return SilentClientError(
            f"The client sent less than {self._pace.rate} bytes a second of its body, over {self._pace.seconds:g} "
            "seconds. Nothing was changed. Send it when it is complete, or raise upload_timeout."
        )


def _too_large(most: int, setting: str | None = "max_body_bytes") -> BodyTooLargeError:
    advice = f", or raise {setting}" if setting else ""
    return BodyTooLargeError(f"The body is larger than the {most:,} bytes that are taken here. Send less{advice}.")


class UploadStream:
    """A body between the event loop, which fills it, and a thread, which reads it like a file.

    It holds a bounded number of bytes: `fill` waits until some have been read. An error that ends the filling
    is raised from `read`, so that the reader takes back what it began.
    """

    closed = False

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._parts: deque[bytes] = deque()
        self._buffered = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._room: asyncio.Event = asyncio.Event()

    # -- in the event loop -----------------------------------------------------------------------

    async def fill(self, receive: Receive, limits: BodyLimits) -> None:
        """Receive the whole body. An error that ends it early is raised in the reader."""
        receiver, most, more = BodyReceiver(receive, limits.pace), limits.arrow, True
        try:
            while more:
                message = await receiver.next()
                body = message.get("body", b"")
                if receiver.received > most:
                    raise _too_large(most)
                if body:
                    await self._put(body)
                more = message.get("more_body", False)
        except (InvalidInputError, SilentClientError) as error:
            self.end(error)
        else:
            self.end()

    async def _put(self, part: bytes) -> None:
        with self._changed:
            self._parts.append(part)
            self._buffered += len(part)
            is_full = self._buffered > UPLOAD_BUFFER_BYTES
            if is_full:
                self._room.clear()
            self._changed.notify()
        if is_full:
            await self._room.wait()

    def end(self, failure: BaseException | None = None) -> None:
        """End the stream, with a failure if it is incomplete. Only the first call counts."""
        with self._changed:
            if not self._ended:
                self._ended, self._failure = True, failure
            self._changed.notify()

    # -- in the thread ---------------------------------------------------------------------------

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        missing = size if size >= 0 else -1
        while missing:
            part = self._take(missing)
            if not part:
                break
            parts.append(part)
            if missing > 0:
                missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _take(self, most: int) -> bytes:
        """Wait for the next part, and return at most so many bytes of it; nothing at the end."""
        with self._changed:
            while not self._parts and not self._ended:
                self._changed.wait()
            if self._failure is not None:
                raise self._failure
            if not self._parts:
                return b""
            part = self._parts.popleft()
            if 0 <= most < len(part):
                self._parts.appendleft(part[most:])
                part = part[:most]
            was_full = self._buffered > UPLOAD_BUFFER_BYTES
            self._buffered -= len(part)
            has_room = was_full and self._buffered <= UPLOAD_BUFFER_BYTES
        if has_room:
            self._loop.call_soon_threadsafe(self._room.set)
        return part

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: the event loop drops what was not read."""
