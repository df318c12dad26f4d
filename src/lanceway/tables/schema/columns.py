"""Add, alter and drop columns, each request in one new version, and set the table's metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance_namespace as ln
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry
from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.tables import expressions
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import arrow_json, computed, fields, reserved

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

_NO_ENGINE = (
    "It needs an engine that computes the column's values, and none is connected. "
    "Give an SQL expression, which is evaluated once over the rows there are, or let the catalog record background "
    "jobs: the setting jobs of its section in lanceway.toml."
)


def add(
    table: StoredTable, request: ln.AlterTableAddColumnsRequest, *, backfills: bool = False
) -> ln.AlterTableAddColumnsResponse:
    """Add columns from SQL expressions over the rows there are.

    Where a backfill can be asked for, also columns that it is to fill: they are empty, and say what they are to hold.
    """
    _some(request.new_columns, table, "alter_table_add_columns")
    sources = (sql for entry in request.new_columns for sql in (entry.expression, entry.computed))
    expressions.check("alter_table_add_columns", *sources)
    dataset = open_at(table, branch=request.branch)
    later = [entry for entry in request.new_columns if is_filled_later(entry)]
    if later and not backfills:
        raise UnsupportedOperationError(
            f"alter_table_add_columns: the column {later[0].name!r} of {table.name} is virtual or computed. "
            f"{_NO_ENGINE}"
        )
    if later and len(later) < len(request.new_columns):
        raise InvalidInputError(
            f"alter_table_add_columns: {later[0].name!r} of {table.name} is filled later and others are at once, which "
            "is not a single version. Ask for them one after the other."
        )
    if later:
        return _add_empty(table, dataset, later)
    new: dict[str, str] = {}
    for entry in request.new_columns:
        _require_free(table, {*new, *dataset.schema.names}, entry.name)
        new[entry.name] = _expression(table, entry)
    with translated(table, "alter_table_add_columns"):
        dataset.add_columns(new)
        return ln.AlterTableAddColumnsResponse(version=dataset.version)


def add_nulls(table: StoredTable, columns: pa.Schema, branch: str | None = None) -> int:
    """Add columns of these types that hold nothing yet, and return the version that has them."""
    dataset = open_at(table, branch=branch)
    if not columns.names:
        raise InvalidInputError(f"alter_table_add_columns: no column was given for {table.name}.")
    for index, column in enumerate(columns):
        _require_free(table, {*columns.names[:index], *dataset.schema.names}, column.name)
        if not column.nullable:
            raise InvalidInputError(
                f"alter_table_add_columns: the column {column.name!r} of {table.name} would hold nothing but nulls, so "
                "it must be nullable."
            )
    with translated(table, "alter_table_add_columns"):
        dataset.add_columns(columns)
        return int(dataset.version)


def is_filled_later(entry: AddColumnsEntry) -> bool:
    """Return whether a column is to be empty until it is backfilled."""
    return entry.virtual_column is not None or entry.computed is not None


def _add_empty(
    table: StoredTable, dataset: lance.LanceDataset, entries: list[AddColumnsEntry]
) -> ln.AlterTableAddColumnsResponse:
    new: list[pa.Field] = []
    for entry in entries:
        if entry.computed is not None:
            _require_free(table, set(dataset.schema.names), entry.name)
        for field in computed.new_fields(table, dataset, entry):
            _require_free(table, {*(column.name for column in new), *dataset.schema.names}, field.name)
            new.append(field)
    with translated(table, "alter_table_add_columns"):
        dataset.add_columns(new)
        return ln.AlterTableAddColumnsResponse(version=dataset.version)


def _require_free(table: StoredTable, names: set[str], name: str) -> None:
    if name in names:
        raise InvalidInputError(
            f"alter_table_add_columns: {table.name} cannot get a column {name!r}: the name is taken."
        )


def _expression(table: StoredTable, entry: AddColumnsEntry) -> str:
    if not entry.expression:
        raise InvalidInputError(
            f"alter_table_add_columns: the column {entry.name!r} of {table.name} needs an SQL expression, "
            "such as a * 2, or CAST(NULL AS BIGINT) for an empty column."
        )
    return entry.expression


def alter(table: StoredTable, request: ln.AlterTableAlterColumnsRequest) -> ln.AlterTableAlterColumnsResponse:
    """Rename columns, change their type or whether they may be null."""
    dataset = open_at(table, branch=request.branch)
    _some(request.alterations, table, "alter_table_alter_columns")
    for entry in request.alterations:
        fields.require(table, dataset.schema, entry.path, "alter_table_alter_columns")
    alterations = [_alteration(table, entry) for entry in request.alterations]
    with translated(table, "alter_table_alter_columns"):
        dataset.alter_columns(*alterations)  # type: ignore[arg-type] # annotated there as a list of lists
        return ln.AlterTableAlterColumnsResponse(version=dataset.version)


def _alteration(table: StoredTable, entry: AlterColumnsEntry) -> dict[str, Any]:
    if entry.virtual_column is not None:
        raise UnsupportedOperationError(
            f"alter_table_alter_columns: {entry.path} of {table.name} cannot become virtual. {_NO_ENGINE}"
        )
    alteration: dict[str, Any] = {"path": entry.path}
    if entry.rename:
        alteration["name"] = entry.rename
    if entry.nullable is not None:
        alteration["nullable"] = entry.nullable
    if entry.data_type is not None:
        alteration["data_type"] = arrow_json.parse_type(entry.data_type)
    if len(alteration) == 1:
        raise InvalidInputError(
            f"alter_table_alter_columns: nothing to alter for {entry.path} of {table.name}; "
            "give rename, data_type or nullable."
        )
    return alteration


def drop(table: StoredTable, request: ln.AlterTableDropColumnsRequest) -> ln.AlterTableDropColumnsResponse:
    dataset = open_at(table, branch=request.branch)
    _some(request.columns, table, "alter_table_drop_columns")
    for path in request.columns:
        fields.require(table, dataset.schema, path, "alter_table_drop_columns")
    with translated(table, "alter_table_drop_columns"):
        dataset.drop_columns(request.columns)
        return ln.AlterTableDropColumnsResponse(version=dataset.version)


def _some(entries: list[Any], table: StoredTable, operation: str) -> None:
    if not entries:
        raise InvalidInputError(f"{operation}: no column of {table.name} was given.")


def update_schema(
    table: StoredTable, request: ln.UpdateTableSchemaMetadataRequest
) -> ln.UpdateTableSchemaMetadataResponse:
    """Replace the metadata of the schema, as the contract has it, but for keys that are reserved."""
    dataset = open_at(table, branch=request.branch)
    before = {key.decode(): value.decode() for key, value in (dataset.schema.metadata or {}).items()}
    kept = {key: value for key, value in before.items() if reserved.is_reserved(key)}
    with translated(table, "update_table_schema_metadata"):
        metadata = dataset.update_schema_metadata({**(request.metadata or {}), **kept}, replace=True)
    return ln.UpdateTableSchemaMetadataResponse(metadata=metadata)


def update_fields(table: StoredTable, request: ln.UpdateFieldMetadataRequest) -> ln.UpdateFieldMetadataResponse:
    """Change the metadata of several fields in one new version. A null value deletes its key."""
    dataset = open_at(table, branch=request.branch)
    if not request.updates:
        raise InvalidInputError(f"update_field_metadata: no field of {table.name} was given.")
    # One commit replaces or merges, not both; replacing by what merging would give serves for both.
    metadata: dict[str, dict[str, str]] = {}
    for entry in request.updates:
        field = fields.require(table, dataset.schema, entry.path, "update_field_metadata")
        path = fields.format_(fields.parse(entry.path))
        metadata[path] = _changed(metadata.get(path, _metadata(field)), entry)
    with translated(table, "update_field_metadata"):
        dataset.update_field_metadata({path: {**values} for path, values in metadata.items()}, replace=True)
        return ln.UpdateFieldMetadataResponse(version=dataset.version, fields=metadata)


def _changed(before: dict[str, str], entry: UpdateFieldMetadataEntry) -> dict[str, str]:
    after = {key: value for key, value in before.items() if not entry.replace or reserved.is_reserved(key)}
    for key, value in entry.metadata.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    return after


def _metadata(field: pa.Field) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
