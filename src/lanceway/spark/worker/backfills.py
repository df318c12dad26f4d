"""A computed or virtual column, filled where it has no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.spark.jobs import parts
from lanceway.spark.jobs.backfilling import BATCH_ROWS, backfill
from lanceway.spark.jobs.expressions import Expression, Picked
from lanceway.spark.jobs.functions import Function
from lanceway.spark.worker import allowed
from lanceway.tables import computed, fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lanceway.spark.jobs.summaries import Summary
    from lanceway.spark.target import Target
    from lanceway.spark.worker.holding import Holding


def run(
    target: Target,
    request: Mapping[str, Any],
    holding: Holding,
    *,
    functions: Sequence[str],
    state: str | None,
    spark: SparkSession | None,
) -> Summary:
    """Compute the column as its field says, in the rows in which it is null or for which `where` holds."""
    column, branch = request["column"], request.get("branch")
    function, inputs = _function(target, column, branch, functions)
    return backfill(
        target,
        column,
        function,
        inputs=inputs,
        update=True,
        where=request.get("where"),
        branch=branch,
        batch_rows=request.get("checkpoint_size") or BATCH_ROWS,
        threads=request.get("concurrency") or parts.THREADS,
        state=state,
        spark=spark,
        watch=holding.watch,
        stop=holding.stop,
    )


def _function(
    target: Target, column: str, branch: str | None, functions: Sequence[str]
) -> tuple[Function, tuple[str, ...] | None]:
    table, schema = target.table(), target.open(branch=branch).schema
    if column not in schema.names:
        fields.require_top(table, schema, column, "backfill")
    found = computed.require_definition(table, schema, column)
    if isinstance(found, str):
        return Expression(found), None
    return Picked(allowed.check(found.function, functions), field=found.field), found.inputs
