"""Data as users have it, read as Arrow batches: tables, data frames, rows, Parquet files; and its types fitted.

Nothing large is held whole that was not given whole, and no package of data frames is imported: they hand themselves
over by the Arrow PyCapsule interface, as pandas (from 2.2), polars and DuckDB do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableColumnNotFoundError, TableSchemaValidationError

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET = (".parquet", ".pq")
_ACCEPTED = (
    "Give an Arrow table, batches or a reader, a pandas or polars data frame, a list of dictionaries, a dictionary of "
    "columns, or the path of a Parquet file."
)
# What pandas keeps of an index that has no name. It is no column of anyone's.
_INDEX = "__index_level_"
_PANDAS = b"pandas"


def reader_of(data: Any) -> pa.RecordBatchReader:
    """Return data of any accepted form as a reader, with the types it has. Raises InvalidInputError for others."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, str | os.PathLike):
        return _parquet(Path(data))
    if isinstance(data, Mapping) or _is_rows(data):
        return _literal(data).to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return _stream(data)
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return _batches(iter(data))
    raise InvalidInputError(f"The data is of the type {type(data).__name__}, which holds no rows. {_ACCEPTED}")


def for_new_table(data: Any, schema: pa.Schema | None = None, vectors: Sequence[str] = ()) -> pa.RecordBatchReader:
    """Return the rows of a new table: with the types of `schema`, or else with the lists named in `vectors` as vectors.

    In rows written in Python, lists of floats that all have one length become vectors by themselves.
    """
    if data is None:
        if schema is None:
            raise InvalidInputError(f"A new table needs data or a schema. {_ACCEPTED}")
        return _empty(schema)
    if schema is not None:
        return for_table(data, schema, "the schema")
    if isinstance(data, Mapping) or _is_rows(data):
        rows = _literal(data)
        names = [*vectors, *(name for name in _vector_columns(rows) if name not in vectors)]
        return with_vectors(rows.to_reader(), names)
    return with_vectors(reader_of(data), vectors)


def for_table(data: Any, schema: pa.Schema, what: str) -> pa.RecordBatchReader:
    """Return the rows with the types of the columns of `what`. A value that the cast would change is an error.

    Columns that `schema` does not have are left for the catalog to refuse.
    """
    import pyarrow as pa

    reader = _empty(schema) if isinstance(data, list | Mapping) and not data else reader_of(data)
    target = shared_schema(reader.schema, schema)
    return pa.RecordBatchReader.from_batches(target, (cast(batch, target, what) for batch in reader))


# -- the forms -----------------------------------------------------------------------------------


def _is_rows(data: object) -> bool:
    return isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data)


def _literal(data: Any) -> pa.Table:
    """Return rows or columns that are written in Python. Rows may leave out columns that others have."""
    import pyarrow as pa

    if not data:
        raise InvalidInputError("The data is empty, so its columns are unknown. Give the table a schema.")
    if not isinstance(data, Mapping):
        names = dict.fromkeys(name for row in data for name in row)
        data = {name: [row.get(name) for row in data] for name in names}
    try:
        return pa.table(dict(data))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise InvalidInputError(f"The data cannot be made an Arrow table: {error}.") from error


def _stream(data: Any) -> pa.RecordBatchReader:
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInputError(f"The data cannot be read as Arrow: {error}. {_ACCEPTED}") from error
    return _without_index(reader) if _PANDAS in (reader.schema.metadata or {}) else _without_views(reader)


def _without_views(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the rows with dictionaries of plain strings: Lance writes no others, and polars has string views."""
    import pyarrow as pa

    plain = [
        field.with_type(pa.dictionary(field.type.index_type, pa.string(), field.type.ordered))
        if pa.types.is_dictionary(field.type) and pa.types.is_string_view(field.type.value_type)
        else field
        for field in reader.schema
    ]
    schema = pa.schema(plain, reader.schema.metadata)
    if schema == reader.schema:
        return reader
    return pa.RecordBatchReader.from_batches(schema, (cast(batch, schema, "the data") for batch in reader))


def _without_index(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the rows of a pandas data frame without an index that has no name."""
    import pyarrow as pa

    metadata = {key: value for key, value in reader.schema.metadata.items() if key != _PANDAS}
    schema = pa.schema([field for field in reader.schema if not field.name.startswith(_INDEX)], metadata or None)
    return pa.RecordBatchReader.from_batches(
        schema, (pa.RecordBatch.from_arrays([batch.column(n) for n in schema.names], schema=schema) for batch in reader)
    )


def _batches(batches: Iterator[Any]) -> pa.RecordBatchReader:
    """Return a reader of batches that follow each other. The first one has the schema."""
    import pyarrow as pa

    first = next(batches, None)
    if isinstance(first, Mapping):
        return _literal([first, *batches]).to_reader()
    if not isinstance(first, pa.RecordBatch):
        what = "is empty" if first is None else f"holds {type(first).__name__}, which is not a row"
        raise InvalidInputError(f"The data {what}. {_ACCEPTED}")
    return pa.RecordBatchReader.from_batches(first.schema, chain((first,), batches))


def _parquet(path: Path) -> pa.RecordBatchReader:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() not in _PARQUET:
        raise InvalidInputError(f"{str(path)!r} is not the name of a Parquet file. {_ACCEPTED}")
    try:
        file = pq.ParquetFile(path, pre_buffer=False)  # or the whole file would be held
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error
    return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())


def _empty(schema: pa.Schema) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, [])


# -- types ---------------------------------------------------------------------------------------


def shared_schema(source: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Return the columns of a source as a table has them, and then those that the table does not have."""
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


def with_vectors(reader: pa.RecordBatchReader, columns: Sequence[str]) -> pa.RecordBatchReader:
    """Return the rows with these list columns as vectors: 32-bit floats of one length, which searches need."""
    import pyarrow as pa

    if not columns:
        return reader
    first = next(reader, None)
    schema = reader.schema
    for name in columns:
        schema = _with_vector(schema, name, first)
    batches = chain(() if first is None else (first,), reader)
    return pa.RecordBatchReader.from_batches(schema, (cast(batch, schema, "a vector column") for batch in batches))


def _with_vector(schema: pa.Schema, name: str, first: pa.RecordBatch | None) -> pa.Schema:
    import pyarrow as pa

    if name not in schema.names:
        raise TableColumnNotFoundError(f"There is no column {name!r} to make a vector of; there are {schema.names}.")
    field = schema.field(name)
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_one(field.type) for is_one in lists):
        raise InvalidInputError(f"The column {name!r} is {field.type}; only lists of numbers become vectors.")
    vector = pa.list_(pa.float32(), _length(name, first))
    return schema.set(schema.get_field_index(name), field.with_type(vector))


def _length(name: str, batch: pa.RecordBatch | None) -> int:
    """Return the length of the column's first vector; all others must have it too."""
    lengths = (len(value) for value in (batch.column(name) if batch is not None else ()) if value.is_valid)
    length = next(lengths, 0)
    if not length:
        raise InvalidInputError(f"The length of the vectors in {name!r} is unknown: the first rows have none.")
    return length


def _vector_columns(rows: pa.Table) -> list[str]:
    """Return the columns whose values are lists of floats, all of one length and of more than one number."""
    return [field.name for field in rows.schema if _is_vector(rows[field.name])]


def _is_vector(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_list(column.type) or not pa.types.is_floating(column.type.value_type):
        return False
    lengths = pc.unique(pc.list_value_length(column).drop_null()).to_pylist()
    return len(lengths) == 1 and lengths[0] > 1 and not pc.list_flatten(column).null_count
