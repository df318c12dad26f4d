"""CREATE TABLE and ALTER TABLE of Spark SQL, carried out on a Lance table through its catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableAlterColumnsRequest,
    AlterTableDropColumnsRequest,
    CreateTableRequest,
    UpdateFieldMetadataRequest,
    UpdateTableSchemaMetadataRequest,
)

from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.spark.types import arrow_schema, check_name, parse_schema
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.tables.schema import arrow_json, fields
from lanceway.tables.schema.reserved import is_reserved
from lanceway.writes.plan import new_schema
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

VECTOR, BLOB = "lance.vector.", "lance.blob."
# Shown among a table's properties without being one: the version that a statement sees.
VERSION = "lance.version"
COMMENT = b"comment"
# The property in which Spark keeps a table's default collation, and the one that strings have without any.
COLLATION, BINARY_COLLATION = "collation", "UTF8_BINARY"
# Properties that Spark or the driver add. None of them was given by a user.
_OF_SPARK = frozenset({"provider", "owner", "external", "is_managed_location", "location", VERSION})


@dataclass(frozen=True)
class TableDefinition:
    """The schema and the properties that a statement gives a table."""

    schema: pa.Schema
    properties: Mapping[str, str] = field(default_factory=dict)
    vectors: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, statement: Mapping[str, Any]) -> TableDefinition:
        """Read a statement as the JVM describes it. Refuse what a Lance table cannot have."""
        _refuse_unsupported(statement)
        properties = {
            key: value
            for key, value in statement["properties"].items()
            if key not in _OF_SPARK and "option." not in key
        }
        vectors = vector_sizes(properties)
        schema = _table_schema(parse_schema(statement["schema"]), vectors, blob_names(properties))
        return cls(schema.with_metadata({**properties} or None), properties, vectors)


def create(ref: TableRef, table: TableDefinition, mode: str) -> None:
    """Make a table without rows; mode `overwrite` puts it in the place of one that is there."""
    import pyarrow as pa

    # A batch of no rows, since pylance's own server takes no batch for no data at all.
    none = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
    rows = pa.RecordBatchReader.from_batches(table.schema, [none])
    request = CreateTableRequest(id=list(ref.id), mode=mode)
    carry_out(ref.catalog(), "create_table_stream", request, rows)


def vector_sizes(properties: Mapping[str, str]) -> dict[str, int]:
    """Return the vector columns that properties name: `'lance.vector.emb' = '64'`."""
    sizes = {}
    for key, value in properties.items():
        if key.startswith(VECTOR):
            if not value.isdecimal() or int(value) < 1:
                raise InvalidInputError(f"The property {key} is {value!r}, but must be the length of the vectors.")
            sizes[key.removeprefix(VECTOR)] = int(value)
    return sizes


def blob_names(properties: Mapping[str, str]) -> list[str]:
    """Return the columns of large objects that properties name: `'lance.blob.image' = 'true'`."""
    return [key.removeprefix(BLOB) for key, value in properties.items() if key.startswith(BLOB) and value == "true"]


def properties_of(schema: pa.Schema) -> dict[str, str]:
    """Return the properties of a table, which are its schema's metadata but for Lanceway's own keys."""
    properties = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return {key: value for key, value in properties.items() if not is_reserved(key)}


def with_comments(schema: StructType, arrow: pa.Schema) -> dict[str, Any]:
    """Return the schema as Spark writes it in JSON, with the comments of its columns."""
    described: dict[str, Any] = schema.jsonValue()
    for entry, column in zip(described["fields"], arrow, strict=True):
        comment = _comment_of(column)
        if comment is not None:
            entry["metadata"] = {"comment": comment}
    return described


def _comment_of(column: pa.Field | None) -> str | None:
    comment = None if column is None else (column.metadata or {}).get(COMMENT)
    return None if comment is None else comment.decode()


def _stored(rows: pa.Schema, vectors: Mapping[str, int], blobs: Sequence[str] = ()) -> pa.Schema:
    """Return columns as Lance stores them, with vectors and blobs as properties name them."""
    return new_schema(rows, {"vector_columns": json.dumps(vectors), "blob_columns": json.dumps(blobs)})


def _table_schema(spark: StructType, vectors: Mapping[str, int], blobs: list[str]) -> pa.Schema:
    import pyarrow as pa

    rows = arrow_schema(spark)
    fields = []
    for stored, column in zip(_stored(rows, vectors, blobs), spark, strict=True):
        comment = column.metadata.get("comment")
        metadata = {**(stored.metadata or {}), **({COMMENT: comment.encode()} if comment else {})}
        fields.append(stored.with_nullable(column.nullable).with_metadata(metadata or None))
    return pa.schema(fields)


def _refuse_unsupported(statement: Mapping[str, Any]) -> None:
    properties = statement["properties"]
    provider = properties.get("provider", "lance")
    if provider.lower() != "lance":
        # A data frame that is saved without a format asks for Spark's default, which is parquet.
        raise UnsupportedOperationError(
            f'Every table here is a Lance table: leave USING {provider} out, or save it with format("lance").'
        )
    _refuse_collation(properties)
    if statement["partitioned"]:
        raise UnsupportedOperationError("Lance tables have no partitions: leave PARTITIONED BY out, and make an index.")
    if "location" in properties:
        raise UnsupportedOperationError(
            "The catalog chooses where a table is: leave LOCATION out, or register the table that is there with "
            "`lanceway tables register`."
        )


def _refuse_collation(properties: Mapping[str, str]) -> None:
    """Refuse a collation for all strings of a table, which Spark hands on as a property."""
    collation = properties.get(COLLATION, BINARY_COLLATION)
    if collation.upper() != BINARY_COLLATION:
        raise UnsupportedOperationError(
            f"DEFAULT COLLATION {collation}: the strings of a Lance table have no collation. Leave it out, and write "
            "COLLATE in queries."
        )


Change = Mapping[str, Any]


def alter(ref: TableRef, changes: Sequence[Change]) -> None:
    """Carry out the changes of one statement. Spark gives one kind at a time, and each kind makes one version."""
    kinds = {change["change"] for change in changes}
    if len(kinds) != 1:
        if kinds == {"set", "unset"}:
            return _properties(ref, changes)
        raise InvalidInputError(f"ALTER TABLE {ref.name}: one kind of change at a time, not {', '.join(kinds)}.")
    return _KINDS[kinds.pop()](ref, changes)


def set_properties(ref: TableRef, new: Mapping[str, str], old: Iterable[str]) -> None:
    """Set new properties and remove old ones. The contract replaces all of them, so the others are sent again."""
    removed = set(old)
    properties = {**properties_of(ref.open().schema), **new}
    metadata = {key: value for key, value in properties.items() if key not in removed}
    request = UpdateTableSchemaMetadataRequest(id=list(ref.id), metadata=metadata)
    ref.catalog().update_table_schema_metadata(request)


def _properties(ref: TableRef, changes: Sequence[Change]) -> None:
    new = {change["key"]: change["value"] for change in changes if change["change"] == "set"}
    vector_sizes(new)
    _refuse_collation(new)
    set_properties(ref, new, [change["key"] for change in changes if change["change"] == "unset"])


def _add(ref: TableRef, changes: Sequence[Change]) -> None:
    """Add columns, which are null in existing rows. A property `lance.vector.NAME` makes one a vector."""
    from pyspark.sql.types import StructType

    new = [parse_schema(change["schema"])[0] for change in changes]
    for change in changes:
        if len(change["column"]) > 1:
            raise UnsupportedOperationError(
                f"ALTER TABLE {ref.name}: {_path(change)} is inside another column, which Lance cannot add to."
            )
        if not change["nullable"]:
            raise InvalidInputError(
                f"ALTER TABLE {ref.name}: the new column {_path(change)} is null in the rows there are. "
                "Leave NOT NULL out."
            )
    table = ref.table()
    destination = ref.destination()
    if destination is not None:
        destination.require_writable()
    opened = dataset.open_at(table)
    rows = arrow_schema(StructType(new))
    sizes = vector_sizes(properties_of(opened.schema))
    columns = _stored(rows, {name: size for name, size in sizes.items() if name in rows.names})
    with translated(table, "ALTER TABLE ADD COLUMNS"):
        opened.add_columns(columns)
    _set_comments(ref, {_path(change): change["comment"] for change in changes if change["comment"]})


def _alter_columns(ref: TableRef, changes: Sequence[Change], entry: Callable[[Change], dict[str, Any]]) -> None:
    alterations = [{"path": _path(change), **entry(change)} for change in changes]
    request = AlterTableAlterColumnsRequest.model_validate({"id": list(ref.id), "alterations": alterations})
    ref.catalog().alter_table_alter_columns(request)


def _rename(ref: TableRef, changes: Sequence[Change]) -> None:
    for change in changes:
        if len(change["column"]) == 1:
            check_name(change["to"])
    _alter_columns(ref, changes, lambda change: {"rename": change["to"]})


def _type(ref: TableRef, changes: Sequence[Change]) -> None:
    """Change types. Lance rewrites such a column, and without its comment, so that is set again."""
    schema = ref.open().schema
    comments = {_path(change): _comment_of(fields.find(schema, _path(change))) for change in changes}
    _alter_columns(ref, changes, lambda change: {"data_type": _described(change)})
    _set_comments(ref, {path: comment for path, comment in comments.items() if comment})


def _nullable(ref: TableRef, changes: Sequence[Change]) -> None:
    _alter_columns(ref, changes, lambda change: {"nullable": change["nullable"]})


def _comment(ref: TableRef, changes: Sequence[Change]) -> None:
    _set_comments(ref, {_path(change): change["comment"] for change in changes})


def _set_comments(ref: TableRef, comments: Mapping[str, str]) -> None:
    if not comments:
        return
    key = COMMENT.decode()
    updates = [{"path": path, "metadata": {key: comment}} for path, comment in comments.items()]
    request = UpdateFieldMetadataRequest.model_validate({"id": list(ref.id), "updates": updates})
    ref.catalog().update_field_metadata(request)


def _drop(ref: TableRef, changes: Sequence[Change]) -> None:
    columns = [_path(change) for change in changes]
    ref.catalog().alter_table_drop_columns(AlterTableDropColumnsRequest(id=list(ref.id), columns=columns))


def _path(change: Change) -> str:
    return fields.format_(change["column"])


def _described(change: Change) -> Any:
    """Return a column's new type as the contract writes Arrow's."""
    arrow = arrow_schema(parse_schema(change["schema"])).field(0).type
    return arrow_json.data_type(arrow).model_dump(by_alias=True, exclude_none=True)


_KINDS: Mapping[str, Callable[[TableRef, Sequence[Change]], None]] = MappingProxyType(
    {
        "set": _properties,
        "unset": _properties,
        "add": _add,
        "rename": _rename,
        "type": _type,
        "nullable": _nullable,
        "comment": _comment,
        "drop": _drop,
    }
)
