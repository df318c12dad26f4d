"""Filters of Spark in Lance's SQL, where Lance evaluates them exactly as Spark does.

Unlike the filters of a data source, they have AND and OR. Everything else is translated as filters are.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.tables.schema import fields
from lanceway.tables.schema.fields import is_blob

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_UNITS = {"s": ("Second", 1_000_000), "ms": ("Millisecond", 1_000), "us": ("Microsecond", 1)}
_ZONE = re.compile(r"[\w/+:-]+")
_EPOCH = datetime(1970, 1, 1)
_SMALLEST = -(2**63)
# Java's calendar, through which a data source is handed its filters, has no 5 to 14 October 1582: they come ten days
# later, or as the 15th. What comes as one of these days may mean another, whatever the session's zone.
_UNCERTAIN = date(1582, 10, 14), date(1582, 10, 26)


def literal(value: Any, type_: pa.DataType) -> str | None:
    """Return a value in SQL for a column of this type; None if the column cannot hold it exactly, as Spark compares."""
    for is_kind, write in _writers().items():
        if is_kind(type_):
            return write(value, type_)
    return None


def _writers() -> dict[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str | None]]:
    from pyarrow import types

    return {
        types.is_boolean: _boolean,
        types.is_integer: _integer,
        types.is_float32: _floating,
        types.is_float64: _floating,
        types.is_string: _string,
        types.is_large_string: _string,
        types.is_dictionary: lambda value, type_: _string(value, type_) if is_text(type_) else None,
        types.is_binary: _binary,
        types.is_large_binary: _binary,
        types.is_fixed_size_binary: lambda value, type_: (
            _binary(value, type_) if len(value) == type_.byte_width else None
        ),
        types.is_date32: _date,
        types.is_timestamp: _timestamp,
        types.is_decimal128: _decimal,
    }


def is_text(type_: pa.DataType) -> bool:
    """Return whether a column of this type holds text, as it is or in a dictionary."""
    from pyarrow import types

    values = type_.value_type if types.is_dictionary(type_) else type_
    return bool(types.is_string(values) or types.is_large_string(values))


def _boolean(value: Any, type_: pa.DataType) -> str | None:
    return str(value).upper() if isinstance(value, bool) else None


def _integer(value: Any, type_: pa.DataType) -> str | None:
    from pyarrow import types

    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)  # of uint64, which Spark reads as decimals
    if not isinstance(value, int):
        return None
    signed = types.is_signed_integer(type_)
    bits = type_.bit_width - 1 if signed else type_.bit_width
    if not (-(2**bits) if signed else 0) <= value < 2**bits:
        return None
    # Written as a number it would be read as the negative of one that is too large.
    return f"CAST('{value}' AS BIGINT)" if value == _SMALLEST else str(value)


def _floating(value: Any, type_: pa.DataType) -> str | None:
    from pyarrow import types

    if not isinstance(value, int | float) or math.isnan(value):
        return None
    number = float(value)
    if types.is_float32(type_):
        try:
            if struct.unpack("f", struct.pack("f", number))[0] != number:
                return None
        except OverflowError:
            return None
    return f"CAST('{number!r}' AS {'FLOAT' if types.is_float32(type_) else 'DOUBLE'})"


def _string(value: Any, type_: pa.DataType) -> str | None:
    # Java puts that character in the place of bytes that are no text, which Spark compares as they are.
    if not isinstance(value, str) or "\ufffd" in value:
        return None
    return "'" + value.replace("'", "''") + "'"


def _binary(value: Any, type_: pa.DataType) -> str | None:
    return f"X'{bytes(value).hex()}'" if isinstance(value, bytes | bytearray) else None


def _date(value: Any, type_: pa.DataType) -> str | None:
    return f"DATE '{value.isoformat()}'" if type(value) is date and not _is_uncertain(value) else None


def _is_uncertain(day: date) -> bool:
    first, after = _UNCERTAIN
    return first <= day < after


def _timestamp(value: Any, type_: pa.DataType) -> str | None:
    if not isinstance(value, datetime) or type_.unit not in _UNITS or (type_.tz is None) != (value.tzinfo is None):
        return None  # Spark reads what is finer than a microsecond as something else than Lance compares
    unit, micros = _UNITS[type_.unit]
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if value.tzinfo is not None and _is_uncertain(plain.date()):
        return None
    count, remainder = divmod((plain - _EPOCH) // timedelta(microseconds=1), micros)
    if remainder or (type_.tz is not None and not _ZONE.fullmatch(type_.tz)):
        return None
    zone = "None" if type_.tz is None else f'Some("{type_.tz}")'
    return f"arrow_cast({count}, 'Timestamp({unit}, {zone})')"


def _decimal(value: Any, type_: pa.DataType) -> str | None:
    if not isinstance(value, Decimal) or not value.is_finite() or type_.scale < 0:
        return None
    scaled = value.scaleb(type_.scale) if value else Decimal(0)
    if scaled != scaled.to_integral_value() or abs(scaled) >= 10**type_.precision:
        return None
    return f"CAST('{value:f}' AS DECIMAL({type_.precision}, {type_.scale}))"


_COMPARISONS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_TEXT = {"StringStartsWith": "starts_with", "StringEndsWith": "ends_with", "StringContains": "contains"}


def translate(filter_: Filter, schema: pa.Schema) -> str | None:
    """Return a filter over a table of this schema in Lance's SQL, None if it must be left to Spark."""
    kind = type(filter_).__name__
    if kind == "Not":
        return _negation(filter_.child, schema)  # type: ignore[attr-defined]
    column_and_type = _find(filter_.attribute, schema)  # type: ignore[attr-defined]
    if column_and_type is None:
        return None
    column, type_ = column_and_type
    if kind == "IsNull":
        return f"{column} IS NULL"
    if kind == "IsNotNull":
        return f"{column} IS NOT NULL"
    value = filter_.value  # type: ignore[attr-defined]
    if kind in _COMPARISONS:
        return _comparison(column, type_, _COMPARISONS[kind], value)
    if kind == "EqualNullSafe":
        return _null_safe(column, type_, value)
    if kind == "In":
        return _membership(column, type_, value)
    if kind in _TEXT:
        return _text(column, type_, _TEXT[kind], value)
    return None


def both(*conditions: str | None) -> str | None:
    """Join conditions to one that holds where all of them do; None without any."""
    return " AND ".join(f"({condition})" for condition in conditions if condition) or None


def quoted(names: Sequence[str]) -> str | None:
    """Return a column, maybe one inside structs, in Lance's SQL; None with a backtick, which that cannot write."""
    return None if any("`" in name for name in names) else ".".join(f"`{name}`" for name in names)


def _find(names: Sequence[str], schema: pa.Schema) -> tuple[str, pa.DataType] | None:
    import pyarrow as pa

    column = quoted(names)
    if column is None:
        return None
    if tuple(names) in ((ROW_ID,), (ROW_ADDRESS,)):
        return column, pa.uint64()
    fields: Iterable[pa.Field] = schema
    type_ = None
    for name in names:
        field = next((field for field in fields if field.name == name), None)
        if field is None or _is_extension(field):
            return None
        type_ = field.type
        fields = type_ if pa.types.is_struct(type_) else ()
    return None if type_ is None else (column, type_)


def _is_extension(field: pa.Field) -> bool:
    """Return whether Lance compares another value than Spark sees: the storage of a blob or another extension."""
    import pyarrow as pa

    return isinstance(field.type, pa.BaseExtensionType) or is_blob(field)


def _negation(child: Filter, schema: pa.Schema) -> str | None:
    if type(child).__name__ == "In" and None in child.value:  # type: ignore[attr-defined]
        return None  # which is never true, and translated without its null it might be
    inner = translate(child, schema)
    return None if inner is None else f"NOT ({inner})"


def _comparison(column: str, type_: pa.DataType, operator: str, value: Any) -> str | None:
    import pyarrow as pa

    if pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return _float_comparison(column, type_, operator, value)
    right = literal(value, type_)
    return None if right is None else f"{column} {operator} {right}"


def _float_comparison(column: str, type_: pa.DataType, operator: str, value: Any) -> str | None:
    """Compare in Spark's order of floating point numbers: NaN comes last, and is equal to itself."""
    if not isinstance(value, float | int):
        return None
    not_a_number = f"isnan({column})"
    if math.isnan(value):
        never = f"({not_a_number} AND NOT {not_a_number})"
        always = f"({not_a_number} OR NOT {not_a_number})"  # but null where the column is
        return {"=": not_a_number, ">=": not_a_number, "<": f"NOT {not_a_number}", ">": never, "<=": always}[operator]
    if value == 0:
        # Lance orders -0.0 before 0.0 while both are equal in Spark: take the zero that lets both in, or neither.
        value = -0.0 if operator in (">=", "<") else 0.0
        if operator == "=":
            zeros = ", ".join(str(literal(zero, type_)) for zero in (0.0, -0.0))
            return f"{column} IN ({zeros})"
    right = literal(value, type_)
    if right is None:
        return None
    if operator == "=":
        return f"{column} = {right}"
    if operator in (">", ">="):
        return f"({column} {operator} {right} OR {not_a_number})"
    return f"({column} {operator} {right} AND NOT {not_a_number})"


def _null_safe(column: str, type_: pa.DataType, value: Any) -> str | None:
    if value is None:
        return f"{column} IS NULL"
    equal = _comparison(column, type_, "=", value)
    return None if equal is None else f"({column} IS NOT NULL AND {equal})"


def _membership(column: str, type_: pa.DataType, values: Sequence[Any]) -> str | None:
    # A null among them makes no row a member.
    equals = [_comparison(column, type_, "=", value) for value in values if value is not None]
    if not equals or any(equal is None for equal in equals):
        return None
    start = f"{column} = "
    if all(str(equal).startswith(start) for equal in equals):
        return f"{column} IN ({', '.join(str(equal).removeprefix(start) for equal in equals)})"
    return f"({' OR '.join(map(str, equals))})"


def _text(column: str, type_: pa.DataType, function: str, value: Any) -> str | None:
    if not is_text(type_):
        return None
    right = literal(value, type_)
    return None if right is None else f"{function}({column}, {right})"


_JOINED = {"And": " AND ", "Or": " OR "}


class _UnknownTypeError(Exception):
    """A value of a type that has no exact form here."""


def translate_predicate(described: Mapping[str, Any], schema: pa.Schema) -> str | None:
    """Return a condition over a table of this schema in SQL, None if Lance cannot evaluate it exactly as Spark does."""
    kind = described["filter"]
    if kind in _JOINED:
        parts = [translate_predicate(part, schema) for part in described["of"]]
        return None if None in parts else f"({_JOINED[kind].join(map(str, parts))})"
    if kind == "AlwaysTrue":
        return "true"
    if kind == "AlwaysFalse":
        return "false"
    try:
        filter_ = _filter(described)
    except _UnknownTypeError:
        return None
    return None if filter_ is None else translate(filter_, schema)


def conjunction(described: Sequence[Mapping[str, Any]], schema: pa.Schema) -> tuple[list[bool], str | None]:
    """Return for each condition whether Lance evaluates it, and all that it evaluates as one."""
    conditions = [translate_predicate(condition, schema) for condition in described]
    return [sql is not None for sql in conditions], both(*conditions)


def _filter(described: Mapping[str, Any]) -> Filter | None:
    from pyspark.sql import datasource

    kind = described["filter"]
    if kind == "Not":
        inner = described["of"][0]
        # A negation is exact only where the inside is exact for nulls too: a single comparison is.
        child = None if inner["filter"] in (*_JOINED, "Not") else _filter(inner)
        return None if child is None else datasource.Not(child)
    if "column" not in described:
        return None
    column = fields.parse(described["column"])
    if kind in ("IsNull", "IsNotNull"):
        return getattr(datasource, kind)(column)  # type: ignore[no-any-return]
    value = [_value(value) for value in described["values"]] if kind == "In" else _value(described["value"])
    return getattr(datasource, kind)(column, value)  # type: ignore[no-any-return]


def _value(described: Mapping[str, str]) -> Any:
    read = _VALUES.get(described["type"])
    if read is None:
        raise _UnknownTypeError(described["type"])
    return read(described.get("value", ""))


def _moment(text: str) -> datetime:
    # Java writes as many digits of a second as there are, up to nine; Spark's times end at the sixth.
    return datetime.fromisoformat(text).astimezone(UTC)


_VALUES: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "null": lambda _: None,
        "bool": lambda value: value,
        "int": int,
        "float": float,
        "double": float,
        "decimal": Decimal,
        "string": str,
        "binary": base64.b64decode,
        "date": date.fromisoformat,
        "timestamp": _moment,
        "timestamp_ntz": datetime.fromisoformat,
    }
)
