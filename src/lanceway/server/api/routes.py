"""`/lanceway/v1`: its routes, and their description as OpenAPI."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send

from lanceway import __version__
from lanceway.server.api import access, audit, grants, groups, jobs, owners, roles, runs, tables, tokens, users
from lanceway.server.api.endpoints import Endpoint, Services
from lanceway.server.api.storage import checks as storage
from lanceway.server.api.tree import catalogs, schemas
from lanceway.server.feed import events
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.lance import openapi
from lanceway.wire.lance import JSON

# In this order: a path that another one begins with comes after it.
ENDPOINTS: tuple[Endpoint, ...] = (
    *tokens.ENDPOINTS,
    *users.ENDPOINTS,
    *groups.ENDPOINTS,
    *roles.ENDPOINTS,
    *grants.ENDPOINTS,
    *owners.ENDPOINTS,
    *access.ENDPOINTS,
    *audit.ENDPOINTS,
    *events.ENDPOINTS,
    *catalogs.ENDPOINTS,
    *schemas.ENDPOINTS,
    *tables.ENDPOINTS,
    *storage.ENDPOINTS,
    *jobs.RECORD_ENDPOINTS,
    *runs.ENDPOINTS,
    *jobs.ENDPOINTS,
)
_NOUNS = tuple(dict.fromkeys(endpoint.path.split("/")[1] for endpoint in ENDPOINTS))


class LancewayApi:
    """An ASGI application behind `Authentication`."""

    def __init__(self, services: Services) -> None:
        self._routes = [endpoint.route(services) for endpoint in ENDPOINTS]
        self._router = Router([*self._routes], redirect_slashes=False, default=self._refuse)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A slash at the end means nothing.
        scope = {**scope, "path": scope["path"].rstrip("/")}
        allowed = self._methods(scope)
        if allowed and scope["method"] not in allowed:
            raise MethodNotAllowedError(f"This path takes {' and '.join(allowed)} only.", allowed)
        await self._router(scope, receive, send)

    def _methods(self, scope: Scope) -> tuple[str, ...]:
        """Return the methods of all routes that have this path."""
        matching = (route.methods or () for route in self._routes if route.matches(scope)[0] is not Match.NONE)
        return tuple(sorted({method for methods in matching for method in methods}))

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
        raise RouteNotFoundError(
            f"There is nothing at this path. Below /lanceway/v1 there are {', '.join(_NOUNS)}; see "
            "/openapi-lanceway.json."
        )


_REF = "#/components/schemas/{name}"


def document(root_path: str) -> bytes:
    """Return the whole description, as JSON."""
    types = [type_ for endpoint in ENDPOINTS for type_ in (endpoint.response, *endpoint.types.values())]
    described, components = msgspec.json.schema_components(types, ref_template=_REF)
    remaining = iter(described)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        response = next(remaining)
        parameters = {name: next(remaining) for name in endpoint.types}
        path = re.sub(r":\w+}", "}", f"/v1{endpoint.path}")  # without Starlette's converters
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, response, parameters, components)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lanceway: what no dialect has", "version": __version__},
            "servers": [{"url": f"{root_path}/lanceway"}],
            "security": [{name: []} for name in openapi.SECURITY],
            "paths": paths,
            "components": {
                "schemas": {**components, "Error": openapi.ERROR},
                "securitySchemes": openapi.SECURITY,
            },
        }
    )


def _operation(
    endpoint: Endpoint, response: dict[str, Any], parameters: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    query, body = parameters.pop("query", None), parameters.pop("body", None)
    content = {JSON: {"schema": response}, **{media: {"schema": _other(media)} for media in endpoint.other_media}}
    text = endpoint.handler.__doc__
    operation = {
        "operationId": "".join(word.capitalize() for word in endpoint.handler.__name__.split("_")),
        "tags": ["lanceway"],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": schema} for name, schema in parameters.items()),
            *(_query_parameters(components[_name(query)]) if query else ()),
        ],
        "responses": {str(endpoint.status): {"description": text, "content": content}, **openapi.errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": "anyOf" not in body, "content": {JSON: {"schema": body}}}
    return operation


def _other(media: str) -> dict[str, Any]:
    """Describe an answer in another media type: a batch of objects, or a text."""
    return {"type": "array", "items": {"type": "object"}} if media.endswith("-batch+json") else {"type": "string"}


def _query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe each field of a query's Struct as a parameter."""
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(field)}
        for name, field in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe what a query may say: it leaves a parameter out where a field would be null."""
    present = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    return present[0] if present else schema


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
