"""Python functions as clients name them: by their import path, in a small JSON envelope.

The contract has pickles in this place. To load a pickle is to run whatever its sender wants, so none ever is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateMaterializedViewRequest

from lanceway.config.settings import unknown
from lanceway.errors import InvalidInputError, InvalidTableStateError, UnsupportedOperationError
from lanceway.tables import expressions
from lanceway.tables.dataset import VIEW, StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

BACKEND = "lanceway.import.v1"
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_FUNCTION = "function"
_HOW = (
    f'Send base64 of {{"{_FUNCTION}": "package.module:name"}} with the backend {BACKEND!r}; the function must be '
    "installed where the worker runs, and allowed there."
)


def write(function: str) -> str:
    """Return the envelope of a function, as requests carry it."""
    return base64.b64encode(json.dumps({_FUNCTION: function}).encode()).decode()


def read_function(what: str, envelope: str, backend: str | None = None) -> str:
    """Return the import path in an envelope. `what` begins the sentence of a refusal.

    Raises UnsupportedOperationError for anything but an envelope, and InvalidInputError for one that is not right.
    """
    if backend not in (None, "", BACKEND):
        raise UnsupportedOperationError(f"{what}: the backend {backend!r} is not known here. {_HOW}")
    try:
        content = json.loads(base64.b64decode(envelope, validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise UnsupportedOperationError(
            f"{what}: it is not a JSON envelope. A pickled function is not loaded, since that runs whatever its sender "
            f"wants. {_HOW}"
        ) from None
    if not isinstance(content, dict) or set(content) != {_FUNCTION} or not isinstance(content[_FUNCTION], str):
        raise InvalidInputError(f"{what}: the envelope must hold one text, {_FUNCTION!r}. {_HOW}")
    if not _PATH.fullmatch(content[_FUNCTION]):
        raise InvalidInputError(f"{what}: {content[_FUNCTION]!r} is not an import path. Write package.module:name.")
    return str(content[_FUNCTION])


def check_sha(what: str, envelope: str, sha: str) -> None:
    """Refuse a checksum that is neither the envelope's nor that of what it holds."""
    checksums = {hashlib.sha256(part).hexdigest() for part in (envelope.encode(), base64.b64decode(envelope))}
    if sha.strip().lower() not in checksums:
        raise InvalidInputError(f"{what}: the checksum is not the SHA-256 of the envelope. Send it whole again.")


QUERY, UDTF, CHUNKER = KINDS = ("query", "udtf", "chunker")
_CREATE = "create_materialized_view"


@dataclass(frozen=True, slots=True)
class View:
    """How a view's rows come about: the kind, the source, and what is taken from it.

    `columns` are names and their expressions, empty for all as they are. `function` makes rows of the source's rows
    where the kind is not `query`; with `partition`, of those that have the same value in this column.
    """

    kind: str
    source: tuple[str, ...] = ()
    columns: Mapping[str, str] | None = None
    where: str | None = None
    key: tuple[str, ...] = ()
    sql: str | None = None
    function: str | None = None
    inputs: tuple[str, ...] = ()
    partition: str | None = None
    auto_refresh: bool = False

    def record(self) -> dict[str, Any]:
        """Return the view as JSON fields, without those that have no value."""
        return {name: value for name, value in asdict(self).items() if value}

    def written(self) -> bytes:
        return json.dumps(self.record()).encode()

    @classmethod
    def of(cls, table: StoredTable, schema: pa.Schema) -> View:
        """Read the view of a table. Raises InvalidTableStateError for a table that is not a view."""
        text = (schema.metadata or {}).get(VIEW)
        if text is None:
            raise not_a_view(table.name)
        return cls.from_record(json.loads(text))

    @classmethod
    def from_record(cls, values: Mapping[str, Any]) -> View:
        """Read a view from its JSON fields."""
        lists = {name: tuple(values.get(name, ())) for name in ("source", "key", "inputs")}
        return cls(**{**values, **lists})

    @property
    def reads(self) -> dict[str, str] | None:
        """Return the columns that are read of the source, by their expressions; None for all."""
        if self.inputs:
            apart = () if self.partition is None else (self.partition,)
            return {name: fields.quoted(name) for name in (*self.inputs, *apart)}
        return dict(self.columns) if self.columns else None


def not_a_view(name: str) -> InvalidTableStateError:
    return InvalidTableStateError(f"{name} is a table and no materialized view. Views are made with {_CREATE}.")


def in_metadata(schema: pa.Schema) -> View | None:
    """Return the view in a schema's metadata; None if there is none, or if it cannot be read."""
    try:
        return View.from_record(json.loads((schema.metadata or {})[VIEW]))
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def check(view: View, schema: pa.Schema, source: StoredTable) -> None:
    """Refuse a view that its source cannot give, before anything is made."""
    dataset = open_at(source)
    for name in view.inputs:
        fields.require_top(source, dataset.schema, name, _CREATE)
    if view.partition is not None:
        path = fields.format_([view.partition])
        _require_values(dataset.schema.field(fields.require_top(source, dataset.schema, path, _CREATE)))
    with translated(source, _CREATE):
        scanner = scan(view, dataset)
        scanner.explain_plan()
        projected = scanner.projected_schema
    if view.kind != QUERY:
        return
    if set(projected.names) != set(schema.names):
        raise InvalidInputError(
            f"{_CREATE}: the query gives {', '.join(projected.names)}, and output_schema has {', '.join(schema.names)}."
        )
    for field in schema:
        _require_cast(projected.field(field.name), field)
    for name in view.key:
        if name not in schema.names:
            raise InvalidInputError(
                f"{_CREATE}: the key {name!r} is not a column of the view: {', '.join(schema.names)}."
            )


def _require_values(partition: pa.Field) -> None:
    """Refuse a column whose values cannot be told apart."""
    import pyarrow as pa

    try:
        pa.array([], partition.type).dictionary_encode()
    except (pa.ArrowException, NotImplementedError) as error:
        raise InvalidInputError(
            f"{_CREATE}: partition_by is {partition.name!r}, and values of {partition.type} do not tell rows apart."
        ) from error


def _require_cast(source: pa.Field, target: pa.Field) -> None:
    import pyarrow as pa

    try:
        pa.array([], source.type).cast(target.type)
    except (pa.ArrowException, NotImplementedError) as error:
        raise InvalidInputError(
            f"{_CREATE}: the query gives {source.name!r} as {source.type}, which cannot be converted to {target.type}: "
            f"{error}."
        ) from error


def scan(view: View, dataset: lance.LanceDataset, fragments: list[Any] | None = None) -> lance.LanceScanner:
    """Return the rows that a view takes from its source, or from some fragments of it."""
    expressions.check(_CREATE, view.where, *(view.reads or {}).values())
    return dataset.scanner(columns=view.reads, filter=view.where, fragments=fragments)


_CREATE_VIEW = "create_materialized_view"
_KNOWN = ("source", "columns", "where", "key", "sql")


def moved(source_query: str, change: Callable[[list[str] | None], list[str] | None]) -> str:
    """Return a source query whose table has another identifier. One that is not right stays, and is refused later."""
    try:
        query = json.loads(source_query)
    except (ValueError, RecursionError):
        return source_query
    if not isinstance(query, dict) or not _is_names(query.get("source")):
        return source_query
    return json.dumps({**query, "source": change(query["source"])})


def read_view_request(request: CreateMaterializedViewRequest) -> View:
    """Return the view that is asked for, complete as far as can be told without its source.

    Raises InvalidInputError.
    """
    if request.kind not in KINDS:
        raise InvalidInputError(f"{_CREATE_VIEW}: kind is {request.kind!r}, but must be one of {', '.join(KINDS)}.")
    query = _query(request.source_query)
    view = View(
        kind=request.kind,
        source=tuple(query.get("source") or ()),
        columns=_columns(query.get("columns")),
        where=_text(query, "where"),
        key=tuple(_names(query, "key")),
        sql=_free_sql(query),
        auto_refresh=bool(request.auto_refresh),
    )
    if view.kind == QUERY:
        if request.udtf_spec is not None:
            raise InvalidInputError(f"{_CREATE_VIEW}: udtf_spec is for the kinds udtf and chunker. Leave it out.")
        return view
    return _with_function(view, request)


def _with_function(view: View, request: CreateMaterializedViewRequest) -> View:
    spec = request.udtf_spec
    if spec is None or spec.kind != view.kind:
        raise InvalidInputError(f"{_CREATE_VIEW}: the kind {view.kind} needs a udtf_spec of the same kind.")
    if view.sql or view.key or view.columns:
        raise InvalidInputError(
            f"{_CREATE_VIEW}: a view of the kind {view.kind} has source and where alone in its source_query; what its "
            "function reads is udtf_spec.input_columns."
        )
    if spec.partition_by_indexed_column:
        raise UnsupportedOperationError(
            f"{_CREATE_VIEW}: partition_by_indexed_column is not supported: rows that came after an index was built "
            "are in none of its partitions. Use partition_by with a column that says where a row belongs."
        )
    partition = _partition(spec.partition_by, view.kind) if spec.partition_by else None
    what = f"{_CREATE_VIEW}: the function {spec.udtf_name!r}"
    function = read_function(what, spec.udtf)
    check_sha(what, spec.udtf, spec.udtf_sha)
    return replace(view, function=function, inputs=tuple(spec.input_columns or ()), partition=partition)


def _partition(path: str, kind: str) -> str:
    if kind != UDTF:
        raise InvalidInputError(f"{_CREATE_VIEW}: partition_by is for the kind {UDTF}, and this is {kind}.")
    name, *inside = fields.parse(path)
    if inside:
        raise InvalidInputError(f"{_CREATE_VIEW}: partition_by is {path}, which is inside {name}. Name a whole column.")
    return name


def _query(text: str) -> dict[str, Any]:
    try:
        query = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{_CREATE_VIEW}: source_query is not JSON: {error}. Write {_example()}") from None
    if not isinstance(query, dict):
        raise InvalidInputError(f"{_CREATE_VIEW}: source_query must be a JSON object. Write {_example()}")
    for key in query:
        if key not in _KNOWN:
            raise InvalidInputError(unknown(f"{_CREATE_VIEW}: source_query", _KNOWN, key, "key"))
    if ("sql" in query) == ("source" in query):
        raise InvalidInputError(f"{_CREATE_VIEW}: source_query needs source or sql, one of the two. Write {_example()}")
    if "sql" in query and len(query) > 1:
        raise InvalidInputError(f"{_CREATE_VIEW}: with sql, source_query has nothing else: say all in the SQL.")
    if "source" in query and not (_is_names(query["source"]) and query["source"]):
        raise InvalidInputError(f"{_CREATE_VIEW}: source must be a table's identifier, a list of its names.")
    return query


def _example() -> str:
    return '{"source": ["team", "orders"], "columns": ["id", "price"], "where": "price > 0"} or {"sql": "SELECT …"}.'


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _names(query: Mapping[str, Any], key: str) -> list[str]:
    value = query.get(key)
    if value is not None and not _is_names(value):
        raise InvalidInputError(f"{_CREATE_VIEW}: {key} must be a list of columns.")
    return list(value or ())


def _text(query: Mapping[str, Any], key: str) -> str | None:
    value = query.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InvalidInputError(f"{_CREATE_VIEW}: {key} must be SQL, a text.")
    return value


def _free_sql(query: Mapping[str, Any]) -> str | None:
    """Return the SQL that Spark is to read. It is no single expression, so its length alone is bounded."""
    sql = _text(query, "sql")
    if sql is not None and len(sql) > expressions.MOST_CHARACTERS:
        raise InvalidInputError(f"{_CREATE_VIEW}: sql has more than {expressions.MOST_CHARACTERS:,} characters.")
    return sql


def _columns(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if isinstance(value, list) and _is_names(value) and value:
        return {name: fields.quoted(name) for name in value}
    if isinstance(value, dict) and value and all(isinstance(sql, str) for sql in value.values()):
        return value
    raise InvalidInputError(f"{_CREATE_VIEW}: columns must be a list of names, or names with the SQL of each.")


def output_schema(request: CreateMaterializedViewRequest) -> pa.Schema:
    """Return the schema that the view is to have. Raises InvalidInputError."""
    import pyarrow as pa

    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request.output_schema, validate=True)))
    except (binascii.Error, ValueError, OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"{_CREATE_VIEW}: output_schema is not an Arrow schema in base64: {error}.") from error
    if not schema.names:
        raise InvalidInputError(f"{_CREATE_VIEW}: output_schema has no columns.")
    return schema
