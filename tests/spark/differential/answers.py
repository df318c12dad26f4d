"""Answers of queries, in a form that can be compared exactly: types, and rows as a multiset, floats by their bits."""

from __future__ import annotations

import datetime as dt
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class Answer:
    """The rows of a query with their types, or the error condition that it ended with."""

    types: str
    rows: tuple[tuple[str, int], ...]
    error: str | None = None
    message: str = ""

    def agrees(self, other: Answer) -> bool:
        return (self.types, self.rows, self.error) == (other.types, other.rows, other.error)

    @property
    def sort(self) -> str:
        """How it ended: two answers that differ in a smaller case must differ in the same way."""
        return self.error or "rows"

    def show(self) -> str:
        if self.error:
            return f"{self.error}: {self.message[:1000]}"
        return "\n".join([self.types, *(f"{row} x {count}" for row, count in self.rows[:20])])


def ask(spark: SparkSession, sql: str) -> Answer:
    try:
        frame = spark.sql(sql)
        types = ", ".join(field.dataType.simpleString() for field in frame.schema)
        table = frame.toDF(*(f"c{number}" for number in range(len(frame.columns)))).toArrow()
    except PySparkException as error:
        return Answer("", (), error.getCondition() or type(error).__name__, str(error))
    except Py4JJavaError as error:  # of a task, for which PySpark has no exception of its own
        return Answer("", (), *_cause(error.java_exception))
    columns = [column.cast(_plain(column.type)).to_pylist() for column in table.columns]
    return Answer(types, multiset(zip(*columns, strict=True)))


def multiset(rows: Iterable[Iterable[Any]]) -> tuple[tuple[str, int], ...]:
    """Return rows in a form in which they are the same in any order."""
    return tuple(sorted(Counter(repr(tuple(map(_exact, row))) for row in rows).items()))


def _cause(error: Any) -> tuple[str, str]:
    """Return the name of the exception that others wrap, and its message."""
    while error.getCause() is not None:
        error = error.getCause()
    return error.getClass().getName(), str(error.getMessage())


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return the type with numbers in the place of times, for which Python has no year 0 and no year 10000."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_plain(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_date32(type_):
        return pa.int32()
    return pa.int64() if pa.types.is_temporal(type_) else type_


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value!r}" if value == value else f"nan {struct.pack('>d', value).hex()}"
    if isinstance(value, dt.date):
        return (value - _EPOCH).days
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(item) for item in value]
    return value
