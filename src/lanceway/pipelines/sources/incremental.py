"""The rows of a table that came after one of its versions, as a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from lanceway.errors import InvalidTableStateError, TableVersionNotFoundError
from lanceway.spark.errors import plainly
from lanceway.spark.types import arrow_schema, spark_schema
from lanceway.spark.write.changed_rows import DELETE
from lanceway.spark.write.changes import CHANGE, read_changes
from lanceway.tables.errors import translated
from lanceway.writes import columns as carried
from lanceway.writes.additions import Additions
from lanceway.writes.casting import to_spark

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lanceway.writes.table_ref import Target


def rows(spark: SparkSession, target: Target, after: int, version: int) -> DataFrame:
    """Rows that were added; where rows were changed meanwhile, these too, as they are at the end.

    Raises InvalidTableStateError where that cannot be told, and TableVersionNotFoundError.
    """
    if version < after:
        raise InvalidTableStateError(f"{target.name} has only {version} versions: it was made anew.")
    added = _only_added(target, after, version)
    if added is not None:
        return _fragments(spark, target, version, added)
    changes = read_changes(spark, target, after, version)
    return changes.where(changes[CHANGE] != DELETE).drop(CHANGE)


def _only_added(target: Target, after: int, version: int) -> list[tuple[int, int]] | None:
    """The fragments that were added, with the versions that did it; None where rows may have been changed as well."""
    try:
        added = [(one.version, one.fragment) for one in Additions(target).between(after + 1, version)]
    except InvalidTableStateError:
        return None
    # A column that was dropped, and added by another version, is new to each version by itself.
    return None if carried.made_anew(_first(target, after), target.open(version=version)) else added


def _first(target: Target, after: int) -> lance.LanceDataset:
    """The version from which on rows are new; the next one where that was cleaned up, which nobody needs else."""
    try:
        return target.open(version=after)
    except TableVersionNotFoundError:
        return target.open(version=after + 1)


def _fragments(spark: SparkSession, target: Target, version: int, added: list[tuple[int, int]]) -> DataFrame:
    """The rows of fragments, each as the version had it that added it."""
    schema = spark_schema(target.open(version=version).schema)
    shares = spark.createDataFrame([(json.dumps(one),) for one in added], "fragment string")
    shares = shares.repartition(max(1, min(len(added), 64)))
    return shares.mapInArrow(partial(_read, target, schema), schema)


def _read(target: Target, schema: StructType, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    wanted = arrow_schema(schema)
    with plainly():
        for version, fragment in (json.loads(one) for batch in batches for one in batch.column(0).to_pylist()):
            dataset = target.open(version=version)
            found = dataset.get_fragment(fragment)
            assert found is not None, "a version keeps its fragments"
            names = [name for name in schema.names if name in dataset.schema.names]
            with translated(target.table(), "Reading what was added"):
                for batch in found.scanner(columns=names, blob_handling="all_binary").to_batches():
                    # A column that the table has got since is null.
                    columns = [
                        batch.column(name) if name in names else pa.nulls(batch.num_rows) for name in schema.names
                    ]
                    yield to_spark(pa.RecordBatch.from_arrays(columns, schema.names), wanted)
