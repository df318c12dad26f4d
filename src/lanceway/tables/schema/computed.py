"""Columns whose values are computed later, by a backfill: each says in its field's metadata how.

A computed column has an SQL expression of Lance, a virtual one a Python function by its import path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import AlterTableBackfillColumnsRequest
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.add_virtual_column_entry import AddVirtualColumnEntry

from lanceway.errors import InvalidInputError
from lanceway.tables import expressions
from lanceway.tables.dataset import StoredTable, is_main, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import arrow_json, fields, views

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

COMPUTED, VIRTUAL = "lanceway.computed", "lanceway.virtual"
_ADD, _BACKFILL = "alter_table_add_columns", "alter_table_backfill_columns"


@dataclass(frozen=True, slots=True)
class Virtual:
    """How a virtual column comes about. `field` is what the function calls the column where it answers several."""

    function: str
    inputs: tuple[str, ...]
    field: str
    name: str
    version: str

    @classmethod
    def read(cls, text: str) -> Virtual:
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Virtual:
        return cls(**{**values, "inputs": tuple(values["inputs"])})


Definition = str | Virtual


def definition(field: pa.Field) -> Definition | None:
    """Return the expression or the function of a column; None where it has neither."""
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    if COMPUTED.encode() in metadata:
        return metadata[COMPUTED.encode()].decode()
    if VIRTUAL.encode() in metadata:
        return Virtual.read(metadata[VIRTUAL.encode()].decode())
    return None


def in_metadata(field: pa.Field) -> Definition | None:
    """Return the expression or the function of a column; None where its metadata has neither, or is broken."""
    try:
        return definition(field)
    except (KeyError, ValueError, TypeError):
        return None


def record(column: Definition) -> dict[str, Any]:
    """Return a definition as JSON fields."""
    return {"expression": column} if isinstance(column, str) else asdict(column)


def from_record(values: Mapping[str, Any]) -> Definition:
    """Read a definition from its JSON fields."""
    return str(values["expression"]) if "expression" in values else Virtual.of(values)


def requested(entry: AddColumnsEntry) -> dict[str, Definition]:
    """Return the definitions of the columns that an entry asks for, by their names."""
    virtual = entry.virtual_column
    if virtual is None:
        return {entry.name: str(entry.computed)}
    function = views.read_function(f"{_ADD}: the function of {entry.name!r}", virtual.udf, virtual.udf_backend)
    inputs = tuple(fields.parse(path)[0] for path in virtual.input_columns)
    return {
        output.column: Virtual(function, inputs, output.struct_field, virtual.udf_name, virtual.udf_version)
        for output in virtual.outputs
    }


def new_fields(table: StoredTable, dataset: lance.LanceDataset, entry: AddColumnsEntry) -> list[pa.Field]:
    """Return the empty columns that an entry asks for."""
    if entry.virtual_column is not None:
        return _virtual(table, dataset, entry.name, entry.virtual_column)
    return [_computed(table, dataset, entry.name, str(entry.computed))]


def _computed(table: StoredTable, dataset: lance.LanceDataset, name: str, expression: str) -> pa.Field:
    import pyarrow as pa

    # Lance reads at least one column, also for an expression that needs none.
    some = next(column for column in dataset.schema.names if column != name)
    with translated(table, f"{_ADD} {name}"):
        field = dataset.scanner(columns={name: expression, some: fields.quoted(some)}).projected_schema.field(name)
    if pa.types.is_null(field.type):
        raise InvalidInputError(
            f"{_ADD}: the expression of {name!r} has no known type. Cast it, as in CAST({expression} AS BIGINT)."
        )
    return pa.field(name, field.type, metadata={COMPUTED: expression})


def _virtual(
    table: StoredTable, dataset: lance.LanceDataset, name: str, entry: AddVirtualColumnEntry
) -> list[pa.Field]:
    import pyarrow as pa

    function = views.read_function(f"{_ADD}: the function of {name!r} of {table.name}", entry.udf, entry.udf_backend)
    inputs = [fields.require_top(table, dataset.schema, path, _ADD) for path in entry.input_columns]
    if not entry.outputs:
        raise InvalidInputError(f"{_ADD}: the virtual column {name!r} of {table.name} has no outputs.")
    columns = []
    for output in entry.outputs:
        if not output.nullable:
            raise InvalidInputError(
                f"{_ADD}: {output.column!r} of {table.name} must be nullable: it is empty until it is backfilled."
            )
        virtual = Virtual(function, tuple(inputs), output.struct_field, entry.udf_name, entry.udf_version)
        metadata = {**(entry.field_metadata or {}), **(output.metadata or {}), VIRTUAL: json.dumps(asdict(virtual))}
        columns.append(pa.field(output.column, arrow_json.parse_type(output.data_type), metadata=metadata))
    return columns


# -- backfilling ---------------------------------------------------------------------------------


def check_backfill(
    table: StoredTable, request: AlterTableBackfillColumnsRequest, known: Mapping[str, Definition] | None = None
) -> dict[str, Any]:
    """Return the description of a backfill for a worker, after checking it. Nothing is changed.

    `known` are the definitions that the catalog keeps; without them, those of the table's metadata count.

    Raises TableColumnNotFoundError, TableVersionNotFoundError, TableBranchNotFoundError, and InvalidInputError for a
    column that is neither computed nor virtual.
    """
    expressions.check(_BACKFILL, request.where)
    expressions.check_numbers(_BACKFILL, request, ("concurrency",), expressions.MOST_THREADS)
    expressions.check_numbers(_BACKFILL, request, ("checkpoint_size",), expressions.MOST_ROWS)
    branch = None if is_main(request.branch) else request.branch
    dataset = open_at(table, branch=branch)
    column = fields.require_top(table, dataset.schema, request.column, _BACKFILL)
    require_definition(table, dataset.schema, column, known)
    version = request.read_version
    if version is not None and open_at(table, version=version, branch=branch).version != dataset.version:
        raise InvalidInputError(
            f"{_BACKFILL}: read_version is {version}, and {table.name} is at {dataset.version}. A "
            "backfill reads the latest version: leave read_version out."
        )
    if request.where is not None:
        with translated(table, f"{_BACKFILL} where {request.where}"):
            dataset.scanner(columns=[], filter=request.where, with_row_id=True).explain_plan()
    for name in ("concurrency", "checkpoint_size"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise InvalidInputError(f"{_BACKFILL}: {name} is {value}, but must be at least 1.")
    return {
        "column": column,
        "branch": branch,
        "where": request.where,
        "concurrency": request.concurrency,
        "checkpoint_size": request.checkpoint_size,
    }


def require_definition(
    table: StoredTable, schema: pa.Schema, column: str, definitions: Mapping[str, Definition] | None = None
) -> Definition:
    """Return the definition of a column: that of `definitions`, or where these are not known, of its metadata."""
    if definitions is None:
        columns = ((field.name, in_metadata(field)) for field in schema)
        definitions = {name: column for name, column in columns if column is not None}
    computed = definitions.get(column)
    if computed is None:
        names = [field.name for field in schema if field.name in definitions]
        raise InvalidInputError(
            f"{_BACKFILL}: the column {column!r} of {table.name} is neither computed nor virtual, so nothing says what "
            f"its values are. {_known(names)}"
        )
    return computed


def _known(columns: Sequence[str]) -> str:
    if columns:
        return f"Those that are: {', '.join(columns)}."
    return f"Add one with {_ADD}, giving computed or virtual_column."
