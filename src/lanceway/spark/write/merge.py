"""Rows of a data frame merged into a table by their keys, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, spark_schema
from lanceway.spark.write import lookups
from lanceway.spark.write.changed_rows import ACTION, DELETE, INSERT, TWIN, UPDATE
from lanceway.spark.write.rewriting import Base, Changed, rewrite
from lanceway.spark.write.stream import QUERY
from lanceway.tables.schema.fields import quoted
from lanceway.writes import named, write_id
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SOURCE, TARGET = "source", "target"
_TWINS = "_lanceway_twins"


def merge(
    spark: SparkSession,
    frame: DataFrame,
    target: named.Named,
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
    return rewrite(spark, named.target(target), lambda base: _changes(spark, frame, base, clauses), Mark.of_job(job))


def merge_batches(
    target: named.Named,
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
        mark, found = Mark(query=_query(spark), batch=batch), named.target(target)
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

    def replaces(self, frame: DataFrame, base: Base) -> bool:
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


def _changes(spark: SparkSession, frame: DataFrame, base: Base, clauses: _Clauses) -> DataFrame:
    """Every row of the source beside the row that it matches, and what becomes of that."""
    from pyspark.sql import functions as f

    _check(frame, base, clauses)
    if clauses.replaces(frame, base) and lookups.suits(spark, frame, base, clauses.on):
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


def _replacing(frame: DataFrame, base: Base, clauses: _Clauses) -> DataFrame:
    """The same for rows that are written whole, and so need nothing of those that they match but to know which."""
    from pyspark.sql import functions as f

    columns = [f.col(quoted(field.name)).cast(field.dataType).alias(field.name) for field in spark_schema(base.schema)]
    rows = _with_twins(frame, clauses.on).select(*columns, f.col(_TWINS).alias(TWIN))
    action = f.when(f.col(ROW_ADDRESS).isNull(), f.lit(INSERT)).otherwise(f.lit(UPDATE))
    return lookups.look_up(rows, base, clauses.on).withColumn(ACTION, action)


def _check(frame: DataFrame, base: Base, clauses: _Clauses) -> None:
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


def _needed(frame: DataFrame, base: Base, clauses: _Clauses) -> list[str] | None:
    """The table's columns that the merge reads: the keys, and all where a row is rewritten in part."""
    computed = isinstance(clauses.delete, str) or _mapped(clauses.update) or _mapped(clauses.insert)
    in_part = clauses.update is True and set(base.schema.names) - set(frame.columns)
    return None if computed or in_part else list(clauses.on)


def _values(
    frame: DataFrame, base: Base, clause: bool | Mapping[str, str], otherwise: Callable[[str], Column]
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
