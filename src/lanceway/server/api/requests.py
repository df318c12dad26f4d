"""What the handlers of `/lanceway/v1` have in common: bodies, parameters and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from lanceway.access.principal import Principal
from lanceway.errors import InvalidInputError
from lanceway.server.http.errors import BodyTooLargeError
from lanceway.wire.lance import JSON

Body = TypeVar("Body")
# It gets what stands behind its name in the path.
Handler = Callable[[Request, Principal, str], Awaitable[Response]]
Handlers = Mapping[tuple[str, bool], Mapping[str, Handler]]  # by name, and whether anything stands behind it; by method

PAGE, LARGEST_PAGE = 100, 1_000
LARGEST_BODY = 64 * 2**10  # bytes
_LONGEST_NUMBER = 10  # digits


async def body(request: Request, largest: int = LARGEST_BODY) -> bytes:
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > largest:
                raise BodyTooLargeError(f"The body has more than {largest:,} bytes. Send less.")
    except ClientDisconnect as error:
        raise InvalidInputError("The client has gone before the end of its body.") from error
    return bytes(found)


def read(content: bytes, wanted: type[Body], what: str) -> Body:
    """A body as what it is to be: `what` says it in words, such as "request for a token"."""
    try:
        return msgspec.json.decode(content, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"The body is no {what}: {error}.") from error
    except RecursionError as error:
        raise InvalidInputError(f"The body is no {what}: it is nested too deeply.") from error


def limit(text: str | None) -> int:
    return PAGE if text is None else min(number("limit", text, least=1), LARGEST_PAGE)


def number(name: str, text: str, least: int = 0) -> int:
    if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER and int(text) >= least:
        return int(text)
    raise InvalidInputError(f"`{name}` must be a whole number, at least {least}.")


def flag(name: str, text: str | None) -> bool:
    if text is None or text.lower() in ("true", "false"):
        return (text or "").lower() == "true"
    raise InvalidInputError(f"`{name}` must be true or false.")


def choice(name: str, text: str | None, known: tuple[str, ...]) -> str | None:
    """One of the known words; None if nothing is said."""
    if text is None or text in known:
        return text
    raise InvalidInputError(f"`{name}` must be one of {', '.join(known)}.")


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, JSON)
