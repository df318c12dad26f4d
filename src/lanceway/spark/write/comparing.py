"""Rows compared by value, whatever their columns are: Spark itself compares no maps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lanceway.tables.schema.fields import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructField


def differ(fields: Sequence[StructField], one: str, other: str) -> Column:
    """Whether rows of two aliased frames have another value in any of the fields; nulls are alike."""
    from pyspark.sql import functions as f

    found = [
        ~_comparable(f.col(f"{one}.{quoted(field.name)}"), field.dataType).eqNullSafe(
            _comparable(f.col(f"{other}.{quoted(field.name)}"), field.dataType)
        )
        for field in fields
    ]
    return reduce(or_, found, f.lit(False))


def _comparable(column: Column, type_: DataType) -> Column:
    """The same with the entries of maps in their place."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType

    if not _has_map(type_):
        return column
    if isinstance(type_, MapType):
        value = type_.valueType
        return f.transform(
            f.map_entries(column), lambda entry: f.struct(entry["key"], _comparable(entry["value"], value))
        )
    if isinstance(type_, ArrayType):
        element = type_.elementType
        return f.transform(column, lambda one: _comparable(one, element))
    assert isinstance(type_, StructType)
    inside = f.struct(*(_comparable(column[field.name], field.dataType) for field in type_))
    return f.when(column.isNotNull(), inside)


def _has_map(type_: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, ArrayType):
        return _has_map(type_.elementType)
    if isinstance(type_, StructType):
        return any(_has_map(field.dataType) for field in type_)
    return isinstance(type_, MapType)
