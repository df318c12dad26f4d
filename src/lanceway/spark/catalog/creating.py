"""CREATE TABLE: Spark's columns and properties as a Lance table's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableRequest

from lanceway.catalogs.wrappers.forward import carry_out
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.spark.types import arrow_schema
from lanceway.writes.plan import new_schema
from lanceway.writes.table_ref import Target

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

VECTOR, BLOB = "lance.vector.", "lance.blob."
# Shown among a table's properties, and no property of its own: the version that a statement sees.
VERSION = "lance.version"
COMMENT = b"comment"
# What Spark or we put among a table's properties. None of it is a property that a user gave.
_OF_SPARK = frozenset({"provider", "owner", "external", "is_managed_location", "location", VERSION})


@dataclass(frozen=True)
class NewTable:
    """The schema and the properties that a statement gives a table."""

    schema: pa.Schema
    properties: Mapping[str, str] = field(default_factory=dict)
    vectors: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> NewTable:
        from pyspark.sql.types import StructType

        given = asked["properties"]
        _refuse_what_lance_has_not(asked, given)
        properties = {key: value for key, value in given.items() if key not in _OF_SPARK and "option." not in key}
        vectors = vector_sizes(properties)
        schema = _own(StructType.fromJson(asked["schema"]), vectors, blob_names(properties))
        return cls(schema.with_metadata({**properties} or None), properties, vectors)


def create(target: Target, table: NewTable, mode: str) -> None:
    """Make a table without rows; mode `overwrite` puts it in the place of one that is there."""
    import pyarrow as pa

    # A batch of no rows, since pylance's own server takes no batch for no data at all.
    none = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
    rows = pa.RecordBatchReader.from_batches(table.schema, [none])
    request = CreateTableRequest(id=list(target.id), mode=mode)
    carry_out(target.catalog(), "create_table_stream", request, rows)


def vector_sizes(properties: Mapping[str, str]) -> dict[str, int]:
    """The vector columns that properties name: `'lance.vector.emb' = '64'`."""
    sizes = {}
    for key, value in properties.items():
        if key.startswith(VECTOR):
            if not value.isdecimal() or int(value) < 1:
                raise InvalidInputError(f"The property {key} is {value!r}, but must be the length of the vectors.")
            sizes[key.removeprefix(VECTOR)] = int(value)
    return sizes


def blob_names(properties: Mapping[str, str]) -> list[str]:
    """The columns of large objects that properties name: `'lance.blob.image' = 'true'`."""
    return [key.removeprefix(BLOB) for key, value in properties.items() if key.startswith(BLOB) and value == "true"]


def properties_of(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}


def with_comments(schema: StructType, arrow: pa.Schema) -> dict[str, Any]:
    """The schema as Spark writes it in JSON, with the comments of its columns."""
    described: dict[str, Any] = schema.jsonValue()
    for entry, own in zip(described["fields"], arrow, strict=True):
        comment = comment_of(own)
        if comment is not None:
            entry["metadata"] = {"comment": comment}
    return described


def comment_of(column: pa.Field | None) -> str | None:
    found = None if column is None else (column.metadata or {}).get(COMMENT)
    return None if found is None else found.decode()


def stored(rows: pa.Schema, vectors: Mapping[str, int], blobs: Sequence[str] = ()) -> pa.Schema:
    """Columns as Lance stores them: vectors and blobs are what properties make them."""
    return new_schema(rows, {"vector_columns": json.dumps(vectors), "blob_columns": json.dumps(blobs)})


def _own(spark: StructType, vectors: Mapping[str, int], blobs: list[str]) -> pa.Schema:
    import pyarrow as pa

    rows = arrow_schema(spark)
    made = stored(rows, vectors, blobs)
    fields = []
    for new, given in zip(made, spark, strict=True):
        comment = given.metadata.get("comment")
        metadata = {**(new.metadata or {}), **({COMMENT: comment.encode()} if comment else {})}
        fields.append(new.with_nullable(given.nullable).with_metadata(metadata or None))
    return pa.schema(fields)


def _refuse_what_lance_has_not(asked: Mapping[str, Any], properties: Mapping[str, str]) -> None:
    provider = properties.get("provider", "lance")
    if provider.lower() != "lance":
        # A data frame that is saved without a format asks for Spark's default, which is parquet.
        raise UnsupportedOperationError(
            f'Every table here is a Lance table: leave USING {provider} out, or save it with format("lance").'
        )
    if asked["partitioned"]:
        raise UnsupportedOperationError("Lance tables have no partitions: leave PARTITIONED BY out, and make an index.")
    if "location" in properties:
        raise UnsupportedOperationError(
            "The catalog chooses where a table lies: leave LOCATION out, or register the table that is there with "
            "`lanceway tables register`."
        )
