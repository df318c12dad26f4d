"""`/lanceway/v1`, described (OpenAPI): a document of its own, since none of it is Lance REST."""

from __future__ import annotations

from typing import Any

import msgspec

from lanceway import __version__
from lanceway.server.api import openapi_jobs, openapi_runs
from lanceway.server.api.requests import LARGEST_PAGE, PAGE
from lanceway.server.api.routes import TokenRequest
from lanceway.server.lance import openapi
from lanceway.wire.lance import JSON

_TEXT, _FLAG, _MOMENT = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
_TOKEN = {
    "type": "object",
    "description": "What may be told of a token. Times are milliseconds since 1970.",
    "required": ["prefix", "user", "created_by", "created_at"],
    "properties": {
        "prefix": _TEXT,
        "user": _TEXT,
        "label": _TEXT,
        "created_by": _TEXT,
        "created_at": _MOMENT,
        "expires_at": _MOMENT,
        "revoked_at": _MOMENT,
        "last_used_at": _MOMENT,
    },
}
_SCHEMAS = {
    "Token": _TOKEN,
    "Me": {
        "type": "object",
        "required": ["name", "groups", "admin", "anonymous"],
        "properties": {
            "name": _TEXT,
            "groups": {"type": "array", "items": _TEXT},
            "admin": _FLAG,
            "anonymous": _FLAG,
        },
    },
    "Tokens": {
        "type": "object",
        "required": ["tokens", "page_token"],
        "properties": {
            "tokens": {"type": "array", "items": {"$ref": "#/components/schemas/Token"}},
            "page_token": {"type": ["string", "null"], "description": "For the page that follows, if one does."},
        },
    },
    "MadeToken": {
        "allOf": [
            {"$ref": "#/components/schemas/Token"},
            {
                "type": "object",
                "required": ["token"],
                "properties": {"token": {**_TEXT, "description": "The whole token, shown this once."}},
            },
        ]
    },
}


def document(root_path: str) -> bytes:
    """The whole description, as JSON."""
    (wanted,), schemas = msgspec.json.schema_components([TokenRequest], ref_template="#/components/schemas/{name}")
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lanceway: what no dialect has", "version": __version__},
            "servers": [{"url": f"{root_path}/lanceway"}],
            "security": [{name: []} for name in openapi.SECURITY],
            "paths": _paths(wanted),
            "components": {
                "schemas": {
                    **schemas,
                    **_SCHEMAS,
                    **openapi_runs.schemas(),
                    **openapi_jobs.schemas(),
                    "Error": openapi.ERROR,
                },
                "securitySchemes": openapi.SECURITY,
            },
        }
    )


def _paths(wanted: dict[str, Any]) -> dict[str, Any]:
    page = {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": PAGE}
    paging = [
        _query("limit", page, "How many there are to be on a page."),
        _query("page_token", _TEXT, "Where the page begins: what the page before said."),
    ]
    listing = [
        _query("user", _TEXT, "Whose tokens; an admin's to choose."),
        _query("all", _FLAG, "Also those that have expired or were revoked."),
        *paging,
    ]
    prefix = {"name": "prefix", "in": "path", "required": True, "schema": {**_TEXT, "minLength": 1}}
    body = {"required": False, "content": {JSON: {"schema": wanted}}}
    return {
        "/v1/me": {"get": _operation("WhoAmI", "Me", "Who asks.")},
        "/v1/tokens": {
            "get": _operation("ListTokens", "Tokens", "One's own tokens, or an admin's view of all.", listing),
            "post": {**_operation("CreateToken", "MadeToken", "The new token.", status=201), "requestBody": body},
        },
        "/v1/tokens/{prefix}": {"delete": _operation("RevokeToken", "Token", "The token, revoked.", [prefix])},
        **openapi_runs.paths(_operation, _query, paging),
        **openapi_jobs.paths(_operation, _query, paging),
    }


def _query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": text, "schema": schema}


def _operation(
    name: str, schema: str, text: str, parameters: list[dict[str, Any]] | None = None, status: int = 200
) -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {
        "operationId": name,
        "tags": ["lanceway"],
        "parameters": parameters or [],
        "responses": {str(status): {"description": text, "content": content}, **openapi.errors()},
    }
