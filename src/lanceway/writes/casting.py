"""Batches brought from Lance's types to Spark's and back."""

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


def to_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the types of `schema`, which is Spark's own: columns are found by name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for field in schema:
        column = batch.column(field.name)
        if column.type != field.type:
            column = pc.cast(column, options=pc.CastOptions(field.type, allow_time_truncate=True))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def to_lance(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the types of `schema`, which is the table's own; nullable columns that are missing are null.

    Raises TableSchemaValidationError, naming each difference, and a value that does not fit its column.
    """
    import pyarrow as pa

    found = list(differences(batch.schema, schema))
    if found:
        raise TableSchemaValidationError(f"The rows do not fit the table: {'; '.join(found)}.")
    columns = [
        _fitted(batch.column(field.name), field)
        if field.name in batch.schema.names
        else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def differences(given: pa.Schema, table: pa.Schema) -> Iterator[str]:
    """Why rows of the schema `given` cannot be written to a table, one sentence for each reason."""
    for name in given.names:
        if name not in table.names:
            yield f"the table has no column {name!r} (it has {', '.join(table.names)})"
    for field in table:
        if field.name in given.names:
            yield from _different(given.field(field.name).type, field.type, field.name)
        elif not field.nullable:
            yield f"the column {field.name!r} is missing, and must not be null"


def _different(given: pa.DataType, wanted: pa.DataType, path: str) -> Iterator[str]:
    wanted = _stored(wanted)
    family, asked = _family(given), _family(wanted)
    if family == "null":
        return
    if family != asked and family not in _TAKES.get(asked, ()):
        yield f"the column {path} is {given}, but must be {wanted}"
    elif family == "list":
        yield from _different(given.value_type, wanted.value_type, f"{path}.element")
    elif family == "map":
        yield from _different(given.key_type, wanted.key_type, f"{path}.key")
        yield from _different(given.item_type, wanted.item_type, f"{path}.value")
    elif family == "struct":
        names = [field.name for field in wanted]
        if [field.name for field in given] != names:
            yield f"the fields of {path} are {', '.join(f.name for f in given)}, but must be {', '.join(names)}"
        else:
            for one, other in zip(given, wanted, strict=True):
                yield from _different(one.type, other.type, f"{path}.{one.name}")


def _stored(type_: pa.DataType) -> pa.DataType:
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


def _fitted(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if not field.nullable and column.null_count:
        raise TableSchemaValidationError(f"The column {field.name} must not be null, but {column.null_count} rows are.")
    if column.type == field.type:
        return column
    try:
        if isinstance(field.type, pa.BaseExtensionType):
            return _extended(column, field.type)
        return _with_values(column).cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableSchemaValidationError(
            f"A value does not fit the column {field.name}, which is {field.type}: {error}"
        ) from error


def _with_values(column: pa.Array) -> pa.Array:
    """The column as it can be cast: pyarrow crashes on lists that are all null, where no values came with them."""
    import pyarrow as pa

    return pa.concat_arrays([column[:0], column]) if _is_hollow(column) else column


def _is_hollow(column: pa.Array) -> bool:
    from pyarrow import types

    if types.is_struct(column.type):
        return any(_is_hollow(column.field(index)) for index in range(column.type.num_fields))
    if types.is_list(column.type) or types.is_large_list(column.type):
        return len(column.values) == 0 or _is_hollow(column.values)
    return False


def _extended(column: pa.Array, type_: pa.BaseExtensionType) -> pa.Array:
    import pyarrow as pa

    if is_blob_type(type_):
        from lance.blob import blob_array

        return blob_array(column.to_pylist())
    return pa.ExtensionArray.from_storage(type_, column.cast(type_.storage_type))
