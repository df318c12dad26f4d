"""Encoding a request of the contract for Lance REST: path, query, headers and body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from lanceway.catalogs.contract.requests import table_id
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.wire import lance
from lanceway.wire.authentication import API_KEY, AUTHORIZATION, bearer
from lanceway.wire.http import OneShotBody, Request, check_headers
from lanceway.wire.lance import Body, LanceRoute, Success
from lanceway.wire.retries import Repeat

HEADER = "header."
# Headers by which HTTP frames and routes a message. Not for callers to set.
_FRAMING = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_IDENTITY = frozenset({AUTHORIZATION, API_KEY, "cookie", "proxy-authorization"})


def write(
    route: LanceRoute,
    request: BaseModel,
    data: bytes | OneShotBody | None = None,
    *,
    delimiter: str,
    authenticated: bool,
) -> Request:
    """Return the request as it is sent. `authenticated` says that the catalog has credentials of its own."""
    fields = request.model_dump(mode="json", by_alias=True, exclude_none=True)
    names, index_name = fields.get("id") or [], fields.get("index_name")
    _check(route, names, index_name)
    headers = _identity(fields.pop("identity", {})) | _context(fields, authenticated=authenticated)
    content: bytes | OneShotBody | None = data
    if route.body in (Body.MODEL, Body.MAP):
        content = _json(route, fields)
    return Request(
        what=f"{route.operation} of {Identifier(names)}" if names else route.operation,
        method=route.method,
        path=lance.path(route, names, delimiter, index_name),
        query=[("delimiter", delimiter), *lance.write_query(route, fields)],
        headers={**headers, **_types(route)},
        content=content,
        repeat=Repeat.SAFE if route.operation in lance.READS else Repeat.UNSENT,
    )


def _check(route: LanceRoute, names: list[str], index_name: str | None) -> None:
    """Refuse names that would change the meaning of the path."""
    if route.has_id and route.parts[1] != "namespace":
        table_id(names, route.operation)
    if "{index_name}" in route.parts and not index_name:
        raise InvalidInputError(f"{route.operation} needs index_name, the name of an index of {Identifier(names)}.")


def _types(route: LanceRoute) -> dict[str, str]:
    accepted = lance.ARROW_FILE if route.answer is Success.ARROW else lance.JSON
    sent = {Body.MODEL: lance.JSON, Body.MAP: lance.JSON, Body.ARROW: lance.ARROW_STREAM}.get(route.body)
    return {"accept": accepted} | ({"content-type": sent} if sent else {})


def _json(route: LanceRoute, fields: Mapping[str, Any]) -> bytes:
    """Return the body. Fields of the query stand in it too, as other clients send them."""
    content = fields.get("metadata") or {} if route.body is Body.MAP else fields
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise InvalidInputError(
            f"{route.operation} cannot be sent: JSON has no way to write NaN or infinity."
        ) from error


def _identity(identity: Mapping[str, str]) -> dict[str, str]:
    """Return the headers for the identity that a request names itself."""
    headers: dict[str, str] = {}
    if token := identity.get("auth_token"):
        headers |= bearer(token)
    if key := identity.get("api_key"):
        headers[API_KEY] = key
    check_headers(headers)
    return headers


def _context(fields: dict[str, Any], *, authenticated: bool) -> dict[str, str]:
    """Move the headers in the request's context out of the body; other entries stay there."""
    context = fields.pop("context", {})
    if entries := {key: value for key, value in context.items() if not key.startswith(HEADER)}:
        fields["context"] = entries
    headers = {key.removeprefix(HEADER).lower(): value for key, value in context.items() if key.startswith(HEADER)}
    check_headers(headers)
    for name in headers:
        if name in _FRAMING:
            raise InvalidInputError(f"The context holds {HEADER}{name}, a header that the connection sets by itself.")
        if name in _IDENTITY and authenticated:
            raise InvalidInputError(
                f"The context holds {HEADER}{name}, but this catalog has credentials of its own. "
                "Give the request an identity, or connect without credentials."
            )
    return headers
