"""Rows cast to the types of the table that they are written to, and the reasons why some do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lanceway.errors import TableSchemaValidationError
from lanceway.tables.schema.fields import is_blob_type

if TYPE_CHECKING:
    import pyarrow as pa

# Which families a column takes, besides its own, without a value changing its meaning.
_TAKES = {
    "floating": {"integer"},
    "decimal": {"integer"},
    "integer": {"decimal"},  # as uint64 is read; a fraction or too large a number is refused
}


def to_lance(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch in the types of a table's schema; nullable columns that are missing are null.

    Raises TableSchemaValidationError, naming each difference, or a value that does not fit its column.
    """
    import pyarrow as pa

    reasons = list(differences(batch.schema, schema))
    if reasons:
        raise TableSchemaValidationError(f"The rows do not fit the table: {'; '.join(reasons)}.")
    columns = [
        _cast(batch.column(field.name), field) if field.name in batch.schema.names else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def differences(rows: pa.Schema, table: pa.Schema) -> Iterator[str]:
    """Yield the reasons why rows cannot be written to a table, one sentence for each."""
    for name in rows.names:
        if name not in table.names:
            yield f"the table has no column {name!r} (it has {', '.join(table.names)})"
    for field in table:
        if field.name in rows.names:
            yield from _type_differences(rows.field(field.name).type, field.type, field.name)
        elif not field.nullable:
            yield f"the column {field.name!r} is missing, and must not be null"


def _type_differences(rows: pa.DataType, table: pa.DataType, path: str) -> Iterator[str]:
    table = _stored(table)
    rows_family = _family(rows)
    table_family = _family(table)
    if rows_family == "null":
        return
    if rows_family != table_family and rows_family not in _TAKES.get(table_family, ()):
        yield f"the column {path} is {rows}, but must be {table}"
    elif rows_family == "list":
        yield from _type_differences(rows.value_type, table.value_type, f"{path}.element")
    elif rows_family == "map":
        yield from _type_differences(rows.key_type, table.key_type, f"{path}.key")
        yield from _type_differences(rows.item_type, table.item_type, f"{path}.value")
    elif rows_family == "struct":
        names = [field.name for field in table]
        if [field.name for field in rows] != names:
            yield f"the fields of {path} are {', '.join(f.name for f in rows)}, but must be {', '.join(names)}"
        else:
            for field, table_field in zip(rows, table, strict=True):
                yield from _type_differences(field.type, table_field.type, f"{path}.{field.name}")


def _stored(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values that a column is stored as: an extension's storage, a dictionary's values."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return pa.large_binary() if is_blob_type(type_) else _stored(type_.storage_type)
    return _stored(type_.value_type) if pa.types.is_dictionary(type_) else type_


def _family(type_: pa.DataType) -> str:
    from pyarrow import types

    kinds = {
        "integer": (types.is_integer,),
        "floating": (types.is_floating,),
        "decimal": (types.is_decimal,),
        "string": (types.is_string, types.is_large_string, types.is_string_view),
        "binary": (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
        "list": (types.is_list, types.is_large_list, types.is_fixed_size_list),
        "struct": (types.is_struct,),
        "map": (types.is_map,),
        "date": (types.is_date,),
        "time": (types.is_time,),
        "duration": (types.is_duration,),
        "timestamp": (lambda type_: types.is_timestamp(type_) and type_.tz is None,),
        "timestamp with zone": (lambda type_: types.is_timestamp(type_) and type_.tz is not None,),
    }
    return next((name for name, tests in kinds.items() if any(test(type_) for test in tests)), str(type_))


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if not field.nullable and column.null_count:
        raise TableSchemaValidationError(f"The column {field.name} must not be null, but {column.null_count} rows are.")
    if column.type == field.type:
        return column
    try:
        if isinstance(field.type, pa.BaseExtensionType):
            return _to_extension(column, field.type)
        return _castable(column).cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableSchemaValidationError(
            f"A value does not fit the column {field.name}, which is {field.type}: {error}"
        ) from error


def _castable(column: pa.Array) -> pa.Array:
    """Return the column such that it can be cast: pyarrow crashes on lists that are all null and have no values."""
    import pyarrow as pa

    return pa.concat_arrays([column[:0], column]) if _lacks_values(column) else column


def _lacks_values(column: pa.Array) -> bool:
    from pyarrow import types

    if types.is_struct(column.type):
        return any(_lacks_values(column.field(index)) for index in range(column.type.num_fields))
    if types.is_list(column.type) or types.is_large_list(column.type):
        return len(column.values) == 0 or _lacks_values(column.values)
    return False


def _to_extension(column: pa.Array, type_: pa.BaseExtensionType) -> pa.Array:
    import pyarrow as pa

    if is_blob_type(type_):
        from lance.blob import blob_array

        return blob_array(column.to_pylist())
    return pa.ExtensionArray.from_storage(type_, column.cast(type_.storage_type))
