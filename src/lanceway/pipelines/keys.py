"""Keys of rows that were written and that nobody sees yet: no two rows may have the same.

They are read back from the files, which costs next to nothing beside sorting whole rows by them on the way there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.spark.errors import plainly
from lanceway.spark.types import arrow_schema, spark_schema
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import stage
from lanceway.writes.casting import to_spark
from lanceway.writes.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_BATCH = 65_536  # rows
_TASKS = 64
# So many are compared in the driver, before a job of Spark's would have begun.
_FEW = 1_000_000


def require_unique(spark: SparkSession, plan: Plan, fragments: Sequence[str], keys: Sequence[str]) -> None:
    """Raises InvalidInputError where two rows have the same keys. One with a null among them matches none."""
    import pyarrow as pa

    schema = pa.schema([plan.schema.field(key) for key in keys])
    rows = sum(fragment.physical_rows for fragment in stage.read(fragments))
    few = rows <= _FEW and not any(pa.types.is_nested(field.type) for field in schema)
    files = stage.files(fragments)
    twice = _twice_here(plan, files, schema) if few else _twice_by_spark(spark, plan, files, schema)
    if twice is not None:
        same = ", ".join(f"{name} = {value}" for name, value in twice.items())
        raise InvalidInputError(
            f"{plan.destination.target.name} was not written: several rows have the same keys ({same}). Leave all but "
            "one out in a transform, or give keys that tell rows apart."
        )


def _twice_here(plan: Plan, files: Sequence[str], schema: pa.Schema) -> Mapping[str, Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    read = pa.Table.from_batches((batch for file in files for batch in _read(plan, file, schema.names)), schema)
    counted = read.drop_null().group_by(schema.names).aggregate([([], "count_all")])
    found = counted.filter(pc.field("count_all") > 1).select(schema.names).slice(0, 1).to_pylist()
    return found[0] if found else None


def _twice_by_spark(
    spark: SparkSession, plan: Plan, files: Sequence[str], schema: pa.Schema
) -> Mapping[str, Any] | None:
    told = spark_schema(schema)
    numbers = spark.range(0, len(files), 1, min(len(files), _TASKS))
    rows = numbers.mapInArrow(partial(_share, plan, files, told), told).dropna()
    count = "_lanceway_count"
    counted = rows.groupBy(*map(quoted, told.names)).count().withColumnRenamed("count", count)
    found = counted.where(f"{count} > 1").drop(count).limit(1).collect()
    return found[0].asDict() if found else None


def _share(
    plan: Plan, files: Sequence[str], schema: StructType, numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    wanted = arrow_schema(schema)
    with plainly():
        for file in (files[number] for batch in numbers for number in batch.column(0).to_pylist()):
            for batch in _read(plan, file, schema.names):
                yield to_spark(batch, wanted)


def _read(plan: Plan, file: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    from lance.file import LanceFileReader

    place = plan.destination.current()
    path, options = f"{place.table.path}/{file}", place.table.options
    with translated(place.table, "Reading the keys that were written"):
        reader = LanceFileReader(path, options, columns=columns, **place.renewal)
        yield from reader.read_all(batch_size=_BATCH).to_batches()
