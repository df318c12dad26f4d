"""Types between Lance and Spark: a table's columns as Spark has them, and batches in Spark's types and sizes.

Spark has fewer types. A type that it lacks is read as the next larger: unsigned integers as signed ones, uint64 as
decimal(20, 0), float16 as float, vectors as arrays, dictionaries as their values, blobs and UUIDs as binary. Times
finer than a microsecond are cut off there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.tables.schema.fields import is_blob_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

ROW_ID, ROW_ADDRESS = "_rowid", "_rowaddr"
# Columns that Lance counts in 64 unsigned bits and never beyond 63.
_COUNTERS = frozenset({ROW_ID, ROW_ADDRESS})
_LARGEST_PRECISION = 38
# The key under which Spark notes that a string was CHAR or VARCHAR, in a column's metadata.
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
# Plain types of Spark's that come back from a table as they were.
_STORED = frozenset(
    {
        "BinaryType",
        "BooleanType",
        "ByteType",
        "DateType",
        "DayTimeIntervalType",
        "DecimalType",
        "DoubleType",
        "FloatType",
        "IntegerType",
        "LongType",
        "NullType",
        "ShortType",
        "StringType",
        "TimeType",
        "TimestampNTZType",
        "TimestampType",
    }
)


def spark_schema(arrow: pa.Schema) -> StructType:
    """Return the schema that Spark sees. Raises InvalidInputError for a type that Spark has nothing for."""
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType(
        [
            StructField(
                field.name,
                LongType() if field.name in _COUNTERS else _spark_type(field.type, field.name),
                field.nullable,
            )
            for field in arrow
        ]
    )


def rows_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of rows to write: a data frame's own, with every column nullable.

    Raises UnsupportedOperationError for a type that Lance has nothing for.
    """
    from pyspark.sql.types import StructField, StructType

    check_storable(schema)
    # A column that was VARCHAR where it came from is STRING in a data frame: Spark notes the length beside it.
    fields = [
        StructField(
            field.name,
            field.dataType,
            field.nullable,
            {key: value for key, value in field.metadata.items() if key != _LENGTH},
        )
        for field in schema
    ]
    return arrow_schema(StructType(fields).toNullable())


def parse_schema(described: Mapping[str, Any]) -> StructType:
    """Return the schema of a table to be, as the JVM describes it. Raises what `rows_schema` raises."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromJson(dict(described))
    except PySparkException as error:
        raise UnsupportedOperationError(
            f"A column has a type of Spark's that a Lance table cannot keep, and that PySpark does not know: {error}"
        ) from error
    check_storable(schema)
    return schema


def check_storable(schema: StructType) -> None:
    """Refuse columns that Lance would store and not give back as they were: by their types, or by their names."""
    for field in schema:
        check_name(field.name)
        _check_storable(field.dataType, field.name)


def check_name(column: str) -> None:
    """Refuse the name of a whole column that Lance could not read again."""
    if "`" in column:
        raise UnsupportedOperationError(
            f"The column {column!r} has a backtick in its name: Lance would store it, and could not read it again. "
            "Give it another name."
        )


def _check_storable(type_: DataType, path: str) -> None:
    from pyspark.sql.types import ArrayType, MapType, StructType, UserDefinedType

    if isinstance(type_, StructType):
        for field in type_:
            _check_storable(field.dataType, f"{path}.{field.name}")
    elif isinstance(type_, ArrayType):
        _check_storable(type_.elementType, f"{path}.element")
    elif isinstance(type_, MapType):
        _check_storable(type_.keyType, f"{path}.key")
        _check_storable(type_.valueType, f"{path}.value")
    elif isinstance(type_, UserDefinedType):
        _check_storable(type_.sqlType(), path)
    else:
        advice = _advice(type_)
        if advice is not None:
            raise UnsupportedOperationError(
                f"The column {path} is {type_.simpleString().upper()}, which a Lance table cannot keep. {advice}"
            )


def _advice(type_: DataType) -> str | None:
    """Return what to use instead of a type that cannot be stored; None for one that can."""
    from pyspark.sql import types as spark

    if isinstance(type_, spark.CharType | spark.VarcharType):
        return "Its strings have no length: make it STRING, or select it with CAST(… AS STRING)."
    if isinstance(type_, spark.StringType) and not type_.isUTF8BinaryCollation():
        return "Its strings have no collation: make it STRING, or CAST(… AS STRING), and write COLLATE in queries."
    if isinstance(type_, spark.YearMonthIntervalType):
        return "Store the number of months as INT."
    if isinstance(type_, spark.DayTimeIntervalType) and type_ != spark.DayTimeIntervalType():
        return "Its intervals are all INTERVAL DAY TO SECOND: make it that."
    if isinstance(type_, spark.TimeType) and type_ != spark.TimeType():
        return f"Its times are all {spark.TimeType().simpleString().upper()}: make it that."
    if isinstance(type_, spark.VariantType):
        return "Store it as STRING with to_json, and read it with parse_json."
    if type(type_).__name__ in ("GeometryType", "GeographyType"):
        return "Store it as BINARY with ST_AsBinary."
    return None if type(type_).__name__ in _STORED else "Cast it to a type that it can: BINARY, STRING or a number."


def arrow_schema(spark: StructType) -> pa.Schema:
    """Return the Arrow schema in which Spark takes and gives rows of its own schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 4.1 always uses UTC and has no such argument.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(spark, **zone)  # type: ignore[arg-type]


def check_names(schema: StructType, table: str, case_sensitive: bool = False) -> None:
    """Refuse columns that Spark cannot tell apart."""
    names: dict[str, str] = {}
    for name in schema.names:
        first = names.setdefault(name if case_sensitive else name.lower(), name)
        if first is not name:
            raise InvalidInputError(
                f"{table} has the columns {first!r} and {name!r}, which Spark does not tell apart. Choose one with "
                "the option columns, or set spark.sql.caseSensitive to true."
            )


def is_part_of(part: DataType, whole: DataType) -> bool:
    """Return whether a type is another one, or has some fields alone of the structs in it: Spark asks for no others."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(part, StructType) and isinstance(whole, StructType):
        fields = {field.name: field.dataType for field in whole}
        return all(field.name in fields and is_part_of(field.dataType, fields[field.name]) for field in part)
    if isinstance(part, ArrayType) and isinstance(whole, ArrayType):
        return is_part_of(part.elementType, whole.elementType)
    if isinstance(part, MapType) and isinstance(whole, MapType):
        return is_part_of(part.keyType, whole.keyType) and is_part_of(part.valueType, whole.valueType)
    return part.simpleString() == whole.simpleString()


def to_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch in the types of `schema`, which is Spark's own; columns are found by name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for field in schema:
        column = batch.column(field.name)
        if column.type != field.type:
            column = pc.cast(column, options=pc.CastOptions(field.type, allow_time_truncate=True))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rebatch(batches: Iterable[pa.RecordBatch], *, rows: int, bytes_: int | None = None) -> Iterator[pa.Table]:
    """Gather batches until they have that many rows, or bytes if given. No table that is yielded is empty."""
    import pyarrow as pa

    gathered: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        count += batch.num_rows
        size += batch.nbytes
        if count >= rows or (bytes_ is not None and size >= bytes_):
            yield pa.Table.from_batches(gathered)
            gathered = []
            count = size = 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def _spark_type(type_: pa.DataType, path: str) -> DataType:
    import pyarrow as pa
    from pyspark.sql import types as spark

    if isinstance(type_, pa.BaseExtensionType):
        return _of_extension(type_, path)
    if pa.types.is_uint64(type_):
        return spark.DecimalType(20, 0)
    for is_kind, make in _nested().items():
        if is_kind(type_):
            return make(type_, path)
    if pa.types.is_decimal(type_):
        return _decimal(type_, path)
    for is_kind, name in _plain().items():
        if is_kind(type_):
            spark_type: type[DataType] = getattr(spark, name)
            return spark_type()
    if pa.types.is_timestamp(type_):
        return spark.TimestampNTZType() if type_.tz is None else spark.TimestampType()
    raise _unsupported(type_, path)


def _of_extension(type_: pa.BaseExtensionType, path: str) -> DataType:
    from pyspark.sql.types import BinaryType

    if is_blob_type(type_):
        return BinaryType()
    if type_.extension_name == "lance.bfloat16":
        raise _unsupported(type_, path)
    return _spark_type(type_.storage_type, path)


def _nested() -> dict[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], DataType]]:
    from pyarrow import types

    return {
        types.is_dictionary: lambda type_, path: _spark_type(type_.value_type, path),
        types.is_list: _array,
        types.is_large_list: _array,
        types.is_fixed_size_list: _array,
        types.is_struct: _struct,
        types.is_map: _map,
    }


def _array(type_: pa.DataType, path: str) -> DataType:
    from pyspark.sql.types import ArrayType

    return ArrayType(_spark_type(type_.value_type, f"{path}.element"), type_.value_field.nullable)


def _struct(type_: pa.DataType, path: str) -> DataType:
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [StructField(field.name, _spark_type(field.type, f"{path}.{field.name}"), field.nullable) for field in type_]
    )


def _map(type_: pa.DataType, path: str) -> DataType:
    from pyspark.sql.types import MapType

    return MapType(
        _spark_type(type_.key_type, f"{path}.key"),
        _spark_type(type_.item_type, f"{path}.value"),
        type_.item_field.nullable,
    )


def _decimal(type_: pa.DataType, path: str) -> DataType:
    from pyspark.sql.types import DecimalType

    # Spark has no negative scale: 1200 is 1200, and not 12 hundreds.
    precision, scale = type_.precision - min(type_.scale, 0), max(type_.scale, 0)
    if precision > _LARGEST_PRECISION:
        raise _unsupported(type_, path)
    return DecimalType(precision, scale)


def _plain() -> dict[Callable[[pa.DataType], bool], str]:
    from pyarrow import types

    return {
        types.is_boolean: "BooleanType",
        types.is_int8: "ByteType",
        types.is_uint8: "ShortType",
        types.is_int16: "ShortType",
        types.is_uint16: "IntegerType",
        types.is_int32: "IntegerType",
        types.is_uint32: "LongType",
        types.is_int64: "LongType",
        types.is_float16: "FloatType",
        types.is_float32: "FloatType",
        types.is_float64: "DoubleType",
        types.is_string: "StringType",
        types.is_large_string: "StringType",
        types.is_string_view: "StringType",
        types.is_binary: "BinaryType",
        types.is_large_binary: "BinaryType",
        types.is_binary_view: "BinaryType",
        types.is_fixed_size_binary: "BinaryType",
        types.is_date: "DateType",
        types.is_time: "TimeType",
        types.is_duration: "DayTimeIntervalType",
        types.is_null: "NullType",
    }


def _unsupported(type_: pa.DataType, path: str) -> InvalidInputError:
    return InvalidInputError(
        f"Spark has no type for the column {path}, which is {type_}. Leave it out with the option columns."
    )
