"""Run the server: one process or several on one socket, under a supervisor, until a signal stops them."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import SIGNALS, Multiprocess

from lanceway import config
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.server.http import log
from lanceway.server.http.protocol import ConnectionLimits, LimitedProtocol
from lanceway.server.threads import GRACE_SECONDS

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 75  # longer than the proxies that stand in front usually keep theirs
# A process that is busy with its start, on a busy machine, must not be taken for one that hangs.
_START_SECONDS = 60
_OPEN_FILES = 65_536


@dataclass(frozen=True, slots=True)
class Factory:
    """Make the application, once in each process. The settings travel through a pipe, not on a command line."""

    settings: ServerSettings

    def __call__(self) -> ASGIApp:
        # pylance reads the environment when it is imported, so this comes before.
        config.quiet_lance()
        from lanceway.server.app import create_app

        _end_with_parent()
        _allow_open_files()
        return create_app(self.settings)


@contextmanager
def listening(settings: ServerSettings) -> Iterator[socket.socket]:
    """Take the address that the settings name. Who connects waits until it is served."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host.strip("[]"), settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidInputError(
            f"The server cannot listen on {settings.host} port {settings.port}: {error.strerror or error}. Choose "
            "another address with --host and --port; port 0 takes a free one."
        ) from error
    with listener:
        listener.set_inheritable(True)
        yield listener


def serve(settings: ServerSettings, listener: socket.socket, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun. `started` gets the address once it is served.

    A process that dies is started again, also where there is but one: a fault in native code ends a process without
    an exception that could be caught. Raises ServiceUnavailableError if none can be started at all.
    """
    with _shared_metrics(settings):
        where = address(settings, listener)
        supervisor = Supervisor(_config(settings), [listener], lambda: started(where))
        with _restored_signals():
            supervisor.run()
        if supervisor.has_failed:
            raise ServiceUnavailableError("The server cannot start. The lines before this one have the reason.")


class Supervisor(Multiprocess):
    """The parent of the processes that serve: it reports when all of them do, and replaces one that has died."""

    def __init__(self, config_: uvicorn.Config, sockets: list[socket.socket], started: Callable[[], None]) -> None:
        super().__init__(config_, sockets)
        self._report = started

    @property
    def has_failed(self) -> bool:
        return any(process.exitcode == STARTUP_FAILURE for process in self.processes)

    def init_processes(self) -> None:
        super().init_processes()
        if all(process.wait_until_ready(_START_SECONDS, self.should_exit) for process in self.processes):
            self._report()

    def terminate_all(self) -> None:
        # While this process listens, connections that none will serve are accepted.
        for listener in self.sockets:
            listener.close()
        super().terminate_all()

    def keep_subprocess_alive(self) -> None:
        before = list(self.processes)
        super().keep_subprocess_alive()
        for dead, process in zip(before, self.processes, strict=False):
            if dead is not process:
                log.restarted(dead.pid, dead.exitcode, process.pid)


def address(settings: ServerSettings, listener: socket.socket) -> str:
    """Return the address at which clients find the server."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{settings.root_path}"


def _config(settings: ServerSettings) -> uvicorn.Config:
    limits = ConnectionLimits(settings.max_connections, settings.head_timeout, settings.send_timeout)
    return uvicorn.Config(
        Factory(settings),
        factory=True,
        http=partial(LimitedProtocol, limits=limits),  # type: ignore[arg-type] # all that uvicorn does is call it
        ws="none",
        lifespan="on",
        workers=settings.workers,
        log_config=log.settings(),
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_worker_healthcheck=_START_SECONDS,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )


@contextmanager
def _shared_metrics(settings: ServerSettings) -> Iterator[None]:
    """Make a folder for the metrics of several processes, and remove it when they end."""
    if settings.workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="lanceway-metrics-", ignore_cleanup_errors=True) as folder:
        config.share_metrics(folder)
        yield


@contextmanager
def _restored_signals() -> Iterator[None]:
    """Put the handlers of signals back that the supervisor replaces."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _allow_open_files() -> None:
    """Let this process have as many open files as it may: connections need some, and so do tables."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _end_with_parent() -> None:
    """Stop this process when the one that started it ends, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lanceway-parent", daemon=True).start()
