"""Lance REST as data: the 54 routes, what each takes and gives, and which code has which status.

Client and server read the same rows, so that they cannot disagree. A row says where each part of a
request travels: the identifier in the path, some fields in the query, the rest in the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

DELIMITER = "$"
REQUEST_ID = "x-request-id"

JSON = "application/json"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"


class Body(Enum):
    """What a request carries beside its path and query."""

    NONE = None
    MODEL = JSON  # the request's fields
    MAP = "map"  # one field alone, a map of strings
    ARROW = ARROW_STREAM


class Success(Enum):
    """What a success carries."""

    EMPTY = None
    MODEL = JSON
    COUNT = "count"  # a bare number
    TEXT = "text"  # a bare JSON string
    MAP = "map"  # a bare map of strings
    ARROW = ARROW_FILE


class QueryEncoding(Enum):
    """How a field is written in a query."""

    TEXT = "string"
    NUMBER = "integer"
    FLAG = "boolean"
    LIST = "array"  # repeated
    MAP = "object"  # JSON


@dataclass(frozen=True, slots=True)
class LanceRoute:
    operation: str
    method: str
    path: str  # below the server's base, with {id} and {index_name}
    query: Mapping[str, QueryEncoding]
    body: Body
    answer: Success
    status: int
    # Made once, since they stand before every request.
    parts: tuple[str, ...] = field(init=False)
    has_id: bool = field(init=False)

    def __post_init__(self) -> None:
        parts = tuple(self.path.strip("/").split("/"))
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "has_id", "{id}" in parts)


_PAGE = {"page_token": QueryEncoding.TEXT, "limit": QueryEncoding.NUMBER}
_TABLES = {**_PAGE, "include_declared": QueryEncoding.FLAG}
_BRANCH = {"branch": QueryEncoding.TEXT}
_MERGE = {
    **_BRANCH,
    "on": QueryEncoding.LIST,
    "when_matched_update_all": QueryEncoding.FLAG,
    "when_matched_update_all_filt": QueryEncoding.TEXT,
    "when_not_matched_insert_all": QueryEncoding.FLAG,
    "when_not_matched_by_source_delete": QueryEncoding.FLAG,
    "when_not_matched_by_source_delete_filt": QueryEncoding.TEXT,
    "timeout": QueryEncoding.TEXT,
    "use_index": QueryEncoding.FLAG,
}
_DESCRIBE = {
    "with_table_uri": QueryEncoding.FLAG,
    "load_detailed_metadata": QueryEncoding.FLAG,
    "check_declared": QueryEncoding.FLAG,
}
_CREATE = {"mode": QueryEncoding.TEXT, "properties": QueryEncoding.MAP, "storage_options": QueryEncoding.MAP}


def _route(
    operation: str,
    path: str,
    query: Mapping[str, QueryEncoding] | None = None,
    *,
    method: str = "POST",
    body: Body = Body.MODEL,
    answer: Success = Success.MODEL,
    status: int = 200,
) -> LanceRoute:
    return LanceRoute(operation, method, path, MappingProxyType(dict(query or {})), body, answer, status)


_NAMESPACE, _TABLE, _VIEW = "/v1/namespace/{id}", "/v1/table/{id}", "/v1/materialized_view/{id}"

ROUTES: tuple[LanceRoute, ...] = (
    _route("create_namespace", f"{_NAMESPACE}/create"),
    _route("list_namespaces", f"{_NAMESPACE}/list", _PAGE, method="GET", body=Body.NONE),
    _route("describe_namespace", f"{_NAMESPACE}/describe"),
    _route("drop_namespace", f"{_NAMESPACE}/drop"),
    _route("namespace_exists", f"{_NAMESPACE}/exists", answer=Success.EMPTY),
    _route("list_tables", f"{_NAMESPACE}/table/list", _TABLES, method="GET", body=Body.NONE),
    _route("list_all_tables", "/v1/table", _TABLES, method="GET", body=Body.NONE),
    _route("register_table", f"{_TABLE}/register"),
    _route("describe_table", f"{_TABLE}/describe", _DESCRIBE),
    _route("table_exists", f"{_TABLE}/exists", answer=Success.EMPTY),
    _route("drop_table", f"{_TABLE}/drop", body=Body.NONE),
    _route("deregister_table", f"{_TABLE}/deregister"),
    _route("restore_table", f"{_TABLE}/restore"),
    _route("rename_table", f"{_TABLE}/rename"),
    _route(
        "update_table_schema_metadata",
        f"{_TABLE}/schema_metadata/update",
        _BRANCH,
        body=Body.MAP,
        answer=Success.MAP,
    ),
    _route(
        "list_table_versions",
        f"{_TABLE}/version/list",
        {**_BRANCH, **_PAGE, "descending": QueryEncoding.FLAG},
        body=Body.NONE,
    ),
    _route("create_table_version", f"{_TABLE}/version/create"),
    _route("describe_table_version", f"{_TABLE}/version/describe"),
    _route("batch_delete_table_versions", f"{_TABLE}/version/delete"),
    _route("batch_create_table_versions", "/v1/table/version/batch-create"),
    _route("batch_commit_tables", "/v1/table/batch-commit"),
    _route("alter_table_alter_columns", f"{_TABLE}/alter_columns"),
    _route("update_field_metadata", f"{_TABLE}/update_field_metadata"),
    _route("alter_table_drop_columns", f"{_TABLE}/drop_columns"),
    _route("get_table_stats", f"{_TABLE}/stats"),
    _route("insert_into_table", f"{_TABLE}/insert", {**_BRANCH, "mode": QueryEncoding.TEXT}, body=Body.ARROW),
    _route("merge_insert_into_table", f"{_TABLE}/merge_insert", _MERGE, body=Body.ARROW),
    _route("update_table", f"{_TABLE}/update"),
    _route("delete_from_table", f"{_TABLE}/delete"),
    _route("query_table", f"{_TABLE}/query", answer=Success.ARROW),
    _route("count_table_rows", f"{_TABLE}/count_rows", answer=Success.COUNT),
    _route("create_table", f"{_TABLE}/create", _CREATE, body=Body.ARROW),
    _route("explain_table_query_plan", f"{_TABLE}/explain_plan", answer=Success.TEXT),
    _route("analyze_table_query_plan", f"{_TABLE}/analyze_plan", answer=Success.TEXT),
    _route("alter_table_add_columns", f"{_TABLE}/add_columns"),
    _route("alter_table_backfill_columns", f"{_TABLE}/backfill_column", status=202),
    _route("refresh_materialized_view", f"{_VIEW}/refresh", status=202),
    _route("create_materialized_view", f"{_VIEW}/create", status=201),
    _route("create_table_index", f"{_TABLE}/create_index"),
    _route("create_table_scalar_index", f"{_TABLE}/create_scalar_index"),
    _route("list_table_indices", f"{_TABLE}/index/list"),
    _route("describe_table_index_stats", f"{_TABLE}/index/{{index_name}}/stats"),
    _route("drop_table_index", f"{_TABLE}/index/{{index_name}}/drop", _BRANCH, body=Body.NONE),
    _route("list_table_tags", f"{_TABLE}/tags/list", _PAGE, body=Body.NONE),
    _route("get_table_tag_version", f"{_TABLE}/tags/version"),
    _route("declare_table", f"{_TABLE}/declare"),
    _route("create_table_tag", f"{_TABLE}/tags/create"),
    _route("delete_table_tag", f"{_TABLE}/tags/delete"),
    _route("update_table_tag", f"{_TABLE}/tags/update"),
    _route("list_table_branches", f"{_TABLE}/branches/list", _PAGE, body=Body.NONE),
    _route("create_table_branch", f"{_TABLE}/branches/create"),
    _route("delete_table_branch", f"{_TABLE}/branches/delete"),
    _route("describe_transaction", "/v1/transaction/{id}/describe"),
    _route("alter_transaction", "/v1/transaction/{id}/alter"),
)
BY_OPERATION: Mapping[str, LanceRoute] = MappingProxyType({route.operation: route for route in ROUTES})

# The operations that change nothing: an answer that was lost may be asked for again.
READS = frozenset(
    {
        "analyze_table_query_plan",
        "count_table_rows",
        "describe_namespace",
        "describe_table",
        "describe_table_index_stats",
        "describe_table_version",
        "describe_transaction",
        "explain_table_query_plan",
        "get_table_stats",
        "get_table_tag_version",
        "list_all_tables",
        "list_namespaces",
        "list_table_branches",
        "list_table_indices",
        "list_table_tags",
        "list_table_versions",
        "list_tables",
        "namespace_exists",
        "query_table",
        "table_exists",
    }
)

# -- finding a route -----------------------------------------------------------------------------

_ANY = "*"


def _shape(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(_ANY if part.startswith("{") else part for part in parts)


def _by_shape() -> dict[tuple[str, ...], dict[str, LanceRoute]]:
    shapes: dict[tuple[str, ...], dict[str, LanceRoute]] = {}
    for route in ROUTES:
        shapes.setdefault(_shape(route.parts), {})[route.method] = route
    return shapes


_SHAPES = _by_shape()


@dataclass(frozen=True, slots=True)
class Match:
    """What a path means. `methods` is empty for a path that no operation has."""

    methods: Mapping[str, LanceRoute]
    id: str | None = None
    index_name: str | None = None


def match(path: str) -> Match:
    """Return the route and names of a path below the server's base, which is still percent-encoded.

    Looked up rather than searched, since this stands before every request. A trailing slash does not matter.
    """
    parts = path.strip("/").split("/")
    if methods := _SHAPES.get(tuple(parts)):
        return Match(methods)
    if len(parts) < 4:
        return Match({})
    id_, index_name = parts[2], None
    parts[2] = _ANY
    if len(parts) == 6:
        index_name, parts[4] = parts[4], _ANY
    methods = _SHAPES.get(tuple(parts), {})
    return Match(methods, _unquoted(id_), None if index_name is None else _unquoted(index_name))


def _unquoted(text: str) -> str:
    """Return the text behind its percent signs. What is not UTF-8 becomes what no name may hold, not another name."""
    return unquote(text, errors="surrogateescape")


def path(
    route: LanceRoute, id_: Iterable[str] | None, delimiter: str = DELIMITER, index_name: str | None = None
) -> str:
    """Return the path of a request, percent-encoded."""
    text = route.path.replace("{index_name}", _segment(index_name or ""))
    return text.replace("{id}", _segment(write_id(id_, delimiter)) if route.has_id else "")


def _segment(text: str) -> str:
    # Encoded or not, many a proxy takes them out of a path, and `index/../drop` would drop the table.
    if text in (".", ".."):
        raise InvalidInputError(f"{text!r} cannot be named over HTTP: in a path it means something else.")
    return quote(text, safe="")


# -- identifiers ---------------------------------------------------------------------------------


def write_id(id_: Iterable[str] | None, delimiter: str = DELIMITER) -> str:
    """Return the identifier as one string. The root, which has no name, is the delimiter alone."""
    return Identifier(id_ or ()).format(delimiter) or delimiter


def read_id(text: str, delimiter: str = DELIMITER) -> Identifier:
    return Identifier() if text == delimiter else Identifier.parse(text, delimiter)


def is_same_id(id_: object, text: str, delimiter: str = DELIMITER) -> bool:
    """Return whether the identifier in a body is the one in the path. Some clients send `["a$b"]` for `a$b`."""
    if not isinstance(id_, list) or not all(isinstance(name, str) for name in id_):
        return False
    return (delimiter.join(id_) or delimiter) == text or (not id_ and text == delimiter)


# -- fields in a query ---------------------------------------------------------------------------


def write_query(route: LanceRoute, request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields of a request that travel in its query; what is None is left out."""
    pairs: list[tuple[str, str]] = []
    for name, kind in route.query.items():
        value = request.get(name)
        if value is None:
            continue
        values = value if kind is QueryEncoding.LIST else [value]
        pairs += [(name, _written(kind, item)) for item in values]
    return pairs


def _written(kind: QueryEncoding, value: Any) -> str:
    if kind is QueryEncoding.FLAG:
        return "true" if value else "false"
    return json.dumps(value) if kind is QueryEncoding.MAP else str(value)


def read_query(route: LanceRoute, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields that a query holds. What the route does not know is left alone: a newer client may send it."""
    fields: dict[str, Any] = {}
    for name, text in pairs:
        kind = route.query.get(name)
        if kind is QueryEncoding.LIST:
            fields.setdefault(name, []).append(text)
        elif kind is not None:
            fields[name] = _read(name, kind, text)
    return fields


# Python reads no number of some thousand digits; none is meant.
_NUMBER = re.compile(r"-?[0-9]{1,100}")


def _read(name: str, kind: QueryEncoding, text: str) -> Any:
    if kind is QueryEncoding.TEXT:
        return text
    if kind is QueryEncoding.FLAG and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind is QueryEncoding.NUMBER and _NUMBER.fullmatch(text):
        return int(text)
    if kind is QueryEncoding.MAP:
        return _read_map(name, text)
    expected = "true or false" if kind is QueryEncoding.FLAG else "a whole number"
    raise InvalidInputError(f"The query has {name}={text!r}, but it must be {expected}.")


def _read_map(name: str, text: str) -> dict[str, str]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict) and all(isinstance(value, str) for value in values.values()):
        return values
    # The text itself stays out: storage options may hold secrets.
    raise InvalidInputError(f'The query has a {name} that is not a JSON object of strings, such as {{"key": "value"}}.')


# -- errors --------------------------------------------------------------------------------------

STATUS: Mapping[int, int] = MappingProxyType(
    {
        0: 406,
        **dict.fromkeys((1, 4, 6, 8, 10, 11, 12, 22), 404),
        **dict.fromkeys((2, 3, 5, 7, 9, 14, 19, 23), 409),
        **dict.fromkeys((13, 20), 400),
        15: 403,
        16: 401,
        17: 503,
        18: 500,
        21: 429,
    }
)
# For an answer without a code of the protocol: what its status means.
CODE_OF_STATUS: Mapping[int, int] = MappingProxyType(
    {
        400: 13,
        401: 16,
        403: 15,
        405: 0,
        406: 0,
        408: 17,
        409: 14,
        413: 13,
        414: 13,
        415: 13,
        422: 13,
        429: 21,
        431: 13,
        501: 0,
        502: 17,
        503: 17,
        504: 17,
    }
)


def error_body(message: str, code: int, instance: str, detail: str | None = None) -> dict[str, Any]:
    """Return the envelope of every error. `instance` is the request's id, under which the server's log has the rest."""
    body: dict[str, Any] = {"error": message, "code": code, "instance": instance}
    return body if detail is None else {**body, "detail": detail}


def read_error(content: bytes) -> tuple[Mapping[str, Any], int | None]:
    """Return the envelope that an answer holds, empty without one; and its code, None if the protocol has no such."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    body = document if isinstance(document, dict) else {}
    code = body.get("code")
    return body, code if type(code) is int and code in STATUS else None
