"""Operations that take long: each is checked, recorded as a job, and run later by a worker.

A job that already waits to do the same is returned instead of a second one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import lance_namespace as ln

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.jobs import AUTO_REFRESH, BACKFILL, REFRESH, JobMethods, JobQueue
from lanceway.catalogs.contract.requests import accept, table_id
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.lake.runs.job_states import QUEUED, RUNNING
from lanceway.tables import dataset, expressions
from lanceway.tables.dataset import VIEW, is_main
from lanceway.tables.schema import columns, computed, fields, reserved, views
from lanceway.tables.schema.computed import Definition
from lanceway.tables.schema.views import CHUNKER, View

if TYPE_CHECKING:
    import pyarrow as pa

_NO_ENGINE = (
    'It is work for the background, and this catalog has no database to record it in. Set jobs to "home", or to a '
    "database, in its section of lanceway.toml; or mount it in a server (lanceway up), use a lake, or run the work "
    "here and now with lanceway.jobs."
)
_COUNTS = ("concurrency", "max_rows_per_fragment", "output_limit", "source_task_size")
# The key in the context of a response that has no field for the jobs recorded with it.
JOBS = "lanceway.jobs"


class BackgroundOperations(JobMethods, CatalogHooks):
    """Backfills and materialized views, where the catalog has a queue for jobs."""

    @abstractmethod
    def _create_stream(self, request: ln.CreateTableRequest, data: pa.RecordBatchReader) -> ln.CreateTableResponse:
        """Create a table from data whose metadata may hold keys that are reserved for the catalog itself."""

    # -- definitions: in the table's metadata, unless the catalog has rows for them ----------------

    def view_definition(self, id_: Sequence[str]) -> View | None:
        """Return how a view's rows come about, None where the table's own metadata says it.

        Raises InvalidTableStateError for a table that is not a view.
        """
        return None

    def column_definitions(self, id_: Sequence[str], branch: str | None) -> Mapping[str, Definition] | None:
        """Return how the values of columns come about, by their names; None where the table's own metadata says it."""
        return None

    def _record_view(self, table: Identifier, view: View) -> None:
        """Keep the definition of a view that was just made."""

    def _record_columns(self, table: Identifier, branch: str | None, new: Mapping[str, Definition]) -> None:
        """Keep the definitions of columns that were just added."""

    # -- columns ---------------------------------------------------------------------------------

    def alter_table_add_columns(
        self, request: ln.AlterTableAddColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAddColumnsResponse:
        request = accept(ln.AlterTableAddColumnsRequest, request)
        table, queue = self._table(request.id, "alter_table_add_columns"), self._desk()
        response = columns.add(table, request, backfills=queue is not None)
        self._define_columns(request)
        at_once = [
            output.column
            for entry in request.new_columns
            if entry.virtual_column is not None and entry.virtual_column.auto_backfill
            for output in entry.virtual_column.outputs
        ]
        if queue is not None and at_once:
            branch = None if is_main(request.branch) else request.branch
            backfills = [{"column": column, "branch": branch} for column in at_once]
            response.context = {JOBS: ",".join(queue.record(BACKFILL, request.id or (), job).id for job in backfills)}
        return response

    def _define_columns(self, request: ln.AlterTableAddColumnsRequest) -> None:
        """Keep the definitions of the columns of a request; without them, the columns go again."""
        later = [entry for entry in request.new_columns if columns.is_filled_later(entry)]
        new = {name: column for entry in later for name, column in computed.requested(entry).items()}
        if not new:
            return
        try:
            self._record_columns(table_id(request.id, "alter_table_add_columns"), request.branch, new)
        except LanceNamespaceError:
            names = [fields.format_([name]) for name in new]
            with suppress(LanceNamespaceError):
                self.alter_table_drop_columns(
                    ln.AlterTableDropColumnsRequest(id=request.id, columns=names, branch=request.branch)
                )
            raise

    def alter_table_backfill_columns(
        self, request: ln.AlterTableBackfillColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableBackfillColumnsResponse:
        request = accept(ln.AlterTableBackfillColumnsRequest, request)
        queue = self._require_queue("alter_table_backfill_columns")
        table = table_id(request.id, "alter_table_backfill_columns")
        known = self.column_definitions(table, request.branch)
        options = computed.check_backfill(self._table(request.id, "alter_table_backfill_columns"), request, known)
        return ln.AlterTableBackfillColumnsResponse(job_id=queue.record(BACKFILL, table, options).id)

    # -- materialized views ----------------------------------------------------------------------

    def create_materialized_view(
        self, request: ln.CreateMaterializedViewRequest | Mapping[str, Any]
    ) -> ln.CreateMaterializedViewResponse:
        request = accept(ln.CreateMaterializedViewRequest, request)
        queue = self._require_queue("create_materialized_view")
        table = table_id(request.id, "create_materialized_view")
        view, schema = views.read_view_request(request), reserved.cleaned(views.output_schema(request))
        if view.sql is None:
            views.check(view, schema, self._table(list(view.source), "create_materialized_view"))
        empty = _empty(schema.with_metadata({**(schema.metadata or {}), VIEW: view.written()}))
        created = self._create_stream(ln.CreateTableRequest(id=list(table), mode="create"), empty)
        try:
            self._record_view(table, view)
            job = _first_jobs(queue, table, view, filled=request.with_no_data is False)
        except LanceNamespaceError:
            self.drop_table(ln.DropTableRequest(id=list(table)))
            raise
        return ln.CreateMaterializedViewResponse(version=created.version or 1, job_id=job)

    def refresh_materialized_view(
        self, request: ln.RefreshMaterializedViewRequest | Mapping[str, Any]
    ) -> ln.RefreshMaterializedViewResponse:
        request = accept(ln.RefreshMaterializedViewRequest, request)
        queue = self._require_queue("refresh_materialized_view")
        table = table_id(request.id, "refresh_materialized_view")
        handle = self._table(request.id, "refresh_materialized_view")
        view = self.view_definition(table) or View.of(handle, dataset.open_at(handle).schema)
        options = _checked_refresh(view, request)
        if view.sql is None:
            source = self._table(list(view.source), "refresh_materialized_view")
            dataset.open_at(source, version=request.src_version)
        return ln.RefreshMaterializedViewResponse(job_id=queue.record(REFRESH, table, options).id)

    def _require_queue(self, operation: str) -> JobQueue:
        queue = self._desk()
        if queue is None:
            self._refuse(operation, _NO_ENGINE)
        return queue


def _first_jobs(queue: JobQueue, table: Sequence[str], view: View, *, filled: bool) -> str | None:
    job = queue.record(REFRESH, table, {}) if filled else None
    if view.auto_refresh and not _has_auto_refresh(queue, table):
        queue.record(AUTO_REFRESH, table, {})
    return None if job is None else job.id


def _has_auto_refresh(queue: JobQueue, table: Sequence[str]) -> bool:
    """Return whether a dropped view of the same name has left its job, which serves the new one."""
    return any(
        job.kind == AUTO_REFRESH for state in (QUEUED, RUNNING) for job in queue.page(state=state, table=table)[0]
    )


def _checked_refresh(view: View, request: ln.RefreshMaterializedViewRequest) -> dict[str, Any]:
    operation = "refresh_materialized_view"
    if request.output_limit is not None and view.kind != CHUNKER:
        raise InvalidInputError(f"{operation}: output_limit is for views of the kind chunker, and this is {view.kind}.")
    if request.src_version is not None and view.sql is not None:
        raise InvalidInputError(f"{operation}: src_version is for views with one source, and this one has SQL.")
    expressions.check_numbers(operation, request, _COUNTS, expressions.MOST_ROWS)
    expressions.check_numbers(operation, request, ("concurrency",), expressions.MOST_THREADS)
    counts = {name: getattr(request, name) for name in _COUNTS}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InvalidInputError(f"{operation}: {name} is {value}, but must be at least 1.")
    return {"src_version": request.src_version, **counts}


def _empty(schema: pa.Schema) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, [])
