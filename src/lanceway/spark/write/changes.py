"""Read the changes of a table between two versions: the rows that were inserted, updated or deleted.

Only fragments that differ between the versions are read. Their rows are joined by id, and compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, InvalidTableStateError
from lanceway.spark.catalog import driver
from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema, to_spark
from lanceway.spark.write.rewrite import DELETE, INSERT, UPDATE
from lanceway.tables.errors import translated
from lanceway.tables.read import blobs
from lanceway.tables.schema.fields import quoted
from lanceway.writes import additions, table_ref

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from lanceway.writes.table_ref import TableRef

CHANGE = "_change"
_KEY = "_lanceway_key"
_TASKS = 64
# Operations after which rows no longer have their addresses, or columns their ids.
_MOVES, _REPLACES = "Rewrite", "Overwrite"


def read_changes(
    spark: SparkSession, target: table_ref.TableName, from_version: int, to_version: int | None = None
) -> DataFrame:
    """Return the rows that were inserted, updated or deleted after `from_version`, up to `to_version` or the latest.

    The column `_change` says which; deleted rows are as they were, all others as they are at the end. What happened to
    a row in between is not shown: an updated row has another value in a column that the table has at both ends,
    whether the row was rewritten or the column. 0 is before the first version. Without stable row ids a rewritten row
    is a deletion and an insertion, and a table that was compacted in between is refused.
    """
    ref = driver.resolve(spark, target)
    new = ref.open(version=to_version)
    last = int(new.version)
    if not 0 <= from_version <= last:
        raise InvalidInputError(f"read_changes: from_version is {from_version}, but must be between 0 and {last}.")
    old = ref.open(version=from_version) if from_version else None
    stable = bool(new.has_stable_row_ids)
    operations = _operations(ref, new, from_version)
    if not stable:
        _require_unmoved(ref, operations)
    schema = spark_schema(new.schema)
    names: dict[str, str] = {}
    old_states: dict[int, str] = {}
    if old is not None:
        names = additions.unchanged(old, new, renamed=_REPLACES not in operations.values())
        old_states = additions.fragment_states(old, names.values())
    new_states = additions.fragment_states(new, names)
    before = _rows(spark, ref, from_version, _differing(old_states, new_states), schema, names, stable=stable)
    every = {name: name for name in schema.names}
    after = _rows(spark, ref, last, _differing(new_states, old_states), schema, every, stable=stable)
    return _compare(before, after, schema, names)


def _compare(before: DataFrame, after: DataFrame, schema: StructType, names: Mapping[str, str]) -> DataFrame:
    """Join rows by their keys, and return those that differ with the kind of their change."""
    from pyspark.sql import functions as f

    change = (
        f.when(f.col(f"before.{_KEY}").isNull(), f.lit(INSERT))
        .when(f.col(f"after.{_KEY}").isNull(), f.lit(DELETE))
        .when(_differ([field for field in schema if field.name in names], "before", "after"), f.lit(UPDATE))
    )
    same_row = f.col(f"before.{_KEY}") == f.col(f"after.{_KEY}")
    joined = before.alias("before").join(after.alias("after"), same_row, "full").withColumn(CHANGE, change)
    columns = [
        f.when(f.col(CHANGE) == DELETE, f.col(f"before.{name}")).otherwise(f.col(f"after.{name}")).alias(plain)
        for plain, name in ((name, quoted(name)) for name in schema.names)
    ]
    return joined.where(f.col(CHANGE).isNotNull()).select(*columns, f.col(CHANGE))


def _operations(ref: TableRef, new: lance.LanceDataset, after: int) -> dict[int, str]:
    """Return each version later than `after`, with the operation that made it."""
    operations: dict[int, str] = {}
    for version in range(after + 1, int(new.version) + 1):
        with translated(ref.table(), f"Reading the transaction of version {version}"):
            transaction = new.read_transaction(version)
        operations[version] = type(None if transaction is None else transaction.operation).__name__
    return operations


def _require_unmoved(ref: TableRef, operations: Mapping[int, str]) -> None:
    """Refuse a table whose rows got other addresses in between."""
    for version, operation in operations.items():
        if operation == _MOVES:
            raise InvalidTableStateError(
                f"The changes of {ref.name} are unknown: version {version} is a {operation}, after which rows are "
                "stored elsewhere. Only a table made with stable row ids can follow its rows beyond that."
            )


def _differing(states: dict[int, str], others: dict[int, str]) -> list[int]:
    """Return the fragments that the others lack, or have in another state."""
    return sorted(id_ for id_, state in states.items() if others.get(id_) != state)


# -- the rows of fragments -------------------------------------------------------------------------


def _rows(
    spark: SparkSession,
    ref: TableRef,
    version: int,
    fragments: list[int],
    schema: StructType,
    names: Mapping[str, str],
    *,
    stable: bool,
) -> DataFrame:
    """Read fragments of a version in the given schema, with each row's key; `names` has the names at that version."""
    from pyspark.sql.types import LongType, StructType

    keyed = StructType(list(schema)).add(_KEY, LongType()).toNullable()
    tasks = spark.createDataFrame([(id_,) for id_ in fragments], "fragment bigint")
    tasks = tasks.repartition(max(1, min(len(fragments), _TASKS)))
    return tasks.mapInArrow(partial(_read, ref, version, keyed, names, stable), keyed)


def _read(
    ref: TableRef,
    version: int,
    schema: StructType,
    names: Mapping[str, str],
    stable: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    ids = [id_ for batch in batches for id_ in batch.column("fragment").to_pylist()]
    if not ids:
        return
    with hide_traceback():
        dataset = ref.open(version=version)
        fragments = [fragment for fragment in map(dataset.get_fragment, ids) if fragment is not None]
        blobs.require_own(ref.table, dataset, names.values(), fragments)
        with translated(ref.table(), "Reading changes"):
            scanner = dataset.scanner(
                columns=list(names.values()),
                fragments=fragments,
                with_row_id=stable,
                with_row_address=not stable,
                blob_handling="all_binary",
            )
            for batch in scanner.to_batches():
                rows = _keyed(batch, schema, names, stable=stable)
                try:
                    yield to_spark(rows, arrow_schema(schema))
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                    raise InvalidTableStateError(
                        f"The changes of {ref.name} are unknown: a column has another type than at version "
                        f"{version}, and a value does not fit it: {error}."
                    ) from error


def _keyed(batch: pa.RecordBatch, schema: StructType, names: Mapping[str, str], *, stable: bool) -> pa.RecordBatch:
    """Return the batch with each row's key, and nulls for columns that the table has got since."""
    import pyarrow as pa

    columns = {name: batch.column(before) for name, before in names.items()}
    columns[_KEY] = batch.column(ROW_ID if stable else ROW_ADDRESS)
    every = [columns.get(name, pa.nulls(batch.num_rows)) for name in schema.names]
    return pa.RecordBatch.from_arrays(every, schema.names)


# -- comparing by value ----------------------------------------------------------------------------


def _differ(fields: Sequence[StructField], left: str, right: str) -> Column:
    """Return whether rows of two aliased frames have another value in any of the fields; nulls are alike."""
    from pyspark.sql import functions as f

    differences = [
        ~_comparable(f.col(f"{left}.{quoted(field.name)}"), field.dataType).eqNullSafe(
            _comparable(f.col(f"{right}.{quoted(field.name)}"), field.dataType)
        )
        for field in fields
    ]
    return reduce(or_, differences, f.lit(False))


def _comparable(column: Column, type_: DataType) -> Column:
    """Return the column with maps as lists of their entries: Spark itself compares no maps."""
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
        return f.transform(column, lambda item: _comparable(item, element))
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
