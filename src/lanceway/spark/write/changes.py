"""Rows compared by value, whatever their columns are: Spark itself compares no maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, InvalidTableStateError
from lanceway.spark.errors import plainly
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema
from lanceway.spark.write.rewrite import DELETE, INSERT, UPDATE
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import columns as carried
from lanceway.writes import table_ref
from lanceway.writes.casting import to_spark

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from lanceway.writes.table_ref import TableRef


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


CHANGE = "_change"
_KEY = "_lanceway_key"
# Operations after which rows cannot be told from their addresses, or a table's columns from their numbers.
_MOVES, _REPLACES = "Rewrite", "Overwrite"


def read_changes(
    spark: SparkSession, target: table_ref.TableName, from_version: int, to_version: int | None = None
) -> DataFrame:
    """The rows that were inserted, updated or deleted after `from_version`, up to `to_version` or the latest.

    The column `_change` says which; deleted rows are as they were, all others as they are at the end, and what
    happened to a row on the way there is not told: an updated row has another value in a column that the table has
    at both ends, whether the row was written anew or the column. 0 is before the first version. Without stable row
    ids a row that is written anew is a deletion and an insertion, and a table that was compacted on the way is
    refused.
    """
    from pyspark.sql import functions as f

    found = table_ref.target(target)
    new = found.open(version=to_version)
    last = int(new.version)
    if not 0 <= from_version <= last:
        raise InvalidInputError(f"read_changes: from_version is {from_version}, but must lie between 0 and {last}.")
    old = found.open(version=from_version) if from_version else None
    stable = bool(new.has_stable_row_ids)
    kinds = _kinds(found, new, from_version)
    if not stable:
        _check(found, kinds)
    schema = spark_schema(new.schema)
    names = {} if old is None else carried.carried(old, new, renamed=_REPLACES not in kinds.values())
    held = {} if old is None else carried.states(old, names.values())
    holds = carried.states(new, names)
    before = _rows(spark, found, from_version, _beside(held, holds), schema, names, stable=stable).alias("before")
    own = {name: name for name in schema.names}
    after = _rows(spark, found, last, _beside(holds, held), schema, own, stable=stable).alias("after")
    change = (
        f.when(f.col(f"before.{_KEY}").isNull(), f.lit(INSERT))
        .when(f.col(f"after.{_KEY}").isNull(), f.lit(DELETE))
        .when(differ([field for field in schema if field.name in names], "before", "after"), f.lit(UPDATE))
    )
    joined = before.join(after, f.col(f"before.{_KEY}") == f.col(f"after.{_KEY}"), "full").withColumn(CHANGE, change)
    columns = [
        f.when(f.col(CHANGE) == DELETE, f.col(f"before.{name}")).otherwise(f.col(f"after.{name}")).alias(plain)
        for plain, name in ((name, quoted(name)) for name in schema.names)
    ]
    return joined.where(f.col(CHANGE).isNotNull()).select(*columns, f.col(CHANGE))


def _kinds(target: TableRef, new: lance.LanceDataset, after: int) -> dict[int, str]:
    """Each version after another, with the operation that made it."""
    found: dict[int, str] = {}
    for version in range(after + 1, int(new.version) + 1):
        with translated(target.table(), f"Reading the transaction of version {version}"):
            transaction = new.read_transaction(version)
        found[version] = type(None if transaction is None else transaction.operation).__name__
    return found


def _check(target: TableRef, kinds: Mapping[int, str]) -> None:
    for version, kind in kinds.items():
        if kind == _MOVES:
            raise InvalidTableStateError(
                f"The changes of {target.name} cannot be told: version {version} is a {kind}, after which rows lie "
                "elsewhere. Only a table made with stable row ids tells its rows from one another after that."
            )


def _beside(these: dict[int, str], those: dict[int, str]) -> list[int]:
    """The fragments that only these have, or have in another state."""
    return sorted(id_ for id_, state in these.items() if those.get(id_) != state)


def _rows(
    spark: SparkSession,
    target: TableRef,
    version: int,
    fragments: list[int],
    schema: StructType,
    names: Mapping[str, str],
    *,
    stable: bool,
) -> DataFrame:
    from pyspark.sql.types import LongType, StructType

    told = StructType(list(schema)).add(_KEY, LongType()).toNullable()
    shares = spark.createDataFrame([(id_,) for id_ in fragments], "fragment bigint")
    shares = shares.repartition(max(1, min(len(fragments), 64)))
    return shares.mapInArrow(partial(_read, target, version, told, names, stable), told)


def _read(
    target: TableRef,
    version: int,
    told: StructType,
    names: Mapping[str, str],
    stable: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    ids = [id_ for batch in batches for id_ in batch.column("fragment").to_pylist()]
    if not ids:
        return
    with plainly():
        dataset = target.open(version=version)
        with translated(target.table(), "Reading changes"):
            scanner = dataset.scanner(
                columns=list(names.values()),
                fragments=[fragment for fragment in map(dataset.get_fragment, ids) if fragment is not None],
                with_row_id=stable,
                with_row_address=not stable,
                blob_handling="all_binary",
            )
            for batch in scanner.to_batches():
                rows = _told(batch, told, names, stable=stable)
                try:
                    yield to_spark(rows, arrow_schema(told))
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                    raise InvalidTableStateError(
                        f"The changes of {target.name} cannot be told: a column has another type than at version "
                        f"{version}, and a value does not fit it: {error}."
                    ) from error


def _told(batch: pa.RecordBatch, told: StructType, names: Mapping[str, str], *, stable: bool) -> pa.RecordBatch:
    """The batch with each row's key, and nulls for columns that the table has got since."""
    import pyarrow as pa

    found = {name: batch.column(before) for name, before in names.items()}
    found[_KEY] = batch.column(ROW_ID if stable else ROW_ADDRESS)
    columns = [found.get(name, pa.nulls(batch.num_rows)) for name in told.names]
    return pa.RecordBatch.from_arrays(columns, told.names)
