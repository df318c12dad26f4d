"""Lance REST as the server speaks it, described (OpenAPI): made from the routes and the contract's models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import lance_namespace
import msgspec
from lance_namespace import LanceNamespace
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from lanceway import __version__
from lanceway.catalogs.contract.hooks import REQUESTS
from lanceway.wire import lance
from lanceway.wire.lance import ROUTES, Body, LanceRoute, QueryEncoding

_MAP = {"type": "object", "additionalProperties": {"type": "string"}}
_BINARY = {"type": "string", "format": "binary"}
_KINDS: Mapping[QueryEncoding, dict[str, Any]] = {
    QueryEncoding.TEXT: {"type": "string"},
    QueryEncoding.NUMBER: {"type": "integer"},
    QueryEncoding.FLAG: {"type": "boolean"},
    QueryEncoding.LIST: {"type": "array", "items": {"type": "string"}},
    QueryEncoding.MAP: {"type": "string", "contentMediaType": lance.JSON, "description": "A JSON object of strings."},
}
_REFUSALS = {
    **dict.fromkeys(lance.STATUS.values(), "The error with its code, as the protocol has it."),
    405: "The path takes another method.",
    408: "The client stopped in the middle of its body.",
    413: "The body is larger than the server takes.",
}
SECURITY = {
    "BearerAuth": {"type": "http", "scheme": "bearer"},
    "ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}
ERROR = {
    "type": "object",
    "required": ["error", "code", "instance"],
    "properties": {
        "error": {"type": "string", "description": "What was asked, what is wrong, what to do."},
        "code": {"type": "integer", "description": "The protocol's code for it."},
        "instance": {"type": "string", "description": "The request's id, under which the server's log has the rest."},
        "detail": {"type": "string"},
    },
}


def document(root_path: str) -> bytes:
    """Return the whole description, as JSON."""
    return msgspec.json.encode({**_description(), "servers": [{"url": f"{root_path}/lance"}]})


@cache
def _description() -> dict[str, Any]:
    refs, schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Lanceway: Lance REST", "version": __version__},
        "security": [{name: []} for name in SECURITY],
        "paths": paths,
        "components": {"schemas": {**schemas, "Error": ERROR}, "securitySchemes": SECURITY},
    }


def _responses() -> dict[str, type[BaseModel]]:
    """Return the response model of each operation that has one."""
    hints = {name: get_type_hints(getattr(LanceNamespace, name), vars(lance_namespace))["return"] for name in REQUESTS}
    return {name: type_ for name, type_ in hints.items() if isinstance(type_, type) and issubclass(type_, BaseModel)}


def _schemas() -> tuple[Mapping[tuple[str, str], Any], dict[str, Any]]:
    """Return a reference to the schema of each operation's request and response, and the schemas."""
    requests = {(name, "validation"): model for name, model in REQUESTS.items()}
    responses = {(name, "serialization"): model for name, model in _responses().items()}
    models = {(model, mode) for (_, mode), model in {**requests, **responses}.items()}
    refs, document = models_json_schema(
        sorted(models, key=lambda item: (item[0].__name__, item[1])),  # type: ignore[arg-type]
        ref_template="#/components/schemas/{model}",
    )
    by_operation = {key: refs[(model, key[1])] for key, model in {**requests, **responses}.items()}  # type: ignore[index]
    return by_operation, document["$defs"]


def _operation(route: LanceRoute, refs: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    operation = {
        "operationId": "".join(word.capitalize() for word in route.operation.split("_")),
        "tags": [route.parts[1]],
        "parameters": _parameters(route),
        "responses": {str(route.status): _success(route, refs), **errors()},
    }
    if route.body is not Body.NONE:
        operation["requestBody"] = {"required": route.body is Body.ARROW, "content": _content(route, refs)}
    return operation


def _parameters(route: LanceRoute) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.parts if part.startswith("{")]
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in names
    ]
    delimiter = {"type": "string", "minLength": 1, "default": lance.DELIMITER}
    in_query = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in [("delimiter", delimiter), *((name, _KINDS[kind]) for name, kind in route.query.items())]
    ]
    return [*in_path, *in_query]


def _content(route: LanceRoute, refs: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    if route.body is Body.ARROW:
        return {lance.ARROW_STREAM: {"schema": _BINARY}}
    return {lance.JSON: {"schema": _MAP if route.body is Body.MAP else refs[(route.operation, "validation")]}}


def _success(route: LanceRoute, refs: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    schemas: Mapping[lance.Success, Any] = {
        lance.Success.COUNT: {"type": "integer"},
        lance.Success.TEXT: {"type": "string"},
        lance.Success.MAP: _MAP,
    }
    if route.answer is lance.Success.EMPTY:
        return {"description": "It is there."}
    if route.answer is lance.Success.ARROW:
        rows = {"type": "object", "required": ["schema", "rows"], "properties": {"rows": {"type": "array"}}}
        return {
            "description": "The rows. As JSON if that alone is accepted, and then not too many.",
            "content": {lance.ARROW_FILE: {"schema": _BINARY}, lance.JSON: {"schema": rows}},
        }
    schema = schemas.get(route.answer) or refs[(route.operation, "serialization")]
    return {"description": "Done.", "content": {lance.JSON: {"schema": schema}}}


def errors() -> dict[str, Any]:
    """Return the error responses that every operation has."""
    content = {lance.JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {str(status): {"description": text, "content": content} for status, text in sorted(_REFUSALS.items())}
