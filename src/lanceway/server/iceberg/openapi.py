"""Iceberg REST as the server speaks it, described (OpenAPI): made from the routes and the bodies of requests."""

from __future__ import annotations

from typing import Any

import msgspec

from lanceway import __version__
from lanceway.server.iceberg.configuration import get_config
from lanceway.server.iceberg.dialect import HANDLERS
from lanceway.server.lance import openapi
from lanceway.wire import iceberg
from lanceway.wire.iceberg import ROUTES, IcebergRoute
from lanceway.wire.lance import JSON

_REF = "#/components/schemas/{name}"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string", "description": "What was asked, what is wrong, what to do."},
                "type": {"type": "string", "description": "The class of the exception that clients raise."},
                "code": {"type": "integer", "description": "The status of the answer."},
            },
        }
    },
}
_NO_CONTENT = 204


def document(base: str) -> bytes:
    """Return the whole description, as JSON."""
    served = [route for route in ROUTES if route.operation in HANDLERS or route.operation == "get_config"]
    bodies = list(dict.fromkeys(route.body for route in served if route.body is not None))
    references, components = msgspec.json.schema_components(bodies, ref_template=_REF)
    by_body = dict(zip(bodies, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in served:
        body = None if route.body is None else by_body[route.body]
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, body)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lanceway: Iceberg REST", "version": __version__},
            "servers": [{"url": base}],
            "security": [{name: []} for name in openapi.SECURITY],
            "paths": paths,
            "components": {"schemas": {**components, "Error": _ERROR}, "securitySchemes": openapi.SECURITY},
        }
    )


def _operation(route: IcebergRoute, body: dict[str, Any] | None) -> dict[str, Any]:
    handler = HANDLERS.get(route.operation, get_config)
    names = [part[1:-1] for part in route.parts if part.startswith("{")]
    content = {} if route.status == _NO_CONTENT else {"content": {JSON: {"schema": {"type": "object"}}}}
    operation: dict[str, Any] = {
        "operationId": "".join(word.capitalize() for word in route.operation.split("_")),
        "parameters": [
            *(_parameter(name, "path", required=True) for name in names),
            *(_parameter(name, "query", required=False) for name in route.query),
        ],
        "responses": {str(route.status): {"description": handler.__doc__, **content}, **_errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    return operation


def _parameter(name: str, place: str, *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": {"type": "string"}}


def _errors() -> dict[str, Any]:
    statuses = {status for _, status in iceberg.TYPE_OF_CODE.values()}
    statuses |= {iceberg.EXPIRED[1], iceberg.UNPROCESSABLE[1], 408, 413, 415}
    content = {JSON: {"schema": {"$ref": _REF.format(name="Error")}}}
    return {str(status): {"description": "The error with its type.", "content": content} for status in sorted(statuses)}
