"""A view by free SQL: Spark computes all of it, and it takes the place of what there was in one version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.jobs.job_table import Held
from lanceway.jobs.summaries import Summary
from lanceway.jobs.worker.catalogs import Places
from lanceway.lake.runs.jobs import Job
from lanceway.spark.types import arrow_schema
from lanceway.tables.schema.fields import quoted
from lanceway.tables.schema.views import View
from lanceway.writes.plan import require_fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A session of one's own over catalogs of these names; None where free SQL is not allowed.
Sessions = Callable[[Mapping[str, Mapping[str, str]]], "SparkSession | None"]


def run(places: Places, job: Job, held: Held, view: View, sessions: Sessions) -> Summary:
    """Raises PermissionDeniedError where this worker may not run SQL."""
    type_, settings = places.catalog(job)
    spark = sessions({job.catalog: {**settings, "type": type_}})
    if spark is None:
        raise PermissionDeniedError(
            "A view by free SQL may not be refreshed by this worker, since SQL can read whatever the worker can. "
            "Whoever runs the worker can allow it: --sql."
        )
    summary = Summary("refresh", held.name)
    # As a statement: what the session has of catalogs would be looked for in whichever session is active.
    spark.sql(f"SET CATALOG {quoted(job.catalog)}")
    frame = _frame(spark, str(view.sql), held)
    frame.write.format("lance").mode("overwrite").options(**held.place.target.to_options(), job=job.key).save()
    opened = held.open()
    summary.version, summary.rows, summary.changed = int(opened.version), int(opened.count_rows()), True
    summary.facts = {"refreshed": "anew"}
    return summary.ended()


def _frame(spark: SparkSession, sql: str, held: Held) -> DataFrame:
    """The rows, if they fit the view: an overwrite would change its columns otherwise."""
    from pyspark.errors import AnalysisException, ParseException

    schema = held.open().schema
    try:
        frame = spark.sql(sql)
    except (AnalysisException, ParseException) as error:
        raise InvalidInputError(
            f"The view's SQL is refused: {(str(error).strip().splitlines() or [sql])[0]}"
        ) from error
    if set(frame.columns) != set(schema.names):
        raise InvalidInputError(
            f"The view's SQL gives {', '.join(frame.columns)}, and the view has {', '.join(schema.names)}."
        )
    require_fit(held.place.target, arrow_schema(frame.schema.toNullable()), schema)
    return frame.select(*(quoted(name) for name in schema.names))
