"""Rows beside those of a table that have the same keys, looked up by the tasks that have them.

A join brings every key of the table to the task of the rows that may match, and sorts them there. Each task may as
well read the keys of the whole table itself: they are few bytes of each row, and none of them goes through Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lanceway.spark.errors import plainly
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.writes.batching import chunks
from lanceway.writes.casting import to_spark
from lanceway.writes.destination import Destination

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lanceway.spark.write.rewriting import Base

# Keys that are read in all, if every task reads them once: beyond that, a join is the better way.
_MOST = 100_000_000
# What a task looks up at a time: rows, or bytes of them.
_ROWS, _BYTES = 250_000, 64 * 2**20
_BATCH = 2**20  # rows of the table
_AT = "_lanceway_at"


def suits(spark: SparkSession, frame: DataFrame, base: Base, keys: Sequence[str]) -> bool:
    """Whether keys are whole numbers or texts, of one type on both sides, and the table is not too large."""
    from pyspark.sql.types import IntegralType, StringType

    own = spark_schema(base.schema)
    for key in keys:
        type_ = own[key].dataType
        if frame.schema[key].dataType != type_ or not isinstance(type_, IntegralType | StringType):
            return False
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    rows = int(dataset.open_at(base.place.reading, version=base.version).count_rows())
    return rows * tasks <= _MOST


def look_up(frame: DataFrame, base: Base, keys: Sequence[str]) -> DataFrame:
    """The rows with the addresses of those that match, and their ids where they keep them; null where none does.

    A row that matches several is there as often. A null matches nothing.
    """
    from pyspark.sql.types import LongType, StructType

    schema = StructType(list(frame.schema))
    for name in _beside(base.stable):
        schema = schema.add(name, LongType())
    return frame.mapInArrow(partial(_look_up, base.place, base.version, base.stable, list(keys), schema), schema)


def _beside(stable: bool) -> list[str]:
    return [ROW_ADDRESS, ROW_ID] if stable else [ROW_ADDRESS]


def _look_up(
    place: Destination,
    version: int,
    stable: bool,
    keys: list[str],
    schema: StructType,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    opened: lance.LanceDataset | None = None
    told = arrow_schema(schema)
    read = pa.schema([told.field(name) for name in (*keys, *_beside(stable))])
    with plainly():
        for rows in (chunk.combine_chunks() for chunk in chunks(batches, rows=_ROWS, bytes_=_BYTES)):
            if opened is None:
                opened = dataset.open_at(place.current().reading, version=version)
            with translated(place.table, "Looking up keys"):
                matches = _matches(opened, rows, keys, read, stable=stable)
            yield from _joined(rows, matches, _beside(stable))


def _matches(opened: lance.LanceDataset, rows: pa.Table, keys: list[str], read: pa.Schema, *, stable: bool) -> pa.Table:
    """Where rows stand whose keys the table has, beside the addresses there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    scanner = opened.scanner(columns=keys, with_row_address=True, with_row_id=stable, batch_size=_BATCH)
    wanted = pc.unique(rows.column(keys[0]))
    found = []
    for batch in (to_spark(batch, read) for batch in scanner.to_batches()):
        found.append(batch.filter(pc.is_in(batch.column(keys[0]), value_set=wanted, skip_nulls=True)))
    numbered = rows.select(keys).append_column(_AT, pa.array(range(rows.num_rows), pa.int64()))
    return numbered.join(pa.Table.from_batches(found, read), keys, join_type="inner")


def _joined(rows: pa.Table, matches: pa.Table, beside: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    at = matches.column(_AT)
    others = pc.indices_nonzero(pc.invert(pc.is_in(pa.array(range(rows.num_rows), pa.int64()), value_set=at)))
    for taken, told in ((at, matches), (others, None)):
        some = rows.take(taken)
        for name in beside:
            some = some.append_column(name, pa.nulls(some.num_rows, pa.int64()) if told is None else told.column(name))
        yield from some.combine_chunks().to_batches()
