"""Partial aggregates: sums, counts and extremes of the rows that a task reads, which Spark aggregates once more.

A group may come in several rows, since Spark adds them up. Rows are handed on as they are where nearly each is a group
of its own, and from where a sum might not fit into 64 bits: only Spark knows whether such a sum is an error, null, or
begins again at the other end. It decides so at the row where its own sum leaves the range, even if later rows would
bring it back. Floating-point numbers are added up in the order of their rows, so that they are rounded as Spark does.
"""

from __future__ import annotations

import math
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
_ALL = "all rows"  # a key that all have
_ROUNDED = 1e-6  # at most that part of a sum of so many doubles


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
        """Return the schema of the batches that are read."""
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
    groups = _aggregated(aggregation, _each_row(aggregation, schema.empty_table()))
    sums = _Sums(aggregation)
    worthwhile = True
    for rows in rebatch(batches, rows=_ROWS):
        each_row = _each_row(aggregation, rows)
        if worthwhile and not sums.can_add(rows):
            worthwhile = False
            yield groups
        if not worthwhile:
            yield each_row
            continue
        most = (groups.num_rows + rows.num_rows) * _MANY_GROUPS
        groups = _aggregated(aggregation, groups, each_row)
        if groups.num_rows > max(1, most):
            worthwhile = False
            yield groups
    if worthwhile:
        yield groups


class _Sums:
    """How far from zero the sums of whole numbers can be by now, whatever the group and the order of its rows."""

    def __init__(self, aggregation: Aggregation) -> None:
        self._bounds = {function.column: 0 for function in aggregation.functions if function.name == SUM}

    def can_add(self, rows: pa.Table) -> bool:
        """Return whether no sum can leave 64 bits with these rows, at any of them."""
        import pyarrow as pa

        for column in self._bounds:
            if pa.types.is_integer(rows[column].type):
                self._bounds[column] += _furthest_sum(rows[column])
        return max(self._bounds.values(), default=0) < _LARGEST_SUM


def _furthest_sum(numbers: pa.ChunkedArray) -> int:
    """Return a number that no sum of some of these is further from zero than."""
    import pyarrow as pa
    from pyarrow import compute

    ends = compute.min_max(numbers).as_py().values()
    furthest = max((abs(end) for end in ends if end is not None), default=0) * len(numbers)
    if furthest < _LARGEST_SUM:
        return furthest
    # Where few numbers are large, their own sum says more. As doubles they do not overflow, but are rounded.
    exactly = compute.sum(compute.abs(compute.cast(numbers, pa.float64(), safe=False))).as_py()
    return int(min(furthest, math.ceil(exactly * (1 + _ROUNDED))))


def _aggregated(aggregation: Aggregation, *tables: pa.Table) -> pa.Table:
    """Aggregate rows that are groups already. Those of each group are added up in their order, as Spark does it."""
    import pyarrow as pa

    rows = pa.concat_tables(tables)
    names = rows.column_names
    group = names[: len(aggregation.group)]
    if not group and rows.num_rows and any(pa.types.is_floating(type_) for type_ in rows.schema.types):
        # Without groups Arrow adds up floating-point numbers in another order, which rounds otherwise.
        rows = rows.append_column(_ALL, pa.repeat(True, rows.num_rows))
        group = [_ALL]
    columns = names[len(aggregation.group) :]
    calls = [(column, *_call(function)) for column, function in zip(columns, aggregation.functions, strict=True)]
    # One thread: Spark has given each task its own core.
    groups = rows.group_by(group, use_threads=False).aggregate(calls)
    # The key that was added comes first.
    return groups.select(range(len(group) - len(aggregation.group), groups.num_columns)).rename_columns(names)


def _call(function: AggregateCall) -> tuple[str, Any]:
    from pyarrow import compute

    if function.name in (COUNT, COUNT_ALL):
        return SUM, compute.ScalarAggregateOptions(min_count=0)
    # Of nothing but nulls, the sum is null.
    return function.name, compute.ScalarAggregateOptions(skip_nulls=True, min_count=1)


def _each_row(aggregation: Aggregation, rows: pa.Table) -> pa.Table:
    """Return each row as a group of its own: the values of the groups, then those of the functions."""
    import pyarrow as pa
    from pyarrow import compute

    def value(function: AggregateCall) -> pa.ChunkedArray | pa.Array:
        if function.name == COUNT_ALL:
            return pa.repeat(1, rows.num_rows)
        column = rows[function.column]
        return compute.cast(compute.is_valid(column), pa.int64()) if function.name == COUNT else column

    columns = [rows[name] for name in aggregation.group] + [value(function) for function in aggregation.functions]
    return pa.table(columns, names=[str(number) for number in range(len(columns))])
