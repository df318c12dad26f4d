"""What dialects read of a request whose operation is known: its query, and its body as the type that a route has."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from lanceway.errors import InvalidInputError
from lanceway.server.http.uploads import JSON_IN_LOOP_BYTES

_MOST_FIELDS = 100


def read_query(raw: bytes) -> dict[str, str]:
    """Return the parameters of a query; of one that is there twice, the last."""
    if not raw:
        return {}
    try:
        return dict(
            parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
        )
    except ValueError as error:
        raise InvalidInputError(
            f"The query cannot be read: percent-encode UTF-8, in at most {_MOST_FIELDS} parameters."
        ) from error


async def read_struct(content: bytes, type_: type[msgspec.Struct], help_: str) -> Any:
    """Return a body of JSON as a type; on a thread, where it is large. `help_` says where the type is described."""
    if len(content) <= JSON_IN_LOOP_BYTES:
        return _parse(content, type_, help_)
    return await asyncio.to_thread(_parse, content, type_, help_)


def _parse(content: bytes, type_: type[msgspec.Struct], help_: str) -> Any:
    try:
        return msgspec.json.decode(content or b"null", type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"The body cannot be read: {error}. {help_}") from error
    except RecursionError as error:
        raise InvalidInputError("The body cannot be read: it is nested too deeply.") from error
