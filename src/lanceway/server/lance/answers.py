"""Responses of Lance REST, with storage options that may leave the server, never the server's own keys.

A description, and the answer to a declaration, has credentials beside them that were made for the caller alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, cast, get_args

import msgspec
from lance_namespace import ListTablesRequest, ListTablesResponse
from pydantic import BaseModel
from starlette.types import Send

from lanceway.access.credentials.options import safe_options
from lanceway.access.credentials.vending import NOT_NOW, refusal
from lanceway.access.guard import Guard
from lanceway.catalogs.federated.catalog import ListingStep
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InternalError, InvalidInputError, ServiceUnavailableError
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance import fields
from lanceway.wire import lance
from lanceway.wire.lance import LanceRoute

Answer = TypeVar("Answer")

_OPTIONS, _PAGE_TOKEN = "storage_options", "page_token"
_LIST_ALL = "list_all_tables"
_DESCRIBE = "describe_table"
# Operations whose answers have credentials, unless the request says that it wants none.
_VENDING = frozenset({_DESCRIBE, "declare_table"})
# Where an answer says why it has none.
ADVICE = "lanceway.storage"
_SCALARS = frozenset({str, int, float, bool, type(None)})


def without_secrets(answer: Answer) -> Answer:
    """Return a copy of an answer whose storage options, at any depth, are those that a client may know."""
    return cast("Answer", _safe(answer))


def _safe(value: Any) -> Any:
    kind = type(value)  # the frequent kinds first: to ask whether something is a model takes long
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {name: inner if type(inner) in _SCALARS else _safe_field(name, inner) for name, inner in value.items()}
    if kind is list and set(map(type, value)) <= _SCALARS:  # a page of names: nothing in a name is secret
        return value
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name, None) for name in _places(type(value))}
        changed = {name: _safe_field(name, inner) for name, inner in fields.items() if inner}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {name: _safe_field(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(inner) for inner in value]
    return value


def _safe_field(name: object, value: Any) -> Any:
    return safe_options(value) if name == _OPTIONS and isinstance(value, Mapping) else _safe(value)


@cache
def _places(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of a model that are storage options, or hold a model that has some."""
    return tuple(name for name, field in model.model_fields.items() if _leads_there(name, field.annotation, {model}))


def _leads_there(name: str, annotation: Any, visited: set[type[BaseModel]]) -> bool:
    if name == _OPTIONS:
        return True
    for model in _models(annotation):
        if model not in visited:  # a full text query may hold others of its kind
            visited.add(model)
            if any(_leads_there(inner, field.annotation, visited) for inner, field in model.model_fields.items()):
                return True
    return False


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


class SafeCatalog(Forwarder):
    """The catalog that dialects use: its answers are safe to send, without secrets, and with sealed page tokens.

    `request_id` is what the logs of a storage have of the request for which a credential was made.
    """

    def __init__(self, guard: Guard, seal: PageTokenSeal, request_id: str = "") -> None:
        self._guard, self._seal, self._request_id = guard, seal, request_id

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        token = getattr(request, _PAGE_TOKEN, None)
        if token:
            opened = self._seal.open(operation, getattr(request, "id", None) or (), token)
            request = request.model_copy(update={_PAGE_TOKEN: opened})
        response = without_secrets(carry_out(self._guard, operation, request, *data))
        if operation in _VENDING:
            response = self._vended(operation, request, response)
        return self._sealed(operation, request, response)

    def try_fast(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer if it needs no waiting, else None."""
        token = fields.get(_PAGE_TOKEN)
        if token and isinstance(token, str):
            fields = {**fields, _PAGE_TOKEN: self._seal.open(operation, names or (), token)}
        response = self._guard.try_fast(operation, names, fields)
        # Such an answer is flat, and `encode_answer` looks at all of it again.
        if response is not None and response.get(_OPTIONS):
            response[_OPTIONS] = safe_options(response[_OPTIONS])
        if response is not None and response.get(_PAGE_TOKEN):
            response[_PAGE_TOKEN] = self._seal.close(operation, names or (), response[_PAGE_TOKEN])
        if response is not None and operation == _DESCRIBE and names:
            return self._vended_fast(names, fields.get("vend_credentials"), response)
        return response

    def _vended_fast(self, names: list[str], wanted: object, response: dict[str, Any]) -> dict[str, Any] | None:
        location = response["location"]
        if wanted is False or not self._guard.storage.is_vended(names, location):
            advice = refusal(location, served=False) if wanted else None
            return {**response, "context": {ADVICE: advice}} if advice else response
        options = self._guard.storage.at_hand(names, location)
        return None if options is None else {**response, _OPTIONS: options}

    def _vended(self, operation: str, request: Any, response: Any) -> Any:
        """Return a description with credentials for the caller, or with the reason why it has none."""
        location, wanted = _get(response, "location"), request.vend_credentials
        if wanted is False or not location:
            return response
        advice = refusal(location, served=False)
        try:
            if self._guard.storage.is_vended(request.id, location):
                options = self._guard.storage.credentials(request.id, location, self._request_id)
                if options is not None:
                    return _with(response, {_OPTIONS: options})
                advice = refusal(location, served=True)
        except (InvalidInputError, ServiceUnavailableError):
            # A declaration is done by now, and who did not ask for credentials may do without.
            if wanted and operation == _DESCRIBE:
                raise
            advice = NOT_NOW
        if not wanted or not advice:
            return response
        return _with(response, {"context": {**(_get(response, "context") or {}), ADVICE: advice}})

    def listing(self, request: ListTablesRequest) -> Generator[ListingStep, Any, ListTablesResponse]:
        """List the tables of all catalogs, step by step."""
        if request.page_token:
            opened = self._seal.open(_LIST_ALL, (), request.page_token)
            request = request.model_copy(update={_PAGE_TOKEN: opened})
        response = yield from self._guard.listing(request)
        if response.page_token:
            response.page_token = self._seal.close(_LIST_ALL, (), response.page_token)
        return response

    def namespace_id(self) -> str:
        return self._guard.namespace_id()

    def _sealed(self, operation: str, request: BaseModel, response: Any) -> Any:
        """Return an answer whose page token, if it has one, is sealed."""
        token = _get(response, _PAGE_TOKEN) if not isinstance(response, str) else None
        if not token:
            return response
        update = {_PAGE_TOKEN: self._seal.close(operation, getattr(request, "id", None) or (), token)}
        return _with(response, update)


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


def _with(response: Any, update: Mapping[str, Any]) -> Any:
    return response.model_copy(update=update) if isinstance(response, BaseModel) else {**response, **update}


def _get(response: Any, name: str) -> Any:
    # The contract lets a catalog answer with a model or with a dictionary.
    return response.get(name) if isinstance(response, dict | Mapping) else getattr(response, name, None)
