"""A table written in two moves: tasks write its files, and then the driver makes a version of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lanceway.errors import LanceNamespaceError
from lanceway.pipelines import keys
from lanceway.pipelines.atomic_outputs import Gathered, require_managed
from lanceway.spark.errors import plainly
from lanceway.spark.types import rows_schema
from lanceway.writes import commit, stage
from lanceway.writes import plan as planning
from lanceway.writes.plan import Plan
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lanceway.writes.table_ref import Target


def write(
    spark: SparkSession,
    frame: DataFrame,
    given: Target,
    options: Mapping[str, str],
    *,
    unique: Sequence[str],
    overwrite: bool,
    job: str,
) -> None:
    """Write rows, in one version or none. That of a table which is gathered waits for others.

    Raises InvalidInputError where two rows have the same values in the columns `unique`, and for a table that is
    gathered and keeps its versions in storage.
    """
    plan = planning.plan({**given.to_options(), **options}, rows_schema(frame.schema), overwrite=overwrite)
    mark, tried, done = Mark(job=job), False, False
    try:
        if isinstance(given, Gathered):
            require_managed(given, managed=plan.destination.managed)
        fragments = [row.fragment for row in frame.mapInArrow(partial(_stage, plan), "fragment string").collect()]
        if unique:
            keys.require_unique(spark, plan, fragments, unique)
        tried = True
        through = replace(plan, destination=replace(plan.destination, target=given))
        commit.publish(through, fragments, mark)
        done = True
    finally:
        if not done:
            with suppress(LanceNamespaceError):  # what went wrong first is what is told
                commit.give_up(plan, (), mark if tried else None)


def _stage(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with plainly():
        fragments = stage.stage(plan, batches)
    yield pa.RecordBatch.from_arrays([pa.array(fragments, pa.string())], ["fragment"])
