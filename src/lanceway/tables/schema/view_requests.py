"""What a request for a materialized view says: its source query, its function, its schema."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateMaterializedViewRequest

from lanceway.config.settings import unknown
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.tables.schema import fields, function_refs
from lanceway.tables.schema.views import KINDS, QUERY, UDTF, View

if TYPE_CHECKING:
    import pyarrow as pa

_CREATE = "create_materialized_view"
_KNOWN = ("source", "columns", "where", "key", "sql")


def moved(source_query: str, change: Callable[[list[str] | None], list[str] | None]) -> str:
    """A source query whose table has another identifier. One that is not right stays, and is refused later."""
    try:
        query = json.loads(source_query)
    except ValueError:
        return source_query
    if not isinstance(query, dict) or not _is_names(query.get("source")):
        return source_query
    return json.dumps({**query, "source": change(query["source"])})


def read(request: CreateMaterializedViewRequest) -> View:
    """The view that is asked for, complete as far as can be told without its source. Raises InvalidInputError."""
    if request.kind not in KINDS:
        raise InvalidInputError(f"{_CREATE}: kind is {request.kind!r}, but must be one of {', '.join(KINDS)}.")
    query = _query(request.source_query)
    view = View(
        kind=request.kind,
        source=tuple(query.get("source") or ()),
        columns=_columns(query.get("columns")),
        where=_text(query, "where"),
        key=tuple(_names(query, "key")),
        sql=_text(query, "sql"),
        auto_refresh=bool(request.auto_refresh),
    )
    if view.kind == QUERY:
        if request.udtf_spec is not None:
            raise InvalidInputError(f"{_CREATE}: udtf_spec is for the kinds udtf and chunker. Leave it out.")
        return view
    return _with_function(view, request)


def _with_function(view: View, request: CreateMaterializedViewRequest) -> View:
    spec = request.udtf_spec
    if spec is None or spec.kind != view.kind:
        raise InvalidInputError(f"{_CREATE}: the kind {view.kind} needs a udtf_spec of the same kind.")
    if view.sql or view.key or view.columns:
        raise InvalidInputError(
            f"{_CREATE}: a view of the kind {view.kind} has source and where alone in its source_query; what its "
            "function reads is udtf_spec.input_columns."
        )
    if spec.partition_by_indexed_column:
        raise UnsupportedOperationError(
            f"{_CREATE}: partition_by_indexed_column is not supported: rows that came after an index was built are in "
            "none of its partitions. Use partition_by with a column that says where a row belongs."
        )
    partition = _partition(spec.partition_by, view.kind) if spec.partition_by else None
    what = f"{_CREATE}: the function {spec.udtf_name!r}"
    function = function_refs.read(what, spec.udtf)
    function_refs.check_sha(what, spec.udtf, spec.udtf_sha)
    return replace(view, function=function, inputs=tuple(spec.input_columns or ()), partition=partition)


def _partition(path: str, kind: str) -> str:
    if kind != UDTF:
        raise InvalidInputError(f"{_CREATE}: partition_by is for the kind {UDTF}, and this is {kind}.")
    name, *inside = fields.parse(path)
    if inside:
        raise InvalidInputError(f"{_CREATE}: partition_by is {path}, which lies inside {name}. Name a whole column.")
    return name


def _query(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{_CREATE}: source_query is no JSON: {error}. Write {_example()}") from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{_CREATE}: source_query must be a JSON object. Write {_example()}")
    for key in found:
        if key not in _KNOWN:
            raise InvalidInputError(unknown(f"{_CREATE}: source_query", _KNOWN, key, "key"))
    if ("sql" in found) == ("source" in found):
        raise InvalidInputError(f"{_CREATE}: source_query needs source or sql, one of the two. Write {_example()}")
    if "sql" in found and len(found) > 1:
        raise InvalidInputError(f"{_CREATE}: with sql, source_query has nothing else: say all in the SQL.")
    if "source" in found and not (_is_names(found["source"]) and found["source"]):
        raise InvalidInputError(f"{_CREATE}: source must be a table's identifier, a list of its names.")
    return found


def _example() -> str:
    return '{"source": ["team", "orders"], "columns": ["id", "price"], "where": "price > 0"} or {"sql": "SELECT …"}.'


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _names(query: Mapping[str, Any], key: str) -> list[str]:
    value = query.get(key)
    if value is not None and not _is_names(value):
        raise InvalidInputError(f"{_CREATE}: {key} must be a list of columns.")
    return list(value or ())


def _text(query: Mapping[str, Any], key: str) -> str | None:
    value = query.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InvalidInputError(f"{_CREATE}: {key} must be SQL, a text.")
    return value


def _columns(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if isinstance(value, list) and _is_names(value) and value:
        return {name: fields.quoted(name) for name in value}
    if isinstance(value, dict) and value and all(isinstance(sql, str) for sql in value.values()):
        return value
    raise InvalidInputError(f"{_CREATE}: columns must be a list of names, or names with the SQL of each.")


def output_schema(request: CreateMaterializedViewRequest) -> pa.Schema:
    """The schema that the view is to have. Raises InvalidInputError."""
    import pyarrow as pa

    try:
        found = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request.output_schema, validate=True)))
    except (binascii.Error, ValueError, OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"{_CREATE}: output_schema is no Arrow schema in base64: {error}.") from error
    if not found.names:
        raise InvalidInputError(f"{_CREATE}: output_schema has no columns.")
    return found
