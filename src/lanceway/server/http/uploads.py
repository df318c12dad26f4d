"""Bodies of requests: JSON is read as a whole, Arrow is handed to a thread as it arrives."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable

import msgspec
from starlette.types import Message, Receive

from lanceway.errors import InvalidInputError
from lanceway.server.http.errors import BodyTooLargeError, MediaTypeError, SilentClientError
from lanceway.wire import lance

# A body of JSON is held in memory, so it has a limit of its own below `max_body_bytes`.
JSON_BODY_BYTES = 64 * 2**20
# The buffer between a client that sends and a catalog that reads.
UPLOAD_BUFFER_BYTES = 8 * 2**20
# A client that is silent for so long in the middle of its body has gone, whatever its connection says.
SILENCE_SECONDS = 60.0


class ClientGoneError(InvalidInputError):
    """The client closed its connection in the middle of its body; the answer is never read."""

    status = 499


JSON_TYPES = (lance.JSON.encode(),)
ARROW_TYPES = (lance.ARROW_STREAM.encode(), lance.ARROW_FILE.encode())


def check_type(headers: Iterable[tuple[bytes, bytes]], accepted: tuple[bytes, ...]) -> None:
    """Refuse a body whose Content-Type is none of these: a web page may send any other without asking first."""
    is_named = False
    for name, value in headers:
        if name == b"content-type":
            is_named = value in accepted or value.partition(b";")[0].strip().lower() in accepted
            if not is_named:
                break
    if not is_named:
        raise MediaTypeError(
            f"The body has no Content-Type that this operation reads. Send it as {b' or '.join(accepted).decode()}."
        )


def check_length(headers: Iterable[tuple[bytes, bytes]], most: int) -> None:
    """Refuse a body whose Content-Length is too large, before any of it is read."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise _too_large(most)


async def read_json(receive: Receive, headers: Iterable[tuple[bytes, bytes]], most: int) -> object:
    """Read the body as JSON; None where there is no body at all. Raises MediaTypeError if it is not sent as JSON."""
    most = min(most, JSON_BODY_BYTES)
    message = await _next(receive)
    body: bytes = message.get("body", b"")
    if body or message.get("more_body"):
        check_type(headers, JSON_TYPES)
    if message.get("more_body"):
        body = await _read_remaining(receive, body, most)
    if len(body) > most:
        raise _too_large(most)
    return parse_json(body) if body else None


def parse_json(body: bytes) -> object:
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # The message leaves the body out: it may hold a credential.
        raise InvalidInputError(
            "The body is not valid JSON in UTF-8. Send one JSON object, or no body at all."
        ) from error
    return value


async def _read_remaining(receive: Receive, first: bytes, most: int) -> bytes:
    parts, length, more = [first], len(first), True
    while more:
        message = await _next(receive)
        part = message.get("body", b"")
        parts.append(part)
        length += len(part)
        if length > most:
            raise _too_large(most)
        more = message.get("more_body", False)
    return b"".join(parts)


async def _next(receive: Receive) -> Message:
    """Return the next part of a body. Raises SilentClientError or ClientGoneError."""
    try:
        async with asyncio.timeout(SILENCE_SECONDS):
            message = await receive()
    except TimeoutError as error:
        raise SilentClientError(
            f"The client sent nothing for {SILENCE_SECONDS:g} seconds in the middle of its body. Nothing was changed."
        ) from error
    if message["type"] == "http.disconnect":
        raise ClientGoneError("The client closed the connection in the middle of its body. Nothing was changed.")
    return message


def _too_large(most: int) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"The body is larger than the {most} bytes that this server takes. Send it in parts, or raise max_body_bytes."
    )


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

    async def fill(self, receive: Receive, most: int) -> None:
        """Receive the whole body. An error that ends it early is raised in the reader."""
        received, more = 0, True
        try:
            while more:
                message = await _next(receive)
                body = message.get("body", b"")
                received += len(body)
                if received > most:
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
