"""Bodies that arrive: JSON held whole, Arrow handed on to a thread as it comes."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.types import Receive

from lanceway.errors import InvalidInputError
from lanceway.server.http import timeouts
from lanceway.server.http.errors import BodyTooLargeError, SilentClientError
from lanceway.server.http.limits import INFLOW_BYTES, JSON_BODY_BYTES, SILENCE_SECONDS


class ClientGoneError(InvalidInputError):
    """The client closed its connection in the middle of its body; nobody is left to read the answer."""

    status = 499


def check_length(headers: Iterable[tuple[bytes, bytes]], most: int) -> None:
    """Refuse a body that says by itself that it is too large, before any of it is read."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise _too_large(most)


async def read_json(receive: Receive, most: int) -> object:
    """The body as JSON; None where there is no body at all."""
    most = min(most, JSON_BODY_BYTES)
    message = await _next(receive)
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        body = await _rest(receive, body, most)
    if len(body) > most:
        raise _too_large(most)
    return parse_json(body) if body else None


def parse_json(body: bytes) -> object:
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # What the body holds stays out: it may be a credential.
        raise InvalidInputError(
            "The body is no valid JSON in UTF-8. Send one JSON object, or no body at all."
        ) from error
    return found


async def _rest(receive: Receive, first: bytes, most: int) -> bytes:
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


async def _next(receive: Receive) -> Any:
    """The next part of a body. A client that is silent or gone ends it."""
    try:
        message: Any = await timeouts.within(SILENCE_SECONDS, receive())  # type: ignore[arg-type]
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

    It holds a bounded number of bytes: whoever fills it waits until some have been read. An error that
    ends the filling is raised from `read`, so that whoever consumes the data takes back what it began.
    """

    closed = False

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._room: asyncio.Event = asyncio.Event()

    # -- in the event loop -----------------------------------------------------------------------

    async def fill(self, receive: Receive, most: int) -> None:
        """Take the whole body in. Whatever ends it early is kept for the reader."""
        taken, more = 0, True
        try:
            while more:
                message = await _next(receive)
                body = message.get("body", b"")
                taken += len(body)
                if taken > most:
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
            self._held += len(part)
            is_full = self._held > INFLOW_BYTES
            if is_full:
                self._room.clear()
            self._changed.notify()
        if is_full:
            await self._room.wait()

    def end(self, failure: BaseException | None = None) -> None:
        """There is no more; with a failure, what there is is not all. The first word counts."""
        with self._changed:
            if not self._ended:
                self._ended, self._failure = True, failure
            self._changed.notify()

    # -- in the thread ---------------------------------------------------------------------------

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        taken: list[bytes] = []
        missing = size if size >= 0 else -1
        while missing:
            part = self._take(missing)
            if not part:
                break
            taken.append(part)
            if missing > 0:
                missing -= len(part)
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def _take(self, most: int) -> bytes:
        """What is there next, at most so many bytes; nothing at the end."""
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
            was_full = self._held > INFLOW_BYTES
            self._held -= len(part)
            has_room = was_full and self._held <= INFLOW_BYTES
        if has_room:
            self._loop.call_soon_threadsafe(self._room.set)
        return part

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The rest is not wanted; the event loop drops it."""
