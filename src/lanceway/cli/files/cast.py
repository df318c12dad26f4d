"""Fit the rows of files to a table: types by name, and lists that become vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, TableColumnNotFoundError, TableSchemaValidationError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileRows:
    """A schema, batches that have it, and the number of rows where it is known beforehand."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    total: int | None = None


def fitted(rows: FileRows, schema: pa.Schema, table: str) -> FileRows:
    """Return the rows with the types of the table's columns.

    A file's own types are often only guessed (CSV, JSON). A value that the cast would change is an error. Columns that
    the table does not have are left for the catalog to refuse.
    """
    target = _target(rows.schema, schema)
    return FileRows(target, (cast(batch, target, table) for batch in rows.batches), rows.total)


def _target(source: pa.Schema, table: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    shared = [field for field in table if field.name in source.names]
    strange = [field for field in source if field.name not in table.names]
    return pa.schema([*shared, *strange])


def cast(batch: pa.RecordBatch, schema: pa.Schema, what: str) -> pa.RecordBatch:
    """Return the batch with the columns of `schema`, in its order and types."""
    import pyarrow as pa

    columns = [_column(batch.column(field.name), field, what) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(column: pa.Array, field: pa.Field, what: str) -> pa.Array:
    import pyarrow as pa

    if column.null_count and not field.nullable:
        raise TableSchemaValidationError(f"The column {field.name!r} has nulls, and in {what} it must not have any.")
    try:
        return column if column.type == field.type else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableSchemaValidationError(
            f"The column {field.name!r} does not fit {what}, where it is {field.type} and here {column.type}: {error}."
        ) from error


def with_vectors(rows: FileRows, columns: Sequence[str]) -> FileRows:
    """Return the rows with these list columns as vectors: 32-bit floats of one length, which searches need."""
    if not columns:
        return rows
    batches = iter(rows.batches)
    first = next(batches, None)
    schema = rows.schema
    for name in columns:
        schema = _with_vector(schema, name, first)
    return FileRows(schema, _cast_all(first, batches, schema), rows.total)


def _cast_all(
    first: pa.RecordBatch | None, others: Iterator[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in chain(() if first is None else (first,), others):
        yield cast(batch, schema, "a vector column")


def _with_vector(schema: pa.Schema, name: str, first: pa.RecordBatch | None) -> pa.Schema:
    import pyarrow as pa

    if name not in schema.names:
        raise TableColumnNotFoundError(f"There is no column {name!r} to make a vector of; there are {schema.names}.")
    field = schema.field(name)
    if not pa.types.is_list(field.type) and not pa.types.is_fixed_size_list(field.type):
        raise InvalidInputError(f"The column {name!r} is {field.type}; only lists of numbers become vectors.")
    vector = pa.list_(pa.float32(), _length(name, first))
    return schema.set(schema.get_field_index(name), field.with_type(vector))


def _length(name: str, batch: pa.RecordBatch | None) -> int:
    """Return the length of the column's first vector; all others must have it too."""
    lengths = (len(value) for value in (batch.column(name) if batch is not None else ()) if value.is_valid)
    length = next(lengths, 0)
    if not length:
        raise InvalidInputError(f"The length of the vectors in {name!r} cannot be told: the first rows have none.")
    return length
