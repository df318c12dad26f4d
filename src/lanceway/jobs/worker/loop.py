"""Take jobs from the queue and run them: views, and backfills of computed columns."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lanceway.access.decisions import AccessDeniedError
from lanceway.access.records.audit import object_path, plain
from lanceway.catalogs.contract.capabilities import KeepsDefinitions
from lanceway.catalogs.contract.jobs import AUTO_REFRESH, BACKFILL, REFRESH
from lanceway.config import login
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
    ThrottlingError,
)
from lanceway.jobs.executor import PART_THREADS
from lanceway.jobs.table.backfill import BATCH_ROWS, backfill
from lanceway.jobs.table.functions import BatchFunction, Expression, Picked, require_allowed
from lanceway.jobs.worker import views
from lanceway.jobs.worker.catalogs import Places, UntrustedRequesterError
from lanceway.jobs.worker.lease import LIFETIME, JobLease
from lanceway.lake.access.audit import DENIED, AuditEvent
from lanceway.lake.runs import jobs
from lanceway.lake.runs.job_states import CANCELLED, DONE, FAILED
from lanceway.lake.runs.jobs import MOST_ATTEMPTS, JobRow
from lanceway.tables.schema import computed, fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lanceway.jobs.report import JobSummary
    from lanceway.jobs.worker.lease import JobLease
    from lanceway.writes.table_ref import TableRef


def run_backfill(
    target: TableRef,
    request: Mapping[str, Any],
    lease: JobLease,
    *,
    functions: Sequence[str],
    state: str | None,
    spark: SparkSession | None,
) -> JobSummary:
    """Compute the column as its definition says, in the rows in which it is null or for which `where` holds."""
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
    catalog = target.catalog()
    definitions = catalog.column_definitions(target.id, branch) if isinstance(catalog, KeepsDefinitions) else None
    definition = computed.require_definition(table, schema, column, definitions)
    if isinstance(definition, str):
        return Expression(definition), None
    return Picked(require_allowed(definition.function, functions), field=definition.field), definition.inputs


_log = logging.getLogger("lanceway.worker")
# What may pass if it is tried again.
_PASSING = (ConcurrentModificationError, ServiceUnavailableError, ThrottlingError)
# What stays as it is until someone changes it.
_FINAL = (TableNotFoundError, NamespaceNotFoundError, UntrustedRequesterError, AccessDeniedError)
_FIRST_PAUSE = 5_000  # milliseconds
_REMEMBERED = 90 * 24 * 3600 * 1000  # milliseconds for which jobs are remembered
_POLL = 1.0  # seconds
# The door of the audit: a job is denied long after the request that asked for it.
VIA = "worker"

Listener = Callable[[JobRow], None]


@dataclass
class Worker:
    """Takes the jobs of a metalake. Several may do so at once, on any machine.

    `functions` are the modules whose functions may be run. `master` lets Spark work, and `sql` allows views by free SQL
    there. `refresh_every` is how many seconds pass between two looks at a view that is kept fresh.
    """

    places: Places
    functions: Sequence[str] = ()
    sql: bool = False
    master: str | None = None
    state: str | None = None
    refresh_every: float = 30.0
    lifetime: float = LIFETIME
    listen: Listener = lambda job: None
    _stopped: threading.Event = field(default_factory=threading.Event, repr=False)

    @cached_property
    def name(self) -> str:
        return f"{login()}@{socket.gethostname()} process {os.getpid()}"

    def stop(self) -> None:
        """End the loop: the job that runs is given back, or finished if little is missing."""
        self._stopped.set()

    def run(self, *, idle: float | None = None, once: bool = False) -> int:
        """Work until `stop`, or until there was nothing to do for `idle` seconds, and return how many jobs were run.

        With `once`, work until there is nothing to do.
        """
        store, count, since = self.places.store, 0, time.monotonic()
        store.transact(jobs.forget, older=_REMEMBERED)
        while not self._stopped.is_set():
            job = self._claim()
            if job is not None:
                self.run_job(job)
                count, since = count + 1, time.monotonic()
            elif once or (idle is not None and time.monotonic() - since >= idle):
                break
            else:
                self._stopped.wait(_POLL)
        return count

    def _claim(self) -> JobRow | None:
        holder, lifetime = uuid.uuid4().hex, int(self.lifetime * 1000)
        try:
            return self.places.store.transact(
                lambda connection: jobs.claim(connection, self.places.metalake, holder, by=self.name, lifetime=lifetime)
            )
        except _PASSING as error:
            _log.warning("no job could be taken: %s", error)
            return None

    def run_job(self, job: JobRow) -> None:
        """Run a job that this worker has claimed, and record its result."""
        _log.info("%s of %s begins: %s", job.kind, ".".join((job.catalog, *job.path)), job.key)
        with JobLease(self.places.store, job, self._stopped.is_set, self.lifetime) as lease:
            try:
                result = self._work(job, lease)
            except LanceNamespaceError as error:
                self._fail(job, error)
            except Exception as error:  # noqa: BLE001 - whatever a job raises, the worker goes on with the next
                _log.exception("%s failed", job.key)
                self._fail(job, InternalError(f"{type(error).__name__} in the worker; its log says more."))
            else:
                self._end(job, lease, result)
        ended = self.places.store.read(jobs.find, job.key)
        if ended is not None:
            self.listen(ended)

    def _work(self, job: JobRow, lease: JobLease) -> JobSummary | None:
        if job.kind not in (BACKFILL, REFRESH, AUTO_REFRESH):
            raise InternalError(f"This worker does not know the kind {job.kind!r}. Start a newer one.")
        self.places.require_enabled(job)
        self.places.require_trusted(job)
        self.places.require_rights(job)
        if job.kind == BACKFILL:
            target, spark = self.places.table(job), self._spark()
            return run_backfill(target, job.request, lease, functions=self.functions, state=self.state, spark=spark)
        return views.run(self.places, job, lease, functions=self.functions, sql=self._sql, spark=self._spark())

    def _spark(self) -> SparkSession | None:
        """Return a Spark session where one was asked for. Without one, jobs run in threads of this process."""
        if self.master is None:
            return None
        from lanceway.spark.sessions import session

        return session(self.master)

    def _sql(self, catalogs: Mapping[str, Mapping[str, str]]) -> SparkSession | None:
        """Return a new session for free SQL over catalogs, or None where it is not allowed. No two queries share it."""
        if not self.sql:
            return None
        from lanceway.spark.sessions import beside, session

        return beside(session(self.master), catalogs=catalogs)

    # -- the result --------------------------------------------------------------------------------

    def _end(self, job: JobRow, lease: JobLease, result: JobSummary | None) -> None:
        if result is not None and result.stopped:
            if lease.is_cancelled:
                self._write(jobs.end, job, CANCELLED)
            else:  # this worker is to stop, or has lost the job: then nothing is written
                self._write(jobs.release, job)
        elif job.kind == AUTO_REFRESH:
            self._write(jobs.release, job, pause=int(self.refresh_every * 1000))
        else:
            self._write(jobs.end, job, DONE, result=None if result is None else _record(result))

    def _fail(self, job: JobRow, error: LanceNamespaceError) -> None:
        reason = " ".join(str(error).split())
        is_final = isinstance(error, _FINAL)
        if job.kind == AUTO_REFRESH and not is_final:
            self._write(jobs.release, job, pause=int(self.refresh_every * 1000), error=reason)
        elif isinstance(error, _PASSING) and job.attempts < MOST_ATTEMPTS:
            pause = _FIRST_PAUSE * 2 ** (job.attempts - 1)
            self._write(jobs.release, job, pause=pause, error=reason, counts=True)
        else:
            _log.warning("%s %s failed: %s", job.kind, job.key, reason)
            self._write(jobs.end, job, FAILED, error=reason)
            if isinstance(error, PermissionDeniedError):
                self._audit(job, error)

    def _audit(self, job: JobRow, error: PermissionDeniedError) -> None:
        """Record that a job was denied, under its own id: of the request that asked for it, nothing is known here."""
        if self.places.trail is not None:
            path, reason = object_path([job.catalog, *job.path]), plain(str(error))
            event = AuditEvent(job.key, job.requested_by, VIA, job.kind, path, DENIED, int(error.code), reason)
            self.places.trail.record(event)  # not waited for: the trail logs what it cannot write

    def _write(self, change: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        try:
            self.places.store.transact(change, *arguments, **options)
        except LanceNamespaceError as error:
            # The lease ends by itself, and the job is begun again; what was committed is found then.
            _log.warning("what became of a job could not be written: %s", error)


def _record(summary: JobSummary) -> dict[str, Any]:
    left_out = ("job", "dry_run", "ok", "stopped")
    return {key: value for key, value in summary.as_record().items() if key not in left_out}


@contextmanager
def stop_on_signals(worker: Worker) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop a worker, which then gives back the job that runs."""
    before = {number: signal.signal(number, lambda *_: worker.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
