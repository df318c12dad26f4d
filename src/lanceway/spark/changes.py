"""What became of a table's rows between two versions, as a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, InvalidTableStateError
from lanceway.spark import tables
from lanceway.spark.casting import to_spark
from lanceway.spark.changed_rows import DELETE, INSERT, UPDATE
from lanceway.spark.plainly import plainly
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, quoted, spark_schema
from lanceway.tables.failures import translated

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lanceway.spark.target import Target

CHANGE = "_change"
_KEY, _UPDATED = "_lanceway_key", "_lanceway_updated"
_LAST_UPDATED = "_row_last_updated_at_version"
# Operations after which rows cannot be told from their addresses, or are others at the same address.
_MOVES, _REPLACES = "Rewrite", "DataReplacement"


def read_changes(
    spark: SparkSession, target: tables.Named, from_version: int, to_version: int | None = None
) -> DataFrame:
    """The rows that were inserted, updated or deleted after `from_version`, up to `to_version` or the latest.

    The column `_change` says which; deleted rows are as they were, all others as they are at the end, and what
    happened to a row on the way there is not told. 0 is before the first version. Without stable row ids an update
    is a deletion and an insertion, and a table that was compacted on the way is refused.
    """
    from pyspark.sql import functions as f

    found = tables.target(target)
    new = found.open(version=to_version)
    last = int(new.version)
    if not 0 <= from_version <= last:
        raise InvalidInputError(f"read_changes: from_version is {from_version}, but must lie between 0 and {last}.")
    old = found.open(version=from_version) if from_version else None
    stable = bool(new.has_stable_row_ids)
    _check(found, new, from_version, stable=stable)
    schema = spark_schema(new.schema)
    held, holds = _fragments(old), _fragments(new)
    before = _rows(spark, found, from_version, _beside(held, holds), schema, stable=stable).alias("before")
    after = _rows(spark, found, last, _beside(holds, held), schema, stable=stable).alias("after")
    change = (
        f.when(f.col(f"before.{_KEY}").isNull(), f.lit(INSERT))
        .when(f.col(f"after.{_KEY}").isNull(), f.lit(DELETE))
        .when(f.col(f"after.{_UPDATED}") > from_version, f.lit(UPDATE))
    )
    joined = before.join(after, f.col(f"before.{_KEY}") == f.col(f"after.{_KEY}"), "full").withColumn(CHANGE, change)
    columns = [
        f.when(f.col(CHANGE) == DELETE, f.col(f"before.{name}")).otherwise(f.col(f"after.{name}")).alias(plain)
        for plain, name in ((name, quoted(name)) for name in schema.names)
    ]
    return joined.where(f.col(CHANGE).isNotNull()).select(*columns, f.col(CHANGE))


def _check(target: Target, new: lance.LanceDataset, after: int, *, stable: bool) -> None:
    refused = {_REPLACES} if stable else {_REPLACES, _MOVES}
    for version in range(after + 1, int(new.version) + 1):
        with translated(target.table(), f"Reading the transaction of version {version}"):
            transaction = new.read_transaction(version)
        kind = type(None if transaction is None else transaction.operation).__name__
        if kind in refused:
            raise InvalidTableStateError(
                f"The changes of {target.name} cannot be told: version {version} is a {kind}, after which rows lie "
                "elsewhere. Only a table made with stable row ids tells its rows from one another after that."
            )


def _fragments(dataset: lance.LanceDataset | None) -> dict[int, str]:
    """Each fragment with what tells whether rows of it were deleted since."""
    if dataset is None:
        return {}
    found = (fragment.metadata for fragment in dataset.get_fragments())
    return {one.id: json.dumps(one.to_json()["deletion_file"], sort_keys=True) for one in found}


def _beside(these: dict[int, str], those: dict[int, str]) -> list[int]:
    """The fragments that only these have, or have in another state."""
    return sorted(id_ for id_, state in these.items() if those.get(id_) != state)


def _rows(
    spark: SparkSession, target: Target, version: int, fragments: list[int], schema: StructType, *, stable: bool
) -> DataFrame:
    from pyspark.sql.types import LongType, StructType

    told = StructType(list(schema)).add(_KEY, LongType()).add(_UPDATED, LongType()).toNullable()
    shares = spark.createDataFrame([(id_,) for id_ in fragments], "fragment bigint")
    shares = shares.repartition(max(1, min(len(fragments), 64)))
    return shares.mapInArrow(partial(_read, target, version, told, stable), told)


def _read(
    target: Target, version: int, told: StructType, stable: bool, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    ids = [id_ for batch in batches for id_ in batch.column("fragment").to_pylist()]
    if not ids:
        return
    with plainly():
        dataset = target.open(version=version)
        names = [name for name in told.names if name in dataset.schema.names]
        with translated(target.table(), "Reading changes"):
            scanner = dataset.scanner(
                columns=[*names, ROW_ID, _LAST_UPDATED] if stable else names,
                fragments=[fragment for fragment in map(dataset.get_fragment, ids) if fragment is not None],
                with_row_address=not stable,
                blob_handling="all_binary",
            )
            for batch in scanner.to_batches():
                yield to_spark(_told(batch, told, stable=stable), arrow_schema(told))


def _told(batch: pa.RecordBatch, told: StructType, *, stable: bool) -> pa.RecordBatch:
    """The batch with each row's key and last update, and nulls for columns that the table has got since."""
    import pyarrow as pa

    found = {name: batch.column(name) for name in batch.schema.names}
    found[_KEY] = found[ROW_ID if stable else ROW_ADDRESS]
    found[_UPDATED] = found[_LAST_UPDATED] if stable else pa.nulls(batch.num_rows)
    columns = [found.get(name, pa.nulls(batch.num_rows)) for name in told.names]
    return pa.RecordBatch.from_arrays(columns, told.names)
