"""The metadata of a table's schema and of its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import (
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableSchemaMetadataRequest,
    UpdateTableSchemaMetadataResponse,
)
from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry

from lanceway.errors import InvalidInputError
from lanceway.tables.dataset import VIEW, Table, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import pyarrow as pa


def update_schema(table: Table, request: UpdateTableSchemaMetadataRequest) -> UpdateTableSchemaMetadataResponse:
    """Replace the metadata of the schema, as the contract has it. What makes a table a view is none of it."""
    dataset = open_at(table, branch=request.branch)
    reserved = {key.decode(): value.decode() for key, value in (dataset.schema.metadata or {}).items() if key == VIEW}
    with translated(table, "update_table_schema_metadata"):
        metadata = dataset.update_schema_metadata({**(request.metadata or {}), **reserved}, replace=True)
    return UpdateTableSchemaMetadataResponse(metadata=metadata)


def update_fields(table: Table, request: UpdateFieldMetadataRequest) -> UpdateFieldMetadataResponse:
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
        return UpdateFieldMetadataResponse(version=dataset.version, fields=metadata)


def _changed(before: dict[str, str], entry: UpdateFieldMetadataEntry) -> dict[str, str]:
    after = {} if entry.replace else dict(before)
    for key, value in entry.metadata.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    return after


def _metadata(field: pa.Field) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
