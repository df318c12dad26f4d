"""The operations that take long: each is checked, recorded as a job, and carried out by a worker.

A job that waits already to do the same is answered instead of a second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableBackfillColumnsRequest,
    AlterTableBackfillColumnsResponse,
    CreateMaterializedViewRequest,
    CreateMaterializedViewResponse,
    CreateTableRequest,
    DropTableRequest,
    RefreshMaterializedViewRequest,
    RefreshMaterializedViewResponse,
)

from lanceway.catalogs.contract.job_queue import DeskMethods, JobQueue
from lanceway.catalogs.contract.jobs import AUTO_REFRESH, BACKFILL, REFRESH
from lanceway.catalogs.contract.requests import accept, table_id
from lanceway.catalogs.contract.tables import TableOperations
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.lake.runs.job_states import QUEUED, RUNNING
from lanceway.tables import dataset
from lanceway.tables.dataset import VIEW, is_main
from lanceway.tables.schema import columns, computed, views
from lanceway.tables.schema.views import CHUNKER, View

if TYPE_CHECKING:
    import pyarrow as pa

_NO_ENGINE = (
    'It is work for the background, and this catalog has no database to record it in. Set jobs to "home", or to a '
    "database, in its section of lanceway.toml; or mount it in a server (lanceway up), use a lake, or run the work "
    "here and now with lanceway.jobs."
)
_COUNTS = ("concurrency", "max_rows_per_fragment", "output_limit", "source_task_size")
# What an answer without a field for it says in its context: the jobs that were recorded at once.
JOBS = "lanceway.jobs"


class BackgroundOperations(DeskMethods, TableOperations):
    """Backfills and materialized views, where the catalog has a desk for jobs."""

    # -- columns ---------------------------------------------------------------------------------

    def alter_table_add_columns(self, request: AlterTableAddColumnsRequest) -> AlterTableAddColumnsResponse:
        request = accept(AlterTableAddColumnsRequest, request)
        table, desk = self._table(request.id, "alter_table_add_columns"), self._desk()
        answer = columns.add(table, request, backfills=desk is not None)
        at_once = [
            output.column
            for entry in request.new_columns
            if entry.virtual_column is not None and entry.virtual_column.auto_backfill
            for output in entry.virtual_column.outputs
        ]
        if desk is not None and at_once:
            branch = None if is_main(request.branch) else request.branch
            wanted = [{"column": column, "branch": branch} for column in at_once]
            made = [desk.record(BACKFILL, request.id or (), one).id for one in wanted]
            answer.context = {JOBS: ",".join(made)}
        return answer

    def alter_table_backfill_columns(
        self, request: AlterTableBackfillColumnsRequest
    ) -> AlterTableBackfillColumnsResponse:
        request = accept(AlterTableBackfillColumnsRequest, request)
        desk = self._require_desk("alter_table_backfill_columns")
        table = table_id(request.id, "alter_table_backfill_columns")
        wanted = computed.check_backfill(self._table(request.id, "alter_table_backfill_columns"), request)
        return AlterTableBackfillColumnsResponse(job_id=desk.record(BACKFILL, table, wanted).id)

    # -- materialized views ----------------------------------------------------------------------

    def create_materialized_view(self, request: CreateMaterializedViewRequest) -> CreateMaterializedViewResponse:
        request = accept(CreateMaterializedViewRequest, request)
        desk = self._require_desk("create_materialized_view")
        table = table_id(request.id, "create_materialized_view")
        view, schema = views.read_view_request(request), views.output_schema(request)
        if view.sql is None:
            views.check(view, schema, self._table(list(view.source), "create_materialized_view"))
        empty = _empty(schema.with_metadata({**(schema.metadata or {}), VIEW: view.written()}))
        made = self.create_table_stream(CreateTableRequest(id=list(table), mode="create"), empty)
        try:
            job = _first_jobs(desk, table, view, filled=request.with_no_data is False)
        except LanceNamespaceError:
            self.drop_table(DropTableRequest(id=list(table)))
            raise
        return CreateMaterializedViewResponse(version=made.version or 1, job_id=job)

    def refresh_materialized_view(self, request: RefreshMaterializedViewRequest) -> RefreshMaterializedViewResponse:
        request = accept(RefreshMaterializedViewRequest, request)
        desk = self._require_desk("refresh_materialized_view")
        table = table_id(request.id, "refresh_materialized_view")
        handle = self._table(request.id, "refresh_materialized_view")
        view = View.of(handle, dataset.open_at(handle).schema)
        wanted = _checked_refresh(view, request)
        if view.sql is None:
            source = self._table(list(view.source), "refresh_materialized_view")
            dataset.open_at(source, version=request.src_version)
        return RefreshMaterializedViewResponse(job_id=desk.record(REFRESH, table, wanted).id)

    def _require_desk(self, operation: str) -> JobQueue:
        found = self._desk()
        if found is None:
            self._refuse(operation, _NO_ENGINE)
        return found


def _first_jobs(desk: JobQueue, table: Sequence[str], view: View, *, filled: bool) -> str | None:
    job = desk.record(REFRESH, table, {}) if filled else None
    if view.auto_refresh and not _is_kept_fresh(desk, table):
        desk.record(AUTO_REFRESH, table, {})
    return None if job is None else job.id


def _is_kept_fresh(desk: JobQueue, table: Sequence[str]) -> bool:
    """Whether a view that had this name before has left its job, which will do for the new one."""
    return any(
        job.kind == AUTO_REFRESH for state in (QUEUED, RUNNING) for job in desk.page(state=state, table=table)[0]
    )


def _checked_refresh(view: View, request: RefreshMaterializedViewRequest) -> dict[str, Any]:
    operation = "refresh_materialized_view"
    if request.output_limit is not None and view.kind != CHUNKER:
        raise InvalidInputError(f"{operation}: output_limit is for views of the kind chunker, and this is {view.kind}.")
    if request.src_version is not None and view.sql is not None:
        raise InvalidInputError(f"{operation}: src_version is for views with one source, and this one has SQL.")
    counts = {name: getattr(request, name) for name in _COUNTS}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InvalidInputError(f"{operation}: {name} is {value}, but must be at least 1.")
    return {"src_version": request.src_version, **counts}


def _empty(schema: pa.Schema) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, [])
