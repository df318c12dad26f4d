"""Where runs are kept: a database of the lake's kind; the home's, unless another is named."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from lanceway import config as configuration
from lanceway.catalogs.lake_connection import login
from lanceway.errors import ConcurrentModificationError, InvalidInputError, LanceNamespaceError
from lanceway.lake import leases
from lanceway.lake.leases import Pipeline
from lanceway.lake.store import LakeStore, open_store

Answer = TypeVar("Answer")

LEASE = 60.0  # seconds
_RENEWALS = 4  # in the time of one lease
_FILE = "lake.db"
_SERVERS = ("http://", "https://")


def uri(given: str | None, config: str | Path | None = None) -> str:
    """The database that is meant. The home's folder is made if there is none."""
    if given is not None and given.startswith(_SERVERS):
        raise InvalidInputError(
            f"The state cannot be kept by the server {given}: give the address of a database, such as "
            "sqlite:///runs.db or postgresql://user@host/database."
        )
    if given is not None:
        return given
    settings = configuration.server(config)
    if settings.database:
        return settings.database
    home = settings.home.absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return URL.create("sqlite", database=str(home / _FILE)).render_as_string(hide_password=False)


@contextmanager
def opened(given: str | None, config: str | Path | None = None) -> Iterator[LakeStore]:
    store = open_store(uri(given, config))
    try:
        yield store
    finally:
        store.close()


@dataclass
class Held:
    """A pipeline that this process runs. What it records is recorded only as long as nobody has taken it over."""

    store: LakeStore
    pipeline: Pipeline
    by: str
    key: str = field(repr=False)
    lost: threading.Event = field(default_factory=threading.Event)

    def record(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` answers, in one transaction. Raises ConcurrentModificationError where another run took over."""

        def fenced(connection: Connection) -> Answer:
            leases.require(connection, self.pipeline.id, self.key)
            return work(connection)

        return self.store.run(fenced)


@contextmanager
def held(store: LakeStore, name: str, *, lease: float = LEASE) -> Iterator[Held]:
    """Run a pipeline alone. Raises ConcurrentModificationError, saying who runs it and since when."""
    by, key, lifetime = holder(), f"{_process()}/{uuid.uuid4()}", int(lease * 1000)
    pipeline = store.run(lambda connection: leases.ensure(connection, name))
    ended = pipeline.holder if pipeline.holder is not None and has_ended(pipeline.holder) else None
    if not store.run(
        lambda connection: leases.take(connection, pipeline.id, key, by=by, lifetime=lifetime, ended=ended)
    ):
        raise _refusal(store, name)
    found = Held(store, pipeline, by, key)
    over = threading.Event()
    beat = threading.Thread(target=_renew, args=(found, over, lease), name="lanceway-lease", daemon=True)
    beat.start()
    try:
        yield found
    finally:
        over.set()
        beat.join()
        store.run(lambda connection: leases.release(connection, pipeline.id, key))


def _renew(held: Held, over: threading.Event, lease: float) -> None:
    """Until it is over. A database that does not answer now may do so before the lease ends."""
    while not over.wait(lease / _RENEWALS):
        try:
            renewed = held.store.run(
                lambda connection: leases.renew(connection, held.pipeline.id, held.key, lifetime=int(lease * 1000))
            )
        except LanceNamespaceError:
            continue
        if not renewed:
            held.lost.set()
            return


def _refusal(store: LakeStore, name: str) -> ConcurrentModificationError:
    found = store.read(lambda connection: leases.find(connection, name))
    since = "" if found is None or found.held_since is None else f" since {_time(found.held_since)}"
    who = "somebody" if found is None or found.held_by is None else found.held_by
    return ConcurrentModificationError(
        f"The pipeline {name} is being run by {who}{since}. Wait until that run ends; if it was killed, it may be "
        f"taken over after {LEASE:.0f} seconds."
    )


def _time(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def holder() -> str:
    """Who runs it, for people."""
    return f"{login()} on {socket.gethostname()} (process {os.getpid()})"


def _process() -> str:
    """This process, for others on the same machine: they can see whether it is still there."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def _machine() -> str:
    """Where process numbers mean the same: one boot of one machine, one namespace of processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = os.readlink("/proc/self/ns/pid")
    except OSError:  # only Linux tells; elsewhere leases end by their time
        return uuid.uuid4().hex
    return hashlib.sha256(f"{socket.gethostname()} {boot} {place}".encode()).hexdigest()[:16]


def _started(process: int) -> str | None:
    """When a process began, in ticks of the machine's clock; None if there is none of this number, or it has ended."""
    try:
        state, *others = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in ("Z", "X") else others[18]


def has_ended(key: str) -> bool:
    """Whether a holder was a process of this machine, and is no more."""
    machine, process, started, _ = key.split("/")
    return machine == _machine() and _started(int(process)) != started
