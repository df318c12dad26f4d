"""Rows beside those of a table that have the same keys, looked up by the tasks that have them.

A join brings every key of the table to the task of the rows that may match, and sorts them there. Each task may as
well read the keys of the whole table itself: they are few bytes of each row, and none of them goes through Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.spark.errors import plainly
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema
from lanceway.spark.write.rewrite import ACTION, DELETE, INSERT, TWIN, UPDATE, BaseVersion, Changed, rewrite
from lanceway.spark.write.stream import QUERY
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import table_ref, write_id
from lanceway.writes.casting import to_spark
from lanceway.writes.destination import Destination
from lanceway.writes.stage import chunks
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lanceway.spark.write.rewrite import BaseVersion

# Keys that are read in all, if every task reads them once: beyond that, a join is the better way.
_MOST = 100_000_000
# What a task looks up at a time: rows, or bytes of them.
_ROWS, _BYTES = 250_000, 64 * 2**20
_BATCH = 2**20  # rows of the table
_AT = "_lanceway_at"


def suits(spark: SparkSession, frame: DataFrame, base: BaseVersion, keys: Sequence[str]) -> bool:
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


def look_up(frame: DataFrame, base: BaseVersion, keys: Sequence[str]) -> DataFrame:
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
    job: str | None = None,
) -> Changed:
    """Merge the rows of a data frame into a table, matched by the columns `on`. One version is made, or none.

    A row of the table that matches is deleted if `when_matched_delete` is true or its condition holds, else
    updated if `when_matched_update` says so; a row of the data frame that matches none is inserted if
    `when_not_matched_insert` says so. `True` takes every column that the data frame has; a mapping gives columns
    and their values. Conditions and values are Spark SQL over `source.column` and `target.column`. A null key
    matches nothing. `job` is a name for the merge, by which its commit can be told.

    Raises InvalidInputError where two rows of the data frame have the same keys, and ConcurrentModificationError
    where others change the table faster than it can be read.
    """
    clauses = _Clauses(_names(on), when_matched_update, when_matched_delete, when_not_matched_insert)
    return rewrite(
        spark, table_ref.target(target), lambda base: _changes(spark, frame, base, clauses), WriteId.of_job(job)
    )


def merge_batches(
    target: table_ref.TableName,
    *,
    on: str | Sequence[str],
    when_matched_update: bool | Mapping[str, str] = False,
    when_matched_delete: bool | str = False,
    when_not_matched_insert: bool | Mapping[str, str] = False,
) -> Callable[[DataFrame, int], None]:
    """For `writeStream.foreachBatch`: each batch is merged as `merge` does it, once however often it is tried."""
    clauses = _Clauses(_names(on), when_matched_update, when_matched_delete, when_not_matched_insert)

    def merge_batch(frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        mark, found = WriteId(query=_query(spark), batch=batch), table_ref.target(target)
        if not write_id.is_replayed(found.table(), mark):
            rewrite(spark, found, lambda base: _changes(spark, frame, base, clauses), mark)

    return merge_batch


class _Clauses:
    """What a merge was asked to do."""

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
        """Whether every row of the data frame takes the place of those that it matches, or is new."""
        return (
            self.update is True
            and self.insert is True
            and not self.delete
            and set(frame.columns) == set(base.schema.names)
        )


def _names(on: str | Sequence[str]) -> tuple[str, ...]:
    names = (on,) if isinstance(on, str) else tuple(on)
    if not names:
        raise InvalidInputError("merge needs the columns by which rows match: on.")
    return names


def _query(spark: SparkSession) -> str:
    query = spark.sparkContext.getLocalProperty(QUERY)
    if query is None:
        raise InvalidInputError("merge_batches is for foreachBatch: it needs the query that a batch belongs to.")
    return query


def _changes(spark: SparkSession, frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> DataFrame:
    """Every row of the source beside the row that it matches, and what becomes of that."""
    from pyspark.sql import functions as f

    _check(frame, base, clauses)
    if clauses.replaces(frame, base) and suits(spark, frame, base, clauses.on):
        return _replacing(frame, base, clauses)
    source = _with_twins(frame, clauses.on).alias(SOURCE)
    rows = base.rows(spark, _needed(frame, base, clauses)).alias(TARGET)
    same = reduce(lambda one, other: one & other, (_of(SOURCE, key) == _of(TARGET, key) for key in clauses.on))
    joined = source.join(rows, same, "left" if clauses.insert else "inner")
    address = _of(TARGET, ROW_ADDRESS)
    action = f.when(address.isNull(), f.lit(INSERT))
    if clauses.delete:
        action = action.when(f.lit(True) if clauses.delete is True else f.expr(str(clauses.delete)), f.lit(DELETE))
    if clauses.update:
        action = action.otherwise(f.lit(UPDATE))
    kept = joined.withColumn(ACTION, action).where(f.col(ACTION).isNotNull())
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
    return kept.select(*columns, address, *ids, f.col(ACTION), f.col(_TWINS).alias(TWIN))


def _replacing(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> DataFrame:
    """The same for rows that are written whole, and so need nothing of those that they match but to know which."""
    from pyspark.sql import functions as f

    columns = [f.col(quoted(field.name)).cast(field.dataType).alias(field.name) for field in spark_schema(base.schema)]
    rows = _with_twins(frame, clauses.on).select(*columns, f.col(_TWINS).alias(TWIN))
    action = f.when(f.col(ROW_ADDRESS).isNull(), f.lit(INSERT)).otherwise(f.lit(UPDATE))
    return look_up(rows, base, clauses.on).withColumn(ACTION, action)


def _check(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> None:
    for key in clauses.on:
        for names, where in ((frame.columns, "the data frame"), (base.schema.names, base.target.name)):
            if key not in names:
                raise InvalidInputError(
                    f"merge: there is no column {key!r} to match by in {where}: {', '.join(names)}."
                )
    every = clauses.update is True or clauses.insert is True
    given = [*(frame.columns if every else ()), *_mapped(clauses.update), *_mapped(clauses.insert)]
    unknown = [name for name in given if name not in base.schema.names]
    if unknown:
        raise InvalidInputError(
            f"merge: {base.target.name} has no column {unknown[0]!r}. It has: {', '.join(base.schema.names)}."
        )


def _mapped(clause: bool | Mapping[str, str]) -> Mapping[str, str]:
    return clause if isinstance(clause, Mapping) else {}


def _with_twins(frame: DataFrame, on: Sequence[str]) -> DataFrame:
    """Rows with whole keys that another row has, too, get these as a text; all others null."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    keys = [f.col(quoted(key)) for key in on]
    whole = reduce(lambda one, other: one & other, (key.isNotNull() for key in keys))
    count = f.count(f.lit(1)).over(Window.partitionBy(*keys))
    shown = f.concat_ws(
        ", ", *(f.concat(f.lit(f"{name} = "), key.cast("string")) for name, key in zip(on, keys, strict=True))
    )
    return frame.withColumn(_TWINS, f.when(whole & (count > 1), shown))


def _needed(frame: DataFrame, base: BaseVersion, clauses: _Clauses) -> list[str] | None:
    """The table's columns that the merge reads: the keys, and all where a row is rewritten in part."""
    computed = isinstance(clauses.delete, str) or _mapped(clauses.update) or _mapped(clauses.insert)
    in_part = clauses.update is True and set(base.schema.names) - set(frame.columns)
    return None if computed or in_part else list(clauses.on)


def _values(
    frame: DataFrame, base: BaseVersion, clause: bool | Mapping[str, str], otherwise: Callable[[str], Column]
) -> dict[str, Column]:
    """What each column of the table becomes."""
    from pyspark.sql import functions as f

    if not clause:
        return {name: f.lit(None) for name in base.schema.names}
    if isinstance(clause, Mapping):
        given = {name: f.expr(expression) for name, expression in clause.items()}
    else:
        given = {name: _of(SOURCE, name) for name in frame.columns}
    return {name: given[name] if name in given else otherwise(name) for name in base.schema.names}


def _of(side: str, column: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(f"{side}.{quoted(column)}")


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
                f"update: {base.target.name} has no column {unknown[0]!r}. It has: {', '.join(base.schema.names)}."
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

    return rewrite(spark, table_ref.target(target), changes, None)


def delete(spark: SparkSession, target: table_ref.TableName, *, where: str) -> Changed:
    """Delete the rows that meet a condition in Spark SQL over the columns. `true` means all."""

    def changes(base: BaseVersion) -> DataFrame:
        from pyspark.sql import functions as f

        chosen = base.rows(spark).where(where)
        return chosen.select(chosen[ROW_ADDRESS], f.lit(DELETE).alias(ACTION))

    return rewrite(spark, table_ref.target(target), changes, None)
