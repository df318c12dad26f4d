"""Filters of Spark as Lance's SQL, where that means exactly the same.

A filter that cannot be told exactly is left to Spark. Where the two differ, the SQL says what Spark means: NaN is
equal to itself and larger than every number, and the two zeros are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.spark.read.literals import is_text, literal
from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.tables.schema.blobs import is_blob

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_COMPARISONS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_TEXT = {"StringStartsWith": "starts_with", "StringEndsWith": "ends_with", "StringContains": "contains"}


def translate(filter_: Filter, schema: pa.Schema) -> str | None:
    """The filter over a table of this schema in Lance's SQL, None if it must be left to Spark."""
    kind = type(filter_).__name__
    if kind == "Not":
        return _negation(filter_.child, schema)  # type: ignore[attr-defined]
    found = _find(filter_.attribute, schema)  # type: ignore[attr-defined]
    if found is None:
        return None
    column, type_ = found
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
    """All of the conditions as one, None if there is none."""
    given = [condition for condition in conditions if condition]
    return " AND ".join(f"({condition})" for condition in given) if given else None


def quoted(names: Sequence[str]) -> str | None:
    """A column, maybe one inside structs, as Lance's SQL writes it. It has no way to write a backtick."""
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
        if field is None or _is_stored_otherwise(field):
            return None
        type_ = field.type
        fields = type_ if pa.types.is_struct(type_) else ()
    return None if type_ is None else (column, type_)


def _is_stored_otherwise(field: pa.Field) -> bool:
    """Whether Lance compares something else than what Spark sees: what a blob or another extension is stored as."""
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
        return _of_numbers(column, type_, operator, value)
    right = literal(value, type_)
    return None if right is None else f"{column} {operator} {right}"


def _of_numbers(column: str, type_: pa.DataType, operator: str, value: Any) -> str | None:
    """Spark's order of floating point numbers: NaN comes last, and is equal to itself."""
    if not isinstance(value, float | int):
        return None
    not_a_number = f"isnan({column})"
    if math.isnan(value):
        never = f"({not_a_number} AND NOT {not_a_number})"
        always = f"({not_a_number} OR NOT {not_a_number})"  # but null where the column is
        return {"=": not_a_number, ">=": not_a_number, "<": f"NOT {not_a_number}", ">": never, "<=": always}[operator]
    if value == 0:
        # Whichever zero is the far one.
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
