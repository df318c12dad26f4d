"""Partial aggregates: sums, counts and extremes of the rows that a task reads, which Spark aggregates once more.

A group may come in several rows, since Spark adds them up. So the rows of a task are aggregated some at a time; a sum
that might not fit into 64 bits is given as two; and where nearly every row is a group of its own, rows are handed on
as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway.spark.types import arrow_schema, rebatch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lanceway.spark.read.reader import LanceReader

SUM, COUNT, COUNT_ALL, MIN, MAX = "sum", "count", "count_all", "min", "max"
_ROWS = 2**20  # that are aggregated at once
_MANY_GROUPS = 0.5  # of so many rows
_LARGEST_SUM = 2**63


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: of a column, or of all rows."""

    name: str
    column: str | None


@dataclass(frozen=True)
class Aggregation:
    """Aggregates of each group of rows that have the same values in these columns. Its schema has the groups first."""

    group: tuple[str, ...]
    functions: tuple[AggregateCall, ...]
    schema: StructType

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self:
        """Read an aggregation as the JVM describes it."""
        from pyspark.sql.types import StructType

        functions = tuple(
            AggregateCall(function["name"], function.get("column")) for function in described["functions"]
        )
        return cls(tuple(described["group"]), functions, StructType.fromJson(described["schema"]))


class PartialAggregatesReader(DataSourceReader):
    """Reads partial aggregates of the rows that another reader reads."""

    def __init__(self, reader: LanceReader, aggregation: Aggregation) -> None:
        self._reader = reader
        self._aggregation = aggregation

    @property
    def batch_schema(self) -> pa.Schema:
        """The schema of the batches that are read."""
        return arrow_schema(self._aggregation.schema)

    def partitions(self) -> list[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = self.batch_schema
        for table in partial_aggregates(self._aggregation, self._reader.batch_schema, self._reader.read(partition)):
            yield from table.rename_columns(schema.names).cast(schema).to_batches()


def partial_aggregates(
    aggregation: Aggregation, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.Table]:
    """Yield rows of groups and aggregates; a group may come several times. Without groups, there is at least one."""
    worthwhile = True
    if not aggregation.group:
        yield _aggregated(aggregation, schema.empty_table())
    for rows in rebatch(batches, rows=_ROWS):
        for safe in _summable(aggregation, rows):
            groups = _aggregated(aggregation, safe) if worthwhile else _each_row(aggregation, safe)
            yield groups
            worthwhile = worthwhile and groups.num_rows <= max(1, safe.num_rows * _MANY_GROUPS)


def _summable(aggregation: Aggregation, rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows, so many at a time that none of their sums can overflow."""
    import pyarrow as pa
    from pyarrow import compute

    for function in aggregation.functions:
        if function.name != SUM or not pa.types.is_integer(rows[function.column].type):
            continue
        ends = compute.min_max(rows[function.column]).as_py().values()
        largest = max((abs(end) for end in ends if end is not None), default=0)
        if rows.num_rows > 1 and largest * rows.num_rows >= _LARGEST_SUM:
            half = rows.num_rows // 2
            yield from _summable(aggregation, rows.slice(0, half))
            yield from _summable(aggregation, rows.slice(half))
            return
    yield rows


def _aggregated(aggregation: Aggregation, rows: pa.Table) -> pa.Table:
    # One thread: Spark has given each task its own core.
    return rows.group_by(list(aggregation.group), use_threads=False).aggregate(
        [_call(function) for function in aggregation.functions]
    )


def _call(function: AggregateCall) -> tuple[Any, ...]:
    from pyarrow import compute

    if function.name == COUNT_ALL:
        return ([], COUNT_ALL)
    if function.name == COUNT:
        return (function.column, COUNT, compute.CountOptions(mode="only_valid"))
    # Of nothing but nulls, the sum is null.
    return (function.column, function.name, compute.ScalarAggregateOptions(skip_nulls=True, min_count=1))


def _each_row(aggregation: Aggregation, rows: pa.Table) -> pa.Table:
    """Return each row as a group of its own."""
    import pyarrow as pa
    from pyarrow import compute

    def value(function: AggregateCall) -> pa.ChunkedArray | pa.Array:
        if function.name == COUNT_ALL:
            return pa.repeat(1, rows.num_rows)
        column = rows[function.column]
        return compute.cast(compute.is_valid(column), pa.int64()) if function.name == COUNT else column

    columns = [rows[name] for name in aggregation.group] + [value(function) for function in aggregation.functions]
    return pa.table(columns, names=[str(number) for number in range(len(columns))])
