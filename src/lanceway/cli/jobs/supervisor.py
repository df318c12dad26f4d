"""The worker that `lanceway up` keeps at hand: a process that starts when there is a job, and goes when there is none.

Nothing is started before that: a server without jobs costs one small question to its database each second.
"""

from __future__ import annotations

import logging.config
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from lanceway.cli.server.tokens import server_database

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.lake.store.database import LakeStore

_LOOK = 1.0  # seconds between two looks for jobs
_IDLE = 60.0  # seconds after which a worker without jobs ends
_GRACE = 15.0  # seconds that a worker has to give its job back
_REST = 10.0  # seconds between two starts, should a worker fail at once


@contextmanager
def beside(settings: ServerSettings) -> Iterator[None]:
    """While a server runs, jobs of its database are carried out by one process beside it."""
    if not settings.worker:
        yield
        return
    keeper = Keeper(settings)
    keeper.start()
    try:
        yield
    finally:
        keeper.stop()


class Keeper(threading.Thread):
    """Looks for jobs, and starts a worker for them. The settings travel to it by a pipe, not on its command line."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(name="lanceway-worker", daemon=True)
        self._settings = replace(settings, database=server_database(settings))
        self._over = threading.Event()
        self._worker: BaseProcess | None = None

    def run(self) -> None:
        from lanceway.lake.store.database import LakeStore

        store = LakeStore(str(self._settings.database))
        try:
            while not self._over.wait(_LOOK):
                if not self._is_alive() and self._is_due(store):
                    self._begin()
                    self._over.wait(_REST if not self._lasts() else 0)
        finally:
            store.close()

    def stop(self) -> None:
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

    def _is_alive(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def _is_due(self, store: LakeStore) -> bool:
        from lanceway.errors import LanceNamespaceError
        from lanceway.lake.runs import jobs
        from lanceway.server.home import METALAKE

        try:
            return store.read(lambda connection: jobs.is_due(connection, METALAKE))
        except LanceNamespaceError:  # the server itself tells whoever asks that its database is away
            return False

    def _begin(self) -> None:
        started = multiprocessing.get_context("spawn").Process(
            target=work, args=(self._settings,), name="lanceway-worker", daemon=True
        )
        started.start()
        self._worker = started

    def _lasts(self) -> bool:
        assert self._worker is not None
        self._worker.join(_LOOK)
        return self._worker.is_alive()


def work(settings: ServerSettings) -> None:
    """The process: jobs until there are none, or the server is gone."""
    from lanceway import config

    config.quiet_lance()
    from lanceway.cli.jobs.worker import serving, stopping
    from lanceway.jobs.worker.loop import Worker
    from lanceway.server.http import log

    logging.config.dictConfig(log.settings())
    _end_with_parent()
    with serving(settings) as places:
        made = Worker(places, settings.worker_functions, settings.worker_sql, settings.worker_master)
        with stopping(made):
            made.run(idle=_IDLE)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lanceway-parent", daemon=True).start()
