"""Refresh a materialized view: add new rows of its source, merge changed ones by their keys, or replace all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract.capabilities import KeepsDefinitions
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    TableVersionNotFoundError,
)
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext
from lanceway.jobs.job_table import JobTable, fragments
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.jobs.table.functions import require_allowed
from lanceway.jobs.worker import write
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.lease import JobLease
from lanceway.jobs.worker.plain_query import plain_query
from lanceway.jobs.worker.write import (
    Counted,
    Refresh,
    RowLimit,
    Shown,
    ViewShare,
    ViewShareWriter,
    leaves_rows,
    shares_of,
    states,
    transaction,
)
from lanceway.lake.runs.jobs import JobRow
from lanceway.spark.read.filters import literal
from lanceway.spark.types import arrow_schema
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields
from lanceway.tables.schema.fields import quoted
from lanceway.tables.schema.views import UDTF, View, scan
from lanceway.writes import stage
from lanceway.writes.commit import retry_on_conflict
from lanceway.writes.plan import require_fit

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql import DataFrame, SparkSession

# How a refresh came about.
NOTHING, ADDED, MERGED, REPLACED = "nothing new", "added", "merged", "replaced"
# More keys than these are not worth a condition that names each.
_MOST_GONE = 10_000


def is_still_there(source: JobTable, opened: lance.LanceDataset, known: Shown) -> bool:
    """Return whether a version of the source is the one that the view shows: the table may have been replaced."""
    if known.version > int(opened.version):
        return False
    try:
        made_by = transaction(source, opened, known.version)
    except TableVersionNotFoundError:  # cleaned up
        return False
    return made_by is not None and str(made_by.uuid) == known.transaction


def added(source: JobTable, opened: lance.LanceDataset, after: int) -> list[tuple[int, int]] | None:
    """Return the versions after `after` that added rows, each with its fragments' count; None if rows were changed."""
    additions: list[tuple[int, int]] = []
    for version in range(after + 1, int(opened.version) + 1):
        try:
            operation: Any = getattr(transaction(source, opened, version), "operation", None)
            if type(operation).__name__ == "Append":
                additions.append((version, len(list(operation.fragments))))
            elif not leaves_rows(source, version, operation):
                return None
        except TableVersionNotFoundError:  # cleaned up
            return None
    return additions


def shares_added(source: JobTable, additions: Sequence[tuple[int, int]]) -> list[ViewShare]:
    """Return the shares of versions that only added rows."""
    added_shares: list[ViewShare] = []
    for version, count in additions:
        # The ids of fragments grow, so what was added last comes last.
        fragments = job_table.fragments(source.open(version))
        added_shares += shares_of(version, fragments[len(fragments) - count :]) if count else []
    return added_shares


class KeyedChanges:
    """What has changed between two versions of the source of a view with keys."""

    def __init__(self, source: JobTable, view: View, old: lance.LanceDataset, new: lance.LanceDataset) -> None:
        self._source, self._view, self._new = source, view, new
        before, after = states(old), states(new)
        self._gone = [part for part in old.get_fragments() if before[part.fragment_id] != after.get(part.fragment_id)]
        self._come = [part for part in new.get_fragments() if after[part.fragment_id] != before.get(part.fragment_id)]
        self._old = old

    def removed(self) -> str | None:
        """Return a condition for the view's rows to delete, empty without any; None where all should be replaced."""
        before = self._keys(self._old, self._gone, where=False)
        after = self._keys(self._new, self._come, where=True)
        if any(column.null_count for table in (before, after) for column in table.columns):
            return None
        gone = before.join(after, keys=list(self._view.key), join_type="left anti") if after.num_rows else before
        if gone.num_rows > _MOST_GONE:
            return None
        return _condition(gone)

    def rows(self) -> Iterable[pa.RecordBatch]:
        """Yield the rows that came or may have changed, as the view takes them."""
        if not self._come:
            return
        with translated(self._source.handle(), "Reading what has changed"):
            yield from scan(self._view, self._new, list(self._come)).to_batches()

    def _keys(self, dataset: lance.LanceDataset, fragments: Sequence[Any], *, where: bool) -> pa.Table:
        reads = self._view.reads or {name: fields.quoted(name) for name in dataset.schema.names}
        columns = {name: reads[name] for name in self._view.key}
        with translated(self._source.handle(), "Reading keys"):
            if not fragments:
                return dataset.scanner(columns=columns, limit=0).to_table()
            condition = self._view.where if where else None
            return dataset.scanner(columns=columns, filter=condition, fragments=list(fragments)).to_table()


def _condition(keys: pa.Table) -> str | None:
    texts = [{name: _literal(value, keys.field(name).type) for name, value in row.items()} for row in keys.to_pylist()]
    if any(text is None for row in texts for text in row.values()):
        return None
    if len(keys.column_names) == 1:
        name = keys.column_names[0]
        listed = ", ".join(str(row[name]) for row in texts)
        return f"{fields.quoted(name)} IN ({listed})" if listed else ""
    return " OR ".join(
        "(" + " AND ".join(f"{fields.quoted(name)} = {text}" for name, text in row.items()) + ")" for row in texts
    )


def _literal(value: object, type_: pa.DataType) -> str | None:
    # The rows of a view with keys of another type are all replaced.
    return literal(value, type_) if isinstance(value, int | str) else None


# Opens a new session over catalogs by their names; None where free SQL is not allowed.
Sessions = Callable[[Mapping[str, Mapping[str, str]]], "SparkSession | None"]


def run_sql_view(places: Places, job: JobRow, table: JobTable, view: View, sessions: Sessions) -> JobSummary:
    """Refresh a view by free SQL. Raises PermissionDeniedError where this worker may not run SQL."""
    from pyspark.errors import PySparkException

    type_, settings = places.catalog(job)
    spark = sessions({job.catalog: {**settings, "type": type_}})
    if spark is None:
        raise PermissionDeniedError(
            "A view by free SQL may not be refreshed by this worker, since all who can make a view would then let "
            "Spark compute on it. Its operator can allow it: --sql."
        )
    summary = JobSummary("refresh", table.name)
    # As a statement: what the session has of catalogs would be looked for in whichever session is active.
    spark.sql(f"SET CATALOG {quoted(job.catalog)}")
    frame = _fitting(plain_query(spark, str(view.sql), job.catalog), table)
    try:
        frame.write.format("lance").mode("overwrite").options(**table.place.ref.to_options(), job=job.key).save()
    except PySparkException as error:
        raise InternalError(f"Spark could not compute the view: {executor.reason_of(error)}.") from error
    opened = table.open()
    summary.version, summary.rows, summary.changed = int(opened.version), int(opened.count_rows()), True
    summary.facts = {"refreshed": REPLACED}
    return summary.finish()


def _fitting(frame: DataFrame, table: JobTable) -> DataFrame:
    """Return the rows with the view's columns in order. Raises InvalidInputError where they do not fit the view."""
    schema = table.open().schema
    if set(frame.columns) != set(schema.names):
        raise InvalidInputError(
            f"The view's SQL gives {', '.join(frame.columns)}, and the view has {', '.join(schema.names)}."
        )
    require_fit(table.place.ref, arrow_schema(frame.schema.toNullable()), schema)
    return frame.select(*(quoted(name) for name in schema.names))


def run(
    places: Places,
    job: JobRow,
    lease: JobLease,
    *,
    functions: Sequence[str],
    sql: Sessions,
    spark: SparkSession | None,
) -> JobSummary:
    """Refresh the view of a job. Raises what its source raises, and InvalidTableStateError where it is not a view."""
    table = JobTable.of(places.table(job))
    catalog = table.place.ref.catalog()
    kept = catalog.view_definition(table.place.ref.id) if isinstance(catalog, KeepsDefinitions) else None
    view = kept or View.of(table.handle(), table.open().schema)
    places.require_rights(job, view)
    if view.sql is not None:
        return run_sql_view(places, job, table, view, sql)
    if view.function is not None:
        require_allowed(view.function, functions)
    source = JobTable.of(places.beside(job, view.source), reading=True)
    context = JobContext(
        threads=job.request.get("concurrency") or PART_THREADS,
        spark=spark,
        progress=lease.watch,
        should_stop=lease.should_stop,
    )
    return retry_on_conflict(_ViewRefresh(table, source, view, job.request, context).attempt)


@dataclass
class _ViewRefresh:
    table: JobTable
    source: JobTable
    view: View
    request: Mapping[str, Any]
    context: JobContext

    def attempt(self) -> JobSummary:
        view, source = self.table.open(), self.source.open(self.request.get("src_version"))
        summary = JobSummary("refresh", self.table.name, version=int(view.version))
        shown, latest = write.shown(self.table, view), Shown.of(self.source, source)
        summary.facts = {"source": self.source.name, "source_version": latest.version, "refreshed": NOTHING}
        if shown == latest:
            return summary.finish()
        refresh = Refresh(self.table, view, latest, self.request.get("max_rows_per_fragment"))
        if shown is not None and self.view.kind != UDTF and is_still_there(self.source, source, shown):
            additions = added(self.source, source, shown.version)
            if additions is not None:
                return self._write(refresh, summary, shares_added(self.source, additions), replacing=False)
            if self.view.key:
                merged = self._merge(refresh, summary, self.source.open(shown.version), source)
                if merged is not None:
                    return merged
        every = shares_of(latest.version, fragments(source), together=self.view.kind == UDTF)
        return self._write(refresh, summary, every, replacing=True)

    # -- rows that are added, or take the place of all -------------------------------------------

    def _write(
        self, refresh: Refresh, summary: JobSummary, parts: Sequence[ViewShare], *, replacing: bool
    ) -> JobSummary:
        fragments_written: list[FragmentMetadata] = []
        rows = 0
        most, context = self.request.get("output_limit"), self.context
        limit = None if most is None else RowLimit(most - (0 if replacing else int(refresh.opened.count_rows())))
        if limit is not None:  # what one share takes of it is not left for the next
            context = replace(context, spark=None, threads=1)
        plan = refresh.plan(replacing=replacing)
        calls = context.threads if self.view.partition else 1
        writer = ViewShareWriter(self.source, self.view, plan, self.request.get("source_task_size"), limit, calls)
        notes: dict[ViewShare, Any] = {}
        summary.parts = len(parts)
        try:
            for share, note in executor.run_parts(writer, parts, context):
                notes[share] = note
                fragments_written += stage.from_json(note["fragments"])
                rows += note["rows"]
                context.progress(JobProgress(len(notes), len(parts), rows))
            if context.should_stop():
                refresh.discard(fragments_written)
                return summary.finish(stopped=True)
        except LanceNamespaceError:
            refresh.discard(fragments_written)
            raise
        # In the order of the source, whichever was ready first.
        fragments_written = [fragment for share in parts for fragment in stage.from_json(notes[share]["fragments"])]
        summary.version = refresh.replace(fragments_written) if replacing else refresh.add(fragments_written)
        summary.done = len(notes)
        return self._ended(summary, REPLACED if replacing else ADDED, rows)

    # -- rows that have changed ------------------------------------------------------------------

    def _merge(
        self, refresh: Refresh, summary: JobSummary, old: lance.LanceDataset, new: lance.LanceDataset
    ) -> JobSummary | None:
        """Merge changed rows. Return None where there are too many, or keys cannot be compared."""
        import pyarrow as pa

        keyed = KeyedChanges(self.source, self.view, old, new)
        gone = keyed.removed()
        if gone is None:
            return None
        schema = refresh.opened.schema
        counted = Counted(keyed.rows())
        rows = pa.RecordBatchReader.from_batches(schema, write.fitted(counted, schema))
        merge = refresh.opened.merge_insert(list(self.view.key))
        merge = merge.when_matched_update_all().when_not_matched_insert_all()
        if gone:
            merge = merge.when_not_matched_by_source_delete(gone)
        with translated(self.table.handle(), "Merging into the view"):
            transaction, counts = merge.execute_uncommitted(rows)
        operation: Any = transaction.operation
        if self.context.should_stop():
            refresh.discard(operation.new_fragments)
            return summary.finish(stopped=True)
        summary.version = refresh.change(operation)
        summary.facts["deleted"] = counts["num_deleted_rows"]
        return self._ended(summary, MERGED, counted.rows)

    def _ended(self, summary: JobSummary, how: str, rows: int) -> JobSummary:
        summary.facts["refreshed"], summary.rows, summary.changed = how, rows, True
        return summary.finish()
