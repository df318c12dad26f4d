"""The worker process of a server: started when a job is due, and ended when none is left.

Nothing is started before that: a server without jobs costs one small query to its database each second.
"""

from __future__ import annotations

import logging.config
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.lake.store.database import LakeStore

_POLL = 1.0  # seconds between two looks for jobs
_STATE = "jobs.sqlite"  # in the home
_IDLE = 60.0  # seconds after which a worker without jobs ends
_GRACE = 15.0  # seconds that a worker has to give its job back
_PAUSE = 10.0  # seconds between two starts, should a worker fail at once


@contextmanager
def supervised(settings: ServerSettings, database: str, log_settings: Mapping[str, Any]) -> Iterator[None]:
    """Run the jobs of a server's database in one process beside it, for as long as the context lasts.

    `log_settings` set up the worker's log, in the form that `logging.config` takes.
    """
    supervisor = WorkerSupervisor(settings, database, log_settings)
    supervisor.start()
    try:
        yield
    finally:
        supervisor.stop()


class WorkerSupervisor(threading.Thread):
    """Looks for jobs, and starts a worker for them. The settings travel to it by a pipe, not on its command line."""

    def __init__(self, settings: ServerSettings, database: str, log_settings: Mapping[str, Any]) -> None:
        super().__init__(name="lanceway-worker", daemon=True)
        self._settings, self._database, self._log_settings = settings, database, log_settings
        self._over = threading.Event()
        self._worker: BaseProcess | None = None

    def run(self) -> None:
        """Start a worker whenever a job is due and none runs."""
        from lanceway.lake.store.database import LakeStore

        store = LakeStore(self._database)
        try:
            while not self._over.wait(_POLL):
                if not self._is_working() and self._is_due(store):
                    self._begin()
                    self._over.wait(0 if self._lasts() else _PAUSE)
        finally:
            store.close()

    def stop(self) -> None:
        """End the worker, which gives its job back, and this thread."""
        self._over.set()
        self.join()
        worker = self._worker
        if worker is None:
            return
        worker.terminate()
        worker.join(_GRACE)
        if worker.is_alive():
            worker.kill()
            worker.join()

    def _is_working(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def _is_due(self, store: LakeStore) -> bool:
        from lanceway.errors import LanceNamespaceError
        from lanceway.jobs.worker.catalogs import METALAKE
        from lanceway.lake.runs import jobs

        try:
            return store.read(jobs.is_due, METALAKE)
        except LanceNamespaceError:  # the server itself reports to its clients that its database is away
            return False

    def _begin(self) -> None:
        process = multiprocessing.get_context("spawn").Process(
            target=work,
            args=(self._settings, self._database, self._log_settings),
            name="lanceway-worker",
            daemon=True,
        )
        process.start()
        self._worker = process

    def _lasts(self) -> bool:
        """Return whether the worker that was just started is not gone at once."""
        assert self._worker is not None
        self._worker.join(_POLL)
        return self._worker.is_alive()


def work(settings: ServerSettings, database: str, log_settings: Mapping[str, Any]) -> None:
    """Run jobs in this process until there are none, or the server is gone."""
    from lanceway import config

    config.quiet_lance()
    from lanceway.jobs.worker.catalogs import server_places
    from lanceway.jobs.worker.loop import Worker, stop_on_signals

    logging.config.dictConfig(dict(log_settings))
    _end_with_parent()
    with server_places(settings, database) as places:
        state = str(settings.home.expanduser().absolute() / _STATE)
        worker = Worker(places, settings.worker_functions, settings.worker_sql, settings.worker_master, state)
        with stop_on_signals(worker):
            worker.run(idle=_IDLE)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lanceway-parent", daemon=True).start()
