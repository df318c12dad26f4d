"""Conditions of SQL statements, as the JVM describes them, in Lance's SQL.

Unlike the filters of a data source, they have AND and OR. Everything else is translated as filters are.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lanceway.spark.read import filters
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_JOINED = {"And": " AND ", "Or": " OR "}


class _UnknownTypeError(Exception):
    """A value of a type that has no exact form here."""


def translate(described: Mapping[str, Any], schema: pa.Schema) -> str | None:
    """Return a condition over a table of this schema in SQL, None if Lance cannot evaluate it exactly as Spark does."""
    kind = described["filter"]
    if kind in _JOINED:
        parts = [translate(part, schema) for part in described["of"]]
        return None if None in parts else f"({_JOINED[kind].join(map(str, parts))})"
    if kind == "AlwaysTrue":
        return "true"
    if kind == "AlwaysFalse":
        return "false"
    try:
        filter_ = _filter(described)
    except _UnknownTypeError:
        return None
    return None if filter_ is None else filters.translate(filter_, schema)


def conjunction(described: Sequence[Mapping[str, Any]], schema: pa.Schema) -> tuple[list[bool], str | None]:
    """Return for each condition whether Lance evaluates it, and all that it evaluates as one."""
    conditions = [translate(condition, schema) for condition in described]
    return [sql is not None for sql in conditions], filters.both(*conditions)


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
