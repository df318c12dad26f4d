"""Columns of tables: types of Gravitino, such as `long` or `{"type": "list", …}`, and types of Arrow, both ways.

A type of Arrow's that Gravitino has no name for, such as a vector, is `external`: the field as Arrow's Java library
writes it in JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.tables.schema import arrow_java, arrow_json
from lanceway.wire.gravitino_requests import GravitinoColumn

COMMENT = "comment"  # in the metadata of a field
_SIMPLE: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "byte unsigned": pa.uint8(),
    "short unsigned": pa.uint16(),
    "integer unsigned": pa.uint32(),
    "long unsigned": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_tz": pa.timestamp("us", "UTC"),
}
_NAMES: Mapping[pa.DataType, str] = {
    type_: name for name, type_ in _SIMPLE.items() if name not in ("time", "timestamp", "timestamp_tz")
}
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_DIGITS = {unit: digits for digits, unit in _UNITS.items()}
_PARAMETERS = re.compile(r"(\w+)\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\)")
# Types that Lance has not, and what to use instead.
_INSTEAD = {
    "uuid": "fixed(16)",
    "varchar": "string",
    "char": "string",
    "interval_year": "long",
    "interval_day": "long",
    "union": "a struct",
    "unparsed": "one of Gravitino's types",
}
_DEEPEST = 32


# -- to Arrow ------------------------------------------------------------------------------------


def to_schema(columns: Iterable[GravitinoColumn]) -> pa.Schema:
    """Return the schema of a new table. Raises InvalidInputError, UnsupportedOperationError."""
    fields = [_to_field(column) for column in columns]
    name, times = max(Counter(field.name for field in fields).items(), key=lambda item: item[1])
    if times > 1:
        raise InvalidInputError(f"Two columns are called {name!r}. Rename one.")
    return pa.schema(fields)


def _to_field(column: GravitinoColumn) -> pa.Field:
    if column.auto_increment:
        raise UnsupportedOperationError(f"The column {column.name!r} cannot be auto-incremented: Lance has no such.")
    if column.default is not None:
        raise UnsupportedOperationError(f"The column {column.name!r} cannot have a default: Lance has no such.")
    metadata, type_ = {COMMENT: column.comment} if column.comment else None, to_type(column.type, column.name)
    try:
        return pa.field(column.name, type_, column.nullable, metadata)
    except ValueError as error:
        raise InvalidInputError(f"The column {column.name!r} cannot be made: {error}.") from error


def to_type(value: object, column: str, depth: int = 0) -> pa.DataType:
    """Return the type of Arrow's that a type of Gravitino's is. Raises InvalidInputError where there is none."""
    if depth > _DEEPEST:
        raise InvalidInputError(f"The type of the column {column!r} is nested more than {_DEEPEST} levels deep.")
    try:
        if isinstance(value, str):
            return _simple(value.strip().lower(), column)
        if isinstance(value, dict):
            return _nested(value, column, depth)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InvalidInputError(f"The column {column!r} cannot be {value!r}: {error}.") from error
    raise _unknown(value, column)


def _simple(text: str, column: str) -> pa.DataType:
    if text in _SIMPLE:
        return _SIMPLE[text]
    match = _PARAMETERS.fullmatch(text)
    name, first, second = (match[1], int(match[2]), match[3]) if match else (text, 0, None)
    if match and name == "decimal" and second is not None:
        return pa.decimal128(first, int(second))
    if match and name == "fixed" and second is None:
        return pa.binary(first)
    if match and name in ("timestamp", "timestamp_tz", "time") and first in _UNITS and second is None:
        unit = _UNITS[first]
        if name == "time":
            return pa.time32(unit) if first <= 3 else pa.time64(unit)
        return pa.timestamp(unit, "UTC" if name == "timestamp_tz" else None)
    raise _unknown(text, column)


def _nested(value: Mapping[str, Any], column: str, depth: int) -> pa.DataType:
    kind = value.get("type")
    if kind == "struct" and isinstance(value.get("fields"), list):
        return pa.struct([_member(each, column, depth) for each in value["fields"]])
    if kind == "list" and "elementType" in value:
        element = to_type(value["elementType"], column, depth + 1)
        return pa.list_(pa.field("item", element, bool(value.get("containsNull", True))))
    if kind == "map" and "keyType" in value and "valueType" in value:
        item = pa.field("value", to_type(value["valueType"], column, depth + 1), value.get("valueContainsNull", True))
        return pa.map_(to_type(value["keyType"], column, depth + 1), item)
    if kind == "external" and isinstance(value.get("catalogString"), str):
        return _external(value["catalogString"], column)
    raise _unknown(value, column)


def _member(value: object, column: str, depth: int) -> pa.Field:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or "type" not in value:
        raise _unknown(value, column)
    comment = value.get("comment")
    metadata = {COMMENT: comment} if isinstance(comment, str) and comment else None
    return pa.field(
        value["name"], to_type(value["type"], column, depth + 1), bool(value.get("nullable", True)), metadata
    )


def _external(text: str, column: str) -> pa.DataType:
    try:
        return arrow_java.parse_field(json.loads(text)).type
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The column {column!r} has an external type whose catalogString is not JSON. Send an Arrow field."
        ) from error


def _unknown(value: object, column: str) -> InvalidInputError:
    name = value.get("type") if isinstance(value, dict) else value
    plain = str(name).partition("(")[0]
    instead = _INSTEAD.get(plain)
    advice = (
        f"Use {instead} instead." if instead else f"Use {', '.join(_SIMPLE)}, a struct, list, map or external type."
    )
    return InvalidInputError(f"The column {column!r} cannot be {str(value)[:200]!r}: Lance has no such type. {advice}")


# -- from Arrow ----------------------------------------------------------------------------------


def from_schema(schema: Any) -> list[dict[str, Any]]:
    """Return the columns of a table by its schema, as the contract has it in JSON; none without one."""
    if schema is None:
        return []
    return [
        _from_field(each.name, arrow_json.parse_type(each.type), each.nullable, each.metadata) for each in schema.fields
    ]


def _from_field(name: str, type_: pa.DataType, nullable: bool, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    column = {"name": name, "type": from_type(type_, name, nullable), "nullable": nullable, "autoIncrement": False}
    comment = (metadata or {}).get(COMMENT)
    return column if comment is None else {**column, "comment": comment}


def from_type(type_: pa.DataType, name: str = "item", nullable: bool = True) -> str | dict[str, Any]:
    """Return the type of Gravitino's that a type of Arrow's is; an external one where Gravitino has none."""
    types = pa.types
    if type_ in _NAMES:
        return _NAMES[type_]
    if types.is_decimal128(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_timestamp(type_) and type_.tz in (None, "UTC"):
        return f"timestamp{'' if type_.tz is None else '_tz'}({_DIGITS[type_.unit]})"
    if types.is_time(type_):
        return f"time({_DIGITS[type_.unit]})"
    if types.is_fixed_size_binary(type_) and not types.is_decimal(type_):
        return f"fixed({type_.byte_width})"
    if types.is_struct(type_):
        return {"type": "struct", "fields": [_from_member(member) for member in type_]}
    if types.is_list(type_):
        element = from_type(type_.value_type, type_.value_field.name, type_.value_field.nullable)
        return {"type": "list", "elementType": element, "containsNull": type_.value_field.nullable}
    if types.is_map(type_):
        return {
            "type": "map",
            "keyType": from_type(type_.key_type, "key", nullable=False),
            "valueType": from_type(type_.item_type, "value", type_.item_field.nullable),
            "valueContainsNull": type_.item_field.nullable,
        }
    return _from_other(type_, name, nullable)


def _from_other(type_: pa.DataType, name: str, nullable: bool) -> dict[str, Any]:
    try:
        text = json.dumps(arrow_java.field(pa.field(name, type_, nullable)))
    except InvalidInputError:
        return {"type": "unparsed", "unparsedType": str(type_)}
    return {"type": "external", "catalogString": text}


def _from_member(member: pa.Field) -> dict[str, Any]:
    value = {
        "name": member.name,
        "type": from_type(member.type, member.name, member.nullable),
        "nullable": member.nullable,
    }
    comment = (member.metadata or {}).get(COMMENT.encode())
    return value if comment is None else {**value, "comment": comment.decode(errors="replace")}


class ColumnCache:
    """The columns of tables whose state is known, so that their storage need not be read again."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._columns: dict[tuple[int, int, int], list[dict[str, Any]]] = {}

    def get(self, state: tuple[int, int, int] | None) -> list[dict[str, Any]] | None:
        return None if state is None else self._columns.get(state)

    def keep(self, state: tuple[int, int, int] | None, columns: list[dict[str, Any]]) -> None:
        if state is not None:
            if len(self._columns) >= self._most:
                self._columns.clear()
            self._columns[state] = columns


# -- in SQL --------------------------------------------------------------------------------------

_SQL_NAMES: Mapping[pa.DataType, str] = {
    pa.bool_(): "Boolean",
    **{getattr(pa, f"{sign}int{bits}")(): f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    pa.float16(): "Float16",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.string(): "Utf8",
    pa.large_string(): "LargeUtf8",
    pa.binary(): "Binary",
    pa.large_binary(): "LargeBinary",
    pa.date32(): "Date32",
}
_SQL_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}


def empty_expression(type_: pa.DataType, column: str) -> str:
    """Return the SQL expression of an empty column. Raises UnsupportedOperationError for types that SQL has not."""
    return f"arrow_cast(NULL, '{_sql_name(type_, column)}')"


def _sql_name(type_: pa.DataType, column: str) -> str:
    types = pa.types
    if type_ in _SQL_NAMES:
        return _SQL_NAMES[type_]
    if types.is_decimal128(type_):
        return f"Decimal128({type_.precision}, {type_.scale})"
    if types.is_timestamp(type_) and type_.tz is None:
        return f"Timestamp({_SQL_UNITS[type_.unit]}, None)"
    if types.is_fixed_size_list(type_):
        return f"FixedSizeList({type_.list_size}, {_sql_name(type_.value_type, column)})"
    if types.is_list(type_):
        return f"List({_sql_name(type_.value_type, column)})"
    raise UnsupportedOperationError(
        f"A column {column!r} of the type {type_} cannot be added to a table that is there. Make a table with it."
    )
