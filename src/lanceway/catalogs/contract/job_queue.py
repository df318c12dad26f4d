"""Where a catalog's background jobs are recorded and asked for: in the database of a lake."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract import jobs as own
from lanceway.catalogs.contract.jobs import Job, JobNotFoundError, checked_state
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start_id

if TYPE_CHECKING:
    from lanceway.lake.runs.jobs import JobRow as Row
    from lanceway.lake.store.database import LakeStore

_ID = re.compile(r"job-[0-9a-f]{20}")


@dataclass(frozen=True)
class JobQueue:
    """The jobs of one catalog, or of all that a tree mounts (`catalog` is None).

    `user` asks for jobs. `above` are the names above what is the catalog's root where it is mounted. With `own`, only
    the user's own jobs are told of.
    """

    store: LakeStore
    metalake: str
    catalog: str | None
    user: str
    above: tuple[str, ...] = ()
    own: bool = False

    def opened(self) -> JobQueue:
        return self

    def close(self) -> None:
        """Nothing: whoever lends a desk has its store."""

    def inside(self, at: Sequence[str]) -> JobQueue:
        """The same for a catalog that is mounted from its namespace `at` on."""
        return replace(self, above=(*self.above, *at))

    def record(self, kind: str, table: Sequence[str], request: Mapping[str, Any]) -> Job:
        """A new job, or the one that waits already to do the same."""
        from lanceway.lake.runs import jobs

        assert self.catalog is not None, "a job belongs to a catalog"
        path, catalog = list(table)[len(self.above) :], self.catalog
        kept = {key: value for key, value in request.items() if value is not None}
        row = self.store.transact(jobs.record, kind, self.metalake, catalog, path, kept, by=self.user)
        return self._job(row)

    def find(self, job_id: str) -> Job:
        """Raises JobNotFoundError."""
        from lanceway.lake.runs import jobs

        known = _ID.fullmatch(job_id) is not None
        row = self.store.read(jobs.find, job_id) if known else None
        return self._job(self._mine(row, job_id))

    def cancel(self, job_id: str) -> Job:
        """Raises JobNotFoundError."""
        from lanceway.lake.runs import jobs

        self.find(job_id)
        row = self.store.transact(jobs.cancel, job_id, by=self.user)
        return self._job(self._mine(row, job_id))

    def page(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> tuple[list[Job], str | None]:
        """The newest jobs first, and the token of the page that follows, if one does."""
        from lanceway.lake.runs import jobs

        catalog, path = self._place(table)
        list_ = f"jobs\0{self.metalake}\0{catalog}\0{path}\0{checked_state(state)}\0{self.own and self.user}"
        before = page_start_id(list_, page_token)
        limit = page_limit(limit)
        rows = self.store.read(
            jobs.page,
            self.metalake,
            catalog=catalog,
            path=path,
            state=state,
            user=self.user if self.own else None,
            before=before,
            limit=limit and limit + 1,
        )
        page, token = page_of(rows, limit, list_, lambda row: str(row.id))
        return [self._job(row) for row in page], token

    def _place(self, table: Sequence[str] | None) -> tuple[str | None, list[str] | None]:
        if self.catalog is not None:
            return self.catalog, None if table is None else list(table)[len(self.above) :]
        if not table:
            return None, None
        return table[0], list(table[1:]) or None

    def _mine(self, row: Row | None, job_id: str) -> Row:
        if (
            row is None
            or row.metalake != self.metalake
            or (self.catalog is not None and row.catalog != self.catalog)
            or (self.own and row.requested_by != self.user)
        ):
            raise JobNotFoundError(job_id)
        return row

    def _job(self, row: Row) -> Job:
        above = (*self.above,) if self.catalog is not None else (row.catalog,)
        return Job(
            id=row.key,
            kind=row.kind,
            table=[*above, *row.path],
            state=row.state,
            request=row.request,
            requested_by=row.requested_by,
            created_at=row.created_at,
            attempts=row.attempts,
            cancelled_by=row.cancelled_by,
            worker=row.held_by,
            began_at=row.began_at,
            ended_at=row.ended_at,
            progress=row.progress,
            result=row.result,
            error=row.error,
        )


class DeskMethods:
    """What a catalog with a desk tells of its jobs."""

    def list_jobs(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> tuple[list[Job], str | None]:
        """Background jobs, the newest first, and the token of the page that follows, if one does."""
        return self._require_desk("list_jobs").page(state=state, table=table, limit=limit, page_token=page_token)

    def describe_job(self, job_id: str) -> Job:
        """How a background job is. Raises InvalidInputError where there is none of this id."""
        return self._require_desk("describe_job").find(job_id)

    def cancel_job(self, job_id: str) -> Job:
        """End a background job: at once if it waits, soon if it runs. One that has ended stays as it is."""
        return self._require_desk("cancel_job").cancel(job_id)

    def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """The job once it has ended, whatever it came to; or as it is after `timeout` seconds."""
        return own.wait(self.describe_job, job_id, timeout)

    def _require_desk(self, operation: str) -> JobQueue:
        """Raises UnsupportedOperationError where there is none."""
        raise NotImplementedError
