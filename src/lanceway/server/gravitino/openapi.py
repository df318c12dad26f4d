"""Gravitino REST as the server speaks it, described (OpenAPI): made from the routes and the bodies of requests."""

from __future__ import annotations

from typing import Any

import msgspec

from lanceway import __version__
from lanceway.server.gravitino.dialect import HANDLERS
from lanceway.server.lance import openapi
from lanceway.wire import gravitino
from lanceway.wire.gravitino import ROUTES, GravitinoRoute
from lanceway.wire.lance import JSON

_REF = "#/components/schemas/{name}"
_ERROR = {
    "type": "object",
    "required": ["code", "type", "message"],
    "properties": {
        "code": {"type": "integer", "enum": sorted(gravitino.STATUS)},
        "type": {"type": "string", "description": "The class of the exception that clients raise."},
        "message": {"type": "string", "description": "What was asked, what is wrong, what to do."},
    },
}
_SUCCESS = {"type": "object", "required": ["code"], "properties": {"code": {"const": gravitino.OK}}}
_SECURITY = {**openapi.SECURITY, "BasicAuth": {"type": "http", "scheme": "basic"}}


def document(root_path: str) -> bytes:
    """Return the whole description, as JSON."""
    bodies = list(dict.fromkeys(route.body for route in ROUTES if route.body is not None))
    references, components = msgspec.json.schema_components(bodies, ref_template=_REF)
    by_body = dict(zip(bodies, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        body = None if route.body is None else by_body[route.body]
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, body)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lanceway: Gravitino REST", "version": __version__},
            "servers": [{"url": f"{root_path}{gravitino.BASE}"}],
            "security": [{name: []} for name in _SECURITY],
            "paths": paths,
            "components": {
                "schemas": {**components, "Success": _SUCCESS, "Error": _ERROR},
                "securitySchemes": _SECURITY,
            },
        }
    )


def _operation(route: GravitinoRoute, body: dict[str, Any] | None) -> dict[str, Any]:
    text = getattr(HANDLERS[route.operation], "func", HANDLERS[route.operation]).__doc__
    names = [part[1:-1] for part in route.parts if part.startswith("{")]
    operation = {
        "operationId": "".join(word.capitalize() for word in route.operation.split("_")),
        "tags": [route.noun],
        "parameters": [
            *(_parameter(name, "path", required=True) for name in names),
            *(_parameter(name, "query", required=False) for name in route.query),
        ],
        "responses": {"200": {"description": text, "content": _content("Success")}, **_errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": route.operation != "test_catalog", "content": {JSON: {"schema": body}}}
    return operation


def _parameter(name: str, place: str, *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": {"type": "string", "minLength": 1}}


def _content(name: str) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": _REF.format(name=name)}}}


def _errors() -> dict[str, Any]:
    statuses = sorted({*gravitino.STATUS.values(), 408, 413, 415})
    return {
        str(status): {"description": "The error with its code.", "content": _content("Error")} for status in statuses
    }
