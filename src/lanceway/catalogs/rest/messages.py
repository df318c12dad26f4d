"""Encode requests of the contract for Lance REST, and decode the responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_type_hints

import lance_namespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel, ValidationError

from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.rest.storage import ON_STORAGE
from lanceway.errors import ErrorCode, ErrorInfo, InternalError, InvalidInputError, LanceNamespaceError, from_error_code
from lanceway.identifiers import Identifier
from lanceway.wire import http, lance
from lanceway.wire.authentication import API_KEY, AUTHORIZATION, bearer
from lanceway.wire.errors import Repeat
from lanceway.wire.http import OneShotBody, Request, check_headers
from lanceway.wire.lance import Body, LanceRoute, Success

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
        content = _json_request(route, fields)
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


def _json_request(route: LanceRoute, fields: Mapping[str, Any]) -> bytes:
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


_LONGEST = 2000
_NOT_FOUND = 404
# The error codes of a 404 without a body, for operations that ask whether an object exists.
_ABSENT = {"namespace_exists": 1, "table_exists": 4}
# The field of the response's model for a body that is a bare value.
_FIELDS: Mapping[Success, tuple[str, type]] = {Success.COUNT: ("count", int), Success.MAP: ("metadata", dict)}


def _responses() -> dict[str, Any]:
    return {
        route.operation: get_type_hints(getattr(LanceNamespace, route.operation), vars(lance_namespace))["return"]
        for route in lance.ROUTES
    }


RESPONSES: Mapping[str, Any] = MappingProxyType(_responses())


def read(route: LanceRoute, request: Request, answer: http.HttpAnswer) -> Any:
    """Return the response of an operation. Raises InternalError where it cannot be read."""
    body = None if route.answer is Success.EMPTY else _json_answer(request, answer)
    if route.answer is Success.TEXT:
        return _text(request, body)
    if route.answer in _FIELDS:
        name, kind = _FIELDS[route.answer]
        if isinstance(body, kind) and not isinstance(body, bool):
            body = {name: body}
    return model(route, request, body or {}, answer.headers)


def model(route: LanceRoute, request: Request, fields: Any, headers: Mapping[str, str]) -> Any:
    """Return the response's model, with the HTTP headers in its context."""
    response: type[BaseModel] = RESPONSES[route.operation]
    try:
        validated = response.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in wrong["loc"])
        # Not chained: it repeats what was read, and that may hold storage credentials.
        raise unreadable(request, f"{where or 'it'}: {wrong['msg']}") from None
    context = {f"header.{name}": value for name, value in headers.items() if name != "set-cookie"}
    return validated.model_copy(update={"context": {**(getattr(validated, "context", None) or {}), **context}})


def _json_answer(request: Request, answer: http.HttpAnswer) -> Any:
    if not answer.content.strip():
        return None
    try:
        return answer.json()
    except ValueError:
        raise unreadable(request, f"{_kind(answer)} is not JSON") from None


def _text(request: Request, body: Any) -> str:
    if isinstance(body, dict):  # as the model has it
        body = body.get("plan", body.get("analysis"))
    if isinstance(body, str):
        return body
    raise unreadable(request, "a text is needed")


def unreadable(request: Request, reason: str) -> InternalError:
    return InternalError(f"{request.what}: the answer cannot be read ({reason}). Is this a Lance REST server?")


# -- errors --------------------------------------------------------------------------------------


def refuse(request: Request, answer: http.HttpAnswer) -> LanceNamespaceError:
    """Return the error of a response: by its code, and only without one by its status."""
    body, code = lance.read_error(answer.content)
    said = _said(body) or _words(answer)
    if code is None:
        code = _code_of(request, answer)
        said = f"{request.what} failed: the server answers {answer.status}{f': {said}' if said else ''}."
    request_id = answer.request_id or _instance(body)
    hint = _hint(request, code)
    error = from_error_code(code, f"{f'{said}. {hint}' if hint else said}{_id(request_id)}")
    ErrorInfo(answer.status, request_id and cleaned(request_id)).attach(error)
    return error


def _instance(body: Mapping[str, Any]) -> str | None:
    """Return the request's id. Some servers repeat the request's path here."""
    instance = body.get("instance")
    return instance if isinstance(instance, str) and instance and "/" not in instance else None


def _hint(request: Request, code: int) -> str:
    if code == ErrorCode.UNSUPPORTED and _operation(request) in ON_STORAGE:
        return "With the setting data=storage it is done here, without the server."
    return ""


def _operation(request: Request) -> str:
    return lance.match(request.path).methods[request.method].operation


def _code_of(request: Request, answer: http.HttpAnswer) -> int:
    if answer.status == _NOT_FOUND and not answer.content:
        return _ABSENT.get(_operation(request), 18)
    return lance.CODE_OF_STATUS.get(answer.status, 18)


def _said(body: Mapping[str, Any]) -> str:
    """Return the server's own message: the error, and its detail."""
    error, detail = (cleaned(body.get(name)) for name in ("error", "detail"))
    return f"{error.rstrip('.')}. {detail}" if error and detail and detail != error else error or detail


def _words(answer: http.HttpAnswer) -> str:
    """Return the text of an error that is not of the protocol, if it is readable."""
    if answer.headers.get("content-type", "").startswith("text/plain"):
        return cleaned(answer.content.decode(errors="replace"))[:200].rstrip(".")
    hint = ". Is the uri right?" if answer.status == _NOT_FOUND else ""
    return f"{_kind(answer)}, which is not an error of Lance REST{hint}".rstrip("?.") if answer.content or hint else ""


def _kind(answer: http.HttpAnswer) -> str:
    kind = cleaned(answer.headers.get("content-type", "")).partition(";")[0]
    return f"a body of type {kind}" if kind else "its body"


def cleaned(text: object) -> str:
    """Return a text as one printable line of bounded length, for logs and terminals."""
    if not isinstance(text, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _LONGEST]).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _id(request_id: str | None) -> str:
    return f" (request {cleaned(request_id)[:100]})" if request_id else ""
