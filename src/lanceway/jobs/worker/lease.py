"""The lease on a job: renewed from a thread while the job runs, with its progress."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Self

from lanceway.errors import LanceNamespaceError
from lanceway.jobs.report import JobProgress
from lanceway.lake.runs import jobs
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore

_log = logging.getLogger("lanceway.worker")
LIFETIME = 60.0  # seconds
_ROUNDS = 6  # renewals in a lifetime


class JobLease:
    """A worker's lease on a job, for as long as the context lasts."""

    def __init__(self, store: LakeStore, job: JobRow, stopped: Callable[[], bool], lifetime: float = LIFETIME) -> None:
        self._store, self._job, self._stopped, self._lifetime = store, job, stopped, lifetime
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew_on_time, name="lanceway-lease", daemon=True)
        self._progress: JobProgress | None = None
        self.is_cancelled = self.is_lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def watch(self, progress: JobProgress) -> None:
        """Keep how far the job is, for the next renewal to record."""
        self._progress = progress

    def should_stop(self) -> bool:
        """Return whether the work is to end: the job was cancelled or lost, or the worker is to stop."""
        return self.is_cancelled or self.is_lost or self._stopped()

    def _renew_on_time(self) -> None:
        while not self._over.wait(self._lifetime / _ROUNDS):
            self.renew()

    def renew(self) -> None:
        """Renew the lease, record the progress, and learn whether the job was cancelled or taken by another worker."""
        last = self._progress
        progress = None if last is None else {"done": last.done, "total": last.total, "rows": last.rows}
        try:
            renewed = self._store.transact(
                jobs.renew, self._job, lifetime=int(self._lifetime * 1000), progress=progress
            )
        except LanceNamespaceError as error:
            # The database may be back before the lease ends; if it is not, another worker has the job.
            _log.warning("the lease on %s could not be renewed: %s", self._job.key, error)
            return
        self.is_lost = renewed is None
        self.is_cancelled = renewed is not None and renewed.cancelled_by is not None
