"""Background jobs: one job, the queue in a database that records them, and the queue that opens on first use.

A catalog without a database of its own has a `LazyJobQueue` (the setting `jobs`). What stands in that database is the
name that the catalog has in `lanceway.toml`, never its settings, which may hold secrets. A worker that has the same
section connects to the same catalog.
"""

from __future__ import annotations

import re
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract.requests import page_limit, page_of, page_start_id
from lanceway.config import login
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.lake.runs.job_states import ENDED, STATES

if TYPE_CHECKING:
    from lanceway.lake.runs.jobs import JobRow
    from lanceway.lake.store.database import LakeStore

BACKFILL, REFRESH, AUTO_REFRESH = "backfill", "refresh", "auto_refresh"
# The value of the setting `jobs` that means the database of the home.
HOME = "home"
_PAUSE = 0.25  # seconds
_CLOSE_TIMEOUT = 0.5  # seconds
_ID = re.compile(r"job-[0-9a-f]{20}")


class JobNotFoundError(InvalidInputError):
    """Raised where a job does not exist, or belongs to another user."""

    status = 404

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id[:60]!r}, or not one of yours. Those there are: lanceway jobs list")


@dataclass(frozen=True, slots=True)
class Job:
    """A background job. `table` is its table's identifier where it was requested; times are epoch milliseconds.

    `progress` says how far it is, `result` what a finished one has done, `error` why one failed, in one sentence.
    """

    id: str
    kind: str
    table: list[str]
    state: str
    request: Mapping[str, Any]
    requested_by: str
    created_at: int
    attempts: int = 0
    cancelled_by: str | None = None
    worker: str | None = None
    began_at: int | None = None
    ended_at: int | None = None
    progress: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    def as_record(self) -> dict[str, Any]:
        """Return the job as JSON fields, without those that have no value."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Job:
        """Read a job from JSON fields; unknown ones are ignored."""
        names = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in record.items() if key in names})


def checked_state(state: str | None) -> str | None:
    """Return a state to filter by. Raises InvalidInputError for one that no job has."""
    if state is not None and state not in STATES:
        raise InvalidInputError(f"A job is never {state!r}. Its state is one of {', '.join(STATES)}.")
    return state


def wait(describe: Callable[[str], Job], job_id: str, timeout: float | None) -> Job:
    """Wait until a job has ended, or for `timeout` seconds, and return it as it is then."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        job = describe(job_id)
        if job.has_ended or (until is not None and time.monotonic() >= until):
            return job
        time.sleep(_PAUSE)


@dataclass(frozen=True)
class JobQueue:
    """The jobs of one catalog, or of all that a tree mounts (`catalog` is None).

    `user` requests jobs. `above` are the names above the catalog's root where it is mounted. With `own`, only the
    user's own jobs are shown. A server names the `groups` of a user, whose rights its jobs then have.
    """

    store: LakeStore
    metalake: str
    catalog: str | None
    user: str
    above: tuple[str, ...] = ()
    own: bool = False
    groups: tuple[str, ...] | None = None

    def opened(self) -> JobQueue:
        """Return the queue itself: its store is open."""
        return self

    def close(self) -> None:
        """Do nothing: the store belongs to the caller that made the queue."""

    def inside(self, at: Sequence[str]) -> JobQueue:
        """Return the queue of a catalog that is mounted with its namespace `at` as the root."""
        return replace(self, above=(*self.above, *at))

    def record(self, kind: str, table: Sequence[str], request: Mapping[str, Any]) -> Job:
        """Record a job, or return the one that already waits to do the same."""
        from lanceway.lake.runs import jobs

        assert self.catalog is not None, "a job belongs to a catalog"
        path, catalog = list(table)[len(self.above) :], self.catalog
        options = {key: value for key, value in request.items() if value is not None}
        row = self.store.transact(
            jobs.record, kind, self.metalake, catalog, path, options, by=self.user, groups=self.groups
        )
        return self._job(row)

    def find(self, job_id: str) -> Job:
        """Return a job by its id. Raises JobNotFoundError."""
        from lanceway.lake.runs import jobs

        is_id = _ID.fullmatch(job_id) is not None
        row = self.store.read(jobs.find, job_id) if is_id else None
        return self._job(self._mine(row, job_id))

    def cancel(self, job_id: str) -> Job:
        """Cancel a job: at once if it waits, soon if it runs. Raises JobNotFoundError."""
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
        """Return a page of jobs, the newest first, and the token of the next page, if there is one."""
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

    def _mine(self, row: JobRow | None, job_id: str) -> JobRow:
        if (
            row is None
            or row.metalake != self.metalake
            or (self.catalog is not None and row.catalog != self.catalog)
            or (self.own and row.requested_by != self.user)
        ):
            raise JobNotFoundError(job_id)
        return row

    def _job(self, row: JobRow) -> Job:
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


class JobMethods(ABC):
    """The background jobs of a catalog, through its queue."""

    def list_jobs(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> tuple[list[Job], str | None]:
        """List background jobs, the newest first, with the token of the next page, if there is one."""
        return self._require_queue("list_jobs").page(state=state, table=table, limit=limit, page_token=page_token)

    def describe_job(self, job_id: str) -> Job:
        """Describe a background job. Raises InvalidInputError where no job has this id."""
        return self._require_queue("describe_job").find(job_id)

    def cancel_job(self, job_id: str) -> Job:
        """Cancel a background job: at once if it waits, soon if it runs. One that has ended stays as it is."""
        return self._require_queue("cancel_job").cancel(job_id)

    def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """Wait until a job has ended, or for `timeout` seconds, and return it as it is then."""
        return wait(self.describe_job, job_id, timeout)

    @abstractmethod
    def _require_queue(self, operation: str) -> JobQueue:
        """Return the queue of the catalog's jobs. Raises UnsupportedOperationError where it has none."""


@dataclass(frozen=True)
class LazyJobQueue:
    """A job queue in a database that is opened when a job is first requested.

    Two projects may call different catalogs by the same `name`, and have one database: `root` tells them apart.
    """

    database: str = field(repr=False)  # may hold a password
    root: str
    name: str
    above: tuple[str, ...] = ()
    config: str | Path | None = None

    def inside(self, at: Sequence[str]) -> LazyJobQueue:
        """Return the queue of a catalog whose namespace `at` is the root."""
        return replace(self, above=(*self.above, *at))

    def opened(self) -> JobQueue:
        """Return the queue in the database, which is opened the first time."""
        return self._queue

    def close(self) -> None:
        """Close connections; they are opened again when they are needed."""
        queue = self.__dict__.get("_queue")
        if queue is not None:
            queue.store.close()

    @cached_property
    def _queue(self) -> JobQueue:
        try:
            from lanceway.lake.store.database import open_store
        except ImportError as error:
            raise UnsupportedOperationError(
                f"The setting jobs needs {error.name}. Install what is missing: pip install 'lanceway[lake]'"
            ) from error
        store = open_store(self._uri)
        weakref.finalize(self, store.close, _CLOSE_TIMEOUT)
        return JobQueue(store, self.root, self.name, login(), self.above)

    @cached_property
    def _uri(self) -> str:
        from lanceway.lake import home
        from lanceway.lake.store.engines import read_uri

        uri = home.default_database_uri(self.config) if self.database == HOME else self.database
        return read_uri(uri).render_as_string(hide_password=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the file it meant here, wherever the other process runs.
        return LazyJobQueue, (self._uri, self.root, self.name, self.above)
