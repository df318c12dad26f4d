"""Running: one process or several on one socket, until they are told to stop."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from lanceway import config
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError
from lanceway.server.http import log
from lanceway.server.http.limits import GRACE_SECONDS
from lanceway.server.http.protocol import Protocol

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 75  # longer than the proxies that stand in front usually keep theirs
# A process that is busy with its start, on a busy machine, must not be taken for one that hangs.
_START_SECONDS = 60
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Factory:
    """Makes the application, in each process anew. The settings travel to it by a pipe, not on its command line."""

    settings: ServerSettings

    def __call__(self) -> ASGIApp:
        # pylance reads the environment when it is imported, so this comes before.
        config.quiet_lance()
        from lanceway.server.app import create_app

        _end_with_parent()
        return create_app(self.settings)


def serve(settings: ServerSettings, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun. `started` is told the address once it is served."""
    with _listening(settings) as taken, _shared_metrics(settings):
        config_, where = _config(settings), address(settings, taken)
        if settings.workers > 1:
            Several(config_, [taken], lambda: started(where)).run()
            return
        server = Single(config_, lambda: started(where))
        with _quietly_stopped(server):
            server.run(sockets=[taken])


class Single(uvicorn.Server):
    """One process. It says when it serves."""

    def __init__(self, config_: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config_)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()


class Several(Multiprocess):
    """Several processes. It says when all of them serve."""

    def __init__(self, config_: uvicorn.Config, sockets: list[socket.socket], started: Callable[[], None]) -> None:
        super().__init__(config_, sockets)
        self._tell = started

    def init_processes(self) -> None:
        super().init_processes()
        if all(process.wait_until_ready(_START_SECONDS) for process in self.processes):
            self._tell()


def address(settings: ServerSettings, taken: socket.socket) -> str:
    """Where clients find the server."""
    host, port = taken.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{settings.root_path}"


def _config(settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        Factory(settings),
        factory=True,
        http=Protocol,
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
def _listening(settings: ServerSettings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        taken = socket.create_server((settings.host.strip("[]"), settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidInputError(
            f"The server cannot listen on {settings.host} port {settings.port}: {error.strerror or error}. Choose "
            "another address with --host and --port; port 0 takes a free one."
        ) from error
    with taken:
        taken.set_inheritable(True)
        yield taken


@contextmanager
def _shared_metrics(settings: ServerSettings) -> Iterator[None]:
    """A folder for the numbers of several processes, gone when they are."""
    if settings.workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="lanceway-metrics-", ignore_cleanup_errors=True) as folder:
        config.share_metrics(folder)
        yield


@contextmanager
def _quietly_stopped(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn raises the signal that stopped it once more when all is done; then it has been heard already."""

    def heard(number: int, frame: FrameType | None) -> None:
        if not server.should_exit:  # uvicorn does not listen yet
            raise SystemExit(0)

    before = {number: signal.signal(number, heard) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with_parent() -> None:
    """One of several processes stops when the one that started it is gone, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lanceway-parent", daemon=True).start()
