"""Answers: a catalog's responses as the bytes of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pydantic import BaseModel
from starlette.types import Send

from lanceway.errors import InternalError
from lanceway.server.lance import fields
from lanceway.server.lance.safe_options import without_secrets
from lanceway.wire import lance
from lanceway.wire.lance import LanceRoute

JSON = (b"content-type", lance.JSON.encode())

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """A complete answer, ready to be sent."""

    status: int
    body: bytes
    headers: list[Header] = field(default_factory=list)


async def send_answer(send: Send, answer: EncodedAnswer) -> None:
    headers = [(b"content-length", str(len(answer.body)).encode()), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def encode_answer(route: LanceRoute, response: Any) -> EncodedAnswer:
    """Encode a catalog's response as the route's answer. Call it on the catalog's thread: it may be large."""
    if route.answer is lance.Success.EMPTY:
        return EncodedAnswer(route.status, b"", fields.to_headers(_context(response)))
    return EncodedAnswer(route.status, _BODIES[route.answer](response), [JSON, *fields.to_headers(_context(response))])


def _model(response: Any) -> bytes:
    # A second line of defence: `SafeCatalog` has removed secrets already.
    response = without_secrets(response)
    if isinstance(response, BaseModel):
        body: bytes = response.__pydantic_serializer__.to_json(response, by_alias=True, exclude_none=True)
        return body
    return msgspec.json.encode({key: value for key, value in response.items() if value is not None})


def _count(response: Any) -> bytes:
    count = _get(response, "count")
    if count is None:
        raise InternalError("The catalog counted no rows: its answer has no count.")
    return msgspec.json.encode(count)


def _text(response: Any) -> bytes:
    return msgspec.json.encode(response)


def _map(response: Any) -> bytes:
    return msgspec.json.encode(_get(response, "metadata") or {})


_BODIES: Mapping[lance.Success, Callable[[Any], bytes]] = {
    lance.Success.MODEL: _model,
    lance.Success.COUNT: _count,
    lance.Success.TEXT: _text,
    lance.Success.MAP: _map,
}


def _context(response: Any) -> Mapping[str, str] | None:
    return None if isinstance(response, str) else _get(response, "context")


def _get(response: Any, name: str) -> Any:
    # The contract lets a catalog answer with a model or with a dictionary.
    return response.get(name) if isinstance(response, Mapping) else getattr(response, name, None)
