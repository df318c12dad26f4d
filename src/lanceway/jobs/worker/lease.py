"""The lease on a job: renewed from a thread while the job runs, with how far it is."""

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


class Holding:
    """A job that this worker holds. `stop` says that the work on it is to end, and the other words why."""

    def __init__(self, store: LakeStore, job: JobRow, asked: Callable[[], bool], lifetime: float = LIFETIME) -> None:
        self._store, self._job, self._asked, self._lifetime = store, job, asked, lifetime
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lanceway-lease", daemon=True)
        self._step: JobProgress | None = None
        self.is_cancelled = self.is_lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def watch(self, step: JobProgress) -> None:
        self._step = step

    def stop(self) -> bool:
        return self.is_cancelled or self.is_lost or self._asked()

    def _keep(self) -> None:
        while not self._over.wait(self._lifetime / _ROUNDS):
            self.renew()

    def renew(self) -> None:
        step = self._step
        progress = None if step is None else {"done": step.done, "total": step.total, "rows": step.rows}
        try:
            found = self._store.run(
                lambda connection: jobs.renew(
                    connection, self._job, lifetime=int(self._lifetime * 1000), progress=progress
                )
            )
        except LanceNamespaceError as error:
            # The database may be back before the lease ends; if it is not, another worker has the job.
            _log.warning("the lease on %s could not be renewed: %s", self._job.key, error)
            return
        self.is_lost = found is None
        self.is_cancelled = found is not None and found.cancelled_by is not None
