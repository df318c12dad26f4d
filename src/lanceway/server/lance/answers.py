"""Responses of Lance REST, with storage options that may leave the server, never the server's own keys.

An allow-list, since the names of options are not ours: an option that is not known to be harmless is removed.
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

from lanceway.access.guard import Guard
from lanceway.catalogs.federated.catalog import ListingStep
from lanceway.catalogs.wrappers.forward import Forwarder, carry_out
from lanceway.errors import InternalError
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance import fields
from lanceway.wire import lance
from lanceway.wire.lance import LanceRoute

Answer = TypeVar("Answer")

_OPTIONS, _PAGE_TOKEN = "storage_options", "page_token"
_LIST_ALL = "list_all_tables"
_SCALARS = frozenset({str, int, float, bool, type(None)})

# As object_store and pylance spell them, without the prefix of a cloud.
_HARMLESS = frozenset(
    {
        "account_name",
        "allow_http",
        "bucket",
        "bucket_name",
        "conditional_put",
        "container_name",
        "copy_if_not_exists",
        "default_region",
        "disable_tagging",
        "endpoint",
        "endpoint_url",
        "expires_at_millis",
        "imdsv1_fallback",
        "region",
        "request_payer",
        "s3_express",
        "server_side_encryption",
        "skip_signature",
        "unsigned_payload",
        "use_emulator",
        "use_fabric_endpoint",
        "virtual_hosted_style_request",
    }
)
_CLOUDS = ("aws_", "azure_storage_", "azure_", "google_", "gcs_", "oss_", "cos_")


def safe_options(options: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the options that a client may know."""
    if options is None:
        return None
    return {key: value for key, value in options.items() if _is_harmless(key, value)}


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


def _is_harmless(key: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    name = key.lower()
    for cloud in _CLOUDS:
        name = name.removeprefix(cloud)
    # An address may carry a password before its @, or a signature in its query.
    return name in _HARMLESS and not ("://" in value and ("@" in value or "?" in value))


class SafeCatalog(Forwarder):
    """The catalog that dialects use: its answers are safe to send, without secrets, and with sealed page tokens."""

    def __init__(self, guard: Guard, seal: PageTokenSeal) -> None:
        self._guard, self._seal = guard, seal

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        token = getattr(request, _PAGE_TOKEN, None)
        if token:
            opened = self._seal.open(operation, getattr(request, "id", None) or (), token)
            request = request.model_copy(update={_PAGE_TOKEN: opened})
        return self._sealed(operation, request, without_secrets(carry_out(self._guard, operation, request, *data)))

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
        return response

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
        return response.model_copy(update=update) if isinstance(response, BaseModel) else {**response, **update}


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
    return response.get(name) if isinstance(response, dict | Mapping) else getattr(response, name, None)
