"""Merge, update and delete rows of a table by data frames.

A merge joins the rows of a data frame with those of the table that have the same keys. A join of Spark brings every
key of the table to the task of the rows that may match, and sorts them there. Where keys are simple and the table is
not too large, each task looks the keys up in the table by itself instead: they are few bytes of each row, and none of
them goes through Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.spark.catalog import driver
from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, rebatch, spark_schema, to_spark
from lanceway.spark.write.rewrite import ACTION, DELETE, INSERT, TWIN, UPDATE, BaseVersion, Changed, rewrite
from lanceway.spark.write.writer import QUERY
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import table_ref
from lanceway.writes.commit import WriteId
from lanceway.writes.table_ref import Destination

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Keys that are read in all, if every task reads them once: beyond that, a join is the better way.
_MOST = 100_000_000
# What a task looks up at a time: rows, or bytes of them.
_ROWS, _BYTES = 250_000, 64 * 2**20
_BATCH = 2**20  # rows of the table
_AT = "_lanceway_at"
SOURCE, TARGET = "source", "target"
_TWINS = "_lanceway_twins"


def merge(
    spark: SparkSession,
    frame: DataFrame,
    target: table_ref.TableName,
    *,
    on: str | Sequence[str],
    when_matched_update: bool | Mapping[str, str] = False,
    when_matched_delete: bool | str = False,
    when_not_matched_insert: bool | Mapping[str, str] = False,
    job: str | WriteId | None = None,
) -> Changed:
    """Merge the rows of a data frame into a table, matched by the columns `on`. One version is made, or none.

    A row of the table that matches is deleted if `when_matched_delete` is true or its condition holds, else
    updated if `when_matched_update` says so; a row of the data frame that matches none is inserted if
    `when_not_matched_insert` says so. `True` takes every column that the data frame has; a mapping gives columns
    and their values. Conditions and values are Spark SQL over `source.column` and `target.column`. A null key
    matches nothing. `job` is a name for the merge, or the id of the write, by which its commit can be recognised.

    Raises InvalidInputError where two rows of the data frame have the same keys, and ConcurrentModificationError
    where others change the table faster than it can be read.
    """
    clauses = _Clauses(_names(on), when_matched_update, when_matched_delete, when_not_matched_insert)
    write_id = job if isinstance(job, WriteId) else WriteId.of_job(job)
    return rewrite(spark, driver.resolve(spark, target), lambda base: _changes(spark, frame, base, clauses), write_id)


def merge_batches(
    target: table_ref.TableName,
    *,
    on: str | Sequence[str],
    when_matched_update: bool | Mapping[str, str] = False,
    when_matched_delete: bool | str = False,
    when_not_matched_insert: bool | Mapping[str, str] = False,
) -> Callable[[DataFrame, int], None]:
    """Return a function for `writeStream.foreachBatch` that merges each batch as `merge` does, once if tried again."""
    clauses = _Clauses(_names(on), when_matched_update, when_matched_delete, when_not_matched_insert)

    def merge_batch(frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        write_id = WriteId(query=_query(spark), batch=batch)
        ref = driver.resolve(spark, target)
        if not write_id.is_replayed(ref.table()):
            rewrite(spark, ref, lambda base: _changes(spark, frame, base, clauses), write_id)

    return merge_batch


def update(
    spark: SparkSession, target: table_ref.TableName, values: Mapping[str, str], *, where: str | None = None
) -> Changed:
    """Give columns new values in the rows that meet a condition, or in all. Both are Spark SQL over the columns."""
    if not values:
        raise InvalidInputError("update has nothing to do: give columns and their new values.")

    def changes(base: BaseVersion) -> DataFrame:
        from pyspark.sql import functions as f

        unknown = [name for name in values if name not in base.schema.names]
        if unknown:
            raise InvalidInputError(
                f"update: {base.ref.name} has no column {unknown[0]!r}. It has: {', '.join(base.schema.names)}."
            )
        rows = base.rows(spark)
        chosen = rows if where is None else rows.where(where)
        columns = [
            f.expr(values[field.name]).cast(field.dataType).alias(field.name)
            if field.name in values
            else chosen[quoted(field.name)]
            for field in spark_schema(base.schema)
        ]
        ids = [chosen[ROW_ID]] if base.stable else []
        return chosen.select(*columns, chosen[ROW_ADDRESS], *ids, f.lit(UPDATE).alias(ACTION))

    return rewrite(spark, driver.resolve(spark, target), changes, None)


def delete(spark: SparkSession, target: table_ref.TableName, *, where: str) -> Changed:
    """Delete the rows that meet a condition in Spark SQL over the columns. `true` means all."""

    def changes(base: BaseVersion) -> DataFrame:
        from pyspark.sql import functions as f

        chosen = base.rows(spark).where(where)
        return chosen.select(chosen[ROW_ADDRESS], f.lit(DELETE).alias(ACTION))

    return rewrite(spark, driver.resolve(spark, target), changes, None)


# -- the changes of a merge ------------------------------------------------------------------------


class _Clauses:
    """The clauses of a merge: the keys, and when to update, delete and insert."""

    def __init__(
        self,
        on: tuple[str, ...],
        update: bool | Mapping[str, str],
        delete: bool | str,
        insert: bool | Mapping[str, str],
    ) -> None:
        if not (update or delete or insert):
            raise InvalidInputError("merge has nothing to do: say when to update, to delete or to insert.")
        self.on, self.update, self.delete, self.insert = on, update, delete, insert

    def replaces(self, frame: DataFrame, base: BaseVersion) -> bool:
        """Return whether every row of the data frame takes the place of those that it matches, or is new."""
        return (
            self.update is True
            and self.insert is True
            and not self.delete
            and set(frame.columns) == set(base.schema.names)
        )


def _names(on: str | Sequence[str]) -> tuple[str, ...]:
    names = (on,) if isinstance(on, str) else tuple(on)
    if not names:
        raise InvalidInputError("merge needs the columns that rows are matched by: on.")
    return names


def _query(spark: SparkSession) -> str:
    query = spark.sparkContext.getLocalProperty(QUERY)
    if query is None:
        raise InvalidInputError("merge_batches is for foreachBatch: it needs the query that a batch belongs to.")
    return query


def _changes(spark: SparkSession, frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> DataFrame:
    """Return each row to write or delete: its new values, the address of the row that it matches, and the action."""
    from pyspark.sql import functions as f

    _check(frame, base, clauses)
    if clauses.replaces(frame, base) and _suits_lookup(spark, frame, base, clauses.on):
        return _replacing(frame, base, clauses)
    source = _with_twins(frame, clauses.on).alias(SOURCE)
    rows = base.rows(spark, _needed(frame, base, clauses)).alias(TARGET)
    same = reduce(and_, (_of(SOURCE, key) == _of(TARGET, key) for key in clauses.on))
    joined = source.join(rows, same, "left" if clauses.insert else "inner")
    address = _of(TARGET, ROW_ADDRESS)
    action = f.when(address.isNull(), f.lit(INSERT))
    if clauses.delete:
        action = action.when(f.lit(True) if clauses.delete is True else f.expr(str(clauses.delete)), f.lit(DELETE))
    if clauses.update:
        action = action.otherwise(f.lit(UPDATE))
    acting = joined.withColumn(ACTION, action).where(f.col(ACTION).isNotNull())
    updates = _values(frame, base, clauses.update, lambda name: _of(TARGET, name))
    inserts = _values(frame, base, clauses.insert, lambda name: f.lit(None))
    columns = [
        f.when(f.col(ACTION) == INSERT, inserts[field.name])
        .when(f.col(ACTION) == UPDATE, updates[field.name])
        .cast(field.dataType)
        .alias(field.name)
        for field in spark_schema(base.schema)
    ]
    ids = [_of(TARGET, ROW_ID)] if base.stable else []
    return acting.select(*columns, address, *ids, f.col(ACTION), f.col(_TWINS).alias(TWIN))


def _replacing(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> DataFrame:
    """Return the changes of a merge that writes every row whole: it needs the addresses of matching rows alone."""
    from pyspark.sql import functions as f

    columns = [f.col(quoted(field.name)).cast(field.dataType).alias(field.name) for field in spark_schema(base.schema)]
    rows = _with_twins(frame, clauses.on).select(*columns, f.col(_TWINS).alias(TWIN))
    action = f.when(f.col(ROW_ADDRESS).isNull(), f.lit(INSERT)).otherwise(f.lit(UPDATE))
    return _with_addresses(rows, base, clauses.on).withColumn(ACTION, action)


def _check(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> None:
    for key in clauses.on:
        for names, where in ((frame.columns, "the data frame"), (base.schema.names, base.ref.name)):
            if key not in names:
                raise InvalidInputError(
                    f"merge: there is no column {key!r} to match by in {where}: {', '.join(names)}."
                )
    every = clauses.update is True or clauses.insert is True
    named = [*(frame.columns if every else ()), *_mapped(clauses.update), *_mapped(clauses.insert)]
    unknown = [name for name in named if name not in base.schema.names]
    if unknown:
        raise InvalidInputError(
            f"merge: {base.ref.name} has no column {unknown[0]!r}. It has: {', '.join(base.schema.names)}."
        )


def _mapped(clause: bool | Mapping[str, str]) -> Mapping[str, str]:
    return clause if isinstance(clause, Mapping) else {}


def _with_twins(frame: DataFrame, on: Sequence[str]) -> DataFrame:
    """Add a column with the keys as a text for rows whose keys another row has too; null for all others."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    keys = [f.col(quoted(key)) for key in on]
    complete = reduce(and_, (key.isNotNull() for key in keys))
    count = f.count(f.lit(1)).over(Window.partitionBy(*keys))
    shown = f.concat_ws(
        ", ", *(f.concat(f.lit(f"{name} = "), key.cast("string")) for name, key in zip(on, keys, strict=True))
    )
    return frame.withColumn(_TWINS, f.when(complete & (count > 1), shown))


def _needed(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> list[str] | None:
    """Return the table's columns that the merge reads: the keys, or None for all where a row is rewritten in part."""
    computed = isinstance(clauses.delete, str) or _mapped(clauses.update) or _mapped(clauses.insert)
    in_part = clauses.update is True and set(base.schema.names) - set(frame.columns)
    return None if computed or in_part else list(clauses.on)


def _values(
    frame: DataFrame, base: BaseVersion, clause: bool | Mapping[str, str], otherwise: Callable[[str], Column]
) -> dict[str, Column]:
    """Return the new value of each column of the table."""
    from pyspark.sql import functions as f

    if not clause:
        return {name: f.lit(None) for name in base.schema.names}
    if isinstance(clause, Mapping):
        values = {name: f.expr(expression) for name, expression in clause.items()}
    else:
        values = {name: _of(SOURCE, name) for name in frame.columns}
    return {name: values[name] if name in values else otherwise(name) for name in base.schema.names}


def _of(side: str, column: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(f"{side}.{quoted(column)}")


# -- looking keys up in tasks ----------------------------------------------------------------------


def _suits_lookup(spark: SparkSession, frame: DataFrame, base: BaseVersion, keys: Sequence[str]) -> bool:
    """Return whether keys are whole numbers or texts, of one type on both sides, and the table is not too large."""
    from pyspark.sql.types import IntegralType, StringType

    table = spark_schema(base.schema)
    for key in keys:
        type_ = table[key].dataType
        if frame.schema[key].dataType != type_ or not isinstance(type_, IntegralType | StringType):
            return False
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    rows = int(dataset.open_at(base.destination.reading, version=base.version).count_rows())
    return rows * tasks <= _MOST


def _with_addresses(frame: DataFrame, base: BaseVersion, keys: Sequence[str]) -> DataFrame:
    """Return the rows with the addresses of matching rows, and their ids where these stay; null where none matches.

    A row that matches several comes once for each. A null matches nothing.
    """
    from pyspark.sql.types import LongType, StructType

    schema = StructType(list(frame.schema))
    for name in _beside(base.stable):
        schema = schema.add(name, LongType())
    return frame.mapInArrow(partial(_look_up, base.destination, base.version, base.stable, list(keys), schema), schema)


def _beside(stable: bool) -> list[str]:
    return [ROW_ADDRESS, ROW_ID] if stable else [ROW_ADDRESS]


def _look_up(
    destination: Destination,
    version: int,
    stable: bool,
    keys: list[str],
    schema: StructType,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    opened: lance.LanceDataset | None = None
    arrow = arrow_schema(schema)
    read = pa.schema([arrow.field(name) for name in (*keys, *_beside(stable))])
    with hide_traceback():
        for rows in (chunk.combine_chunks() for chunk in rebatch(batches, rows=_ROWS, bytes_=_BYTES)):
            if opened is None:
                opened = dataset.open_at(destination.current().reading, version=version)
            with translated(destination.table, "Looking up keys"):
                matches = _matches(opened, rows, keys, read, stable=stable)
            yield from _joined(rows, matches, _beside(stable))


def _matches(opened: lance.LanceDataset, rows: pa.Table, keys: list[str], read: pa.Schema, *, stable: bool) -> pa.Table:
    """Return the positions of rows whose keys the table has, with the addresses that these have there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    scanner = opened.scanner(columns=keys, with_row_address=True, with_row_id=stable, batch_size=_BATCH)
    first_keys = pc.unique(rows.column(keys[0]))
    matching = []
    for batch in (to_spark(batch, read) for batch in scanner.to_batches()):
        matching.append(batch.filter(pc.is_in(batch.column(keys[0]), value_set=first_keys, skip_nulls=True)))
    numbered = rows.select(keys).append_column(_AT, pa.array(range(rows.num_rows), pa.int64()))
    return numbered.join(pa.Table.from_batches(matching, read), keys, join_type="inner")


def _joined(rows: pa.Table, matches: pa.Table, beside: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    at = matches.column(_AT)
    others = pc.indices_nonzero(pc.invert(pc.is_in(pa.array(range(rows.num_rows), pa.int64()), value_set=at)))
    for positions, addresses in ((at, matches), (others, None)):
        part = rows.take(positions)
        for name in beside:
            nulls = pa.nulls(part.num_rows, pa.int64())
            part = part.append_column(name, nulls if addresses is None else addresses.column(name))
        yield from part.combine_chunks().to_batches()
