"""Fill a computed or virtual column where it has no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.jobs.context import PART_THREADS
from lanceway.jobs.table.backfill import BATCH_ROWS, backfill
from lanceway.jobs.table.functions import BatchFunction, Expression, Picked, require_allowed
from lanceway.tables.schema import computed, fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lanceway.jobs.report import JobSummary
    from lanceway.jobs.worker.lease import JobLease
    from lanceway.writes.table_ref import TableRef


def run(
    target: TableRef,
    request: Mapping[str, Any],
    lease: JobLease,
    *,
    functions: Sequence[str],
    state: str | None,
    spark: SparkSession | None,
) -> JobSummary:
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
        threads=request.get("concurrency") or PART_THREADS,
        state=state,
        spark=spark,
        watch=lease.watch,
        stop=lease.should_stop,
    )


def _function(
    target: TableRef, column: str, branch: str | None, functions: Sequence[str]
) -> tuple[BatchFunction, tuple[str, ...] | None]:
    table, schema = target.table(), target.open(branch=branch).schema
    if column not in schema.names:
        fields.require_top(table, schema, column, "backfill")
    definition = computed.require_definition(table, schema, column)
    if isinstance(definition, str):
        return Expression(definition), None
    return Picked(require_allowed(definition.function, functions), field=definition.field), definition.inputs
