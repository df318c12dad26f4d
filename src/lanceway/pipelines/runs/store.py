"""The store of runs that a process uses: a database or a server; and the lease on the pipeline that it runs."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from sqlalchemy import Connection

from lanceway.config import login
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.lake import home
from lanceway.lake.runs import leases, lineage, listing, recorder, runs, source_files
from lanceway.lake.runs import runs as reports
from lanceway.lake.runs.events import Begin, BeginStep, Changes, End, EndStep, Pin, PlannedSteps, Record, Resume
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.limits import kept
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.runs import Read, Run, RunReport, StepRow
from lanceway.lake.runs.source_files import File
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.engines import is_missing, read_uri
from lanceway.pipelines.runs.http import SCHEMES, HttpRunStore, Server
from lanceway.pipelines.runs.protocol import Answer, RunStore, VersionsRead


@dataclass(frozen=True)
class SqlRunStore:
    """Runs kept in a database."""

    store: LakeStore

    def close(self) -> None:
        self.store.close()

    def find(self, name: str) -> PipelineRow | None:
        return self.store.read(leases.find, name)

    def take(self, name: str, key: str, *, by: str, seconds: float, ended: str | None) -> None:
        lifetime = int(seconds * 1000)
        self.store.transact(recorder.take, name, key, by=by, lifetime=lifetime, ended=ended)

    def renew(self, name: str, key: str, *, seconds: float) -> bool:
        lifetime = int(seconds * 1000)
        return self.store.transact(
            lambda connection: leases.renew(connection, _row(connection, name), key, lifetime=lifetime)
        )

    def release(self, name: str, key: str) -> None:
        self.store.transact(lambda connection: leases.release(connection, _row(connection, name), key))

    def cancel(self, run: Run) -> RunReport:
        def end(connection: Connection) -> RunReport:
            recorder.cancel(connection, _shown(connection, run.key), by=login())
            return reports.of(connection, _shown(connection, run.key))

        return self.store.transact(end)

    def record(self, name: str, lease: str, run: str, event: Record, response: type[Answer], *, by: str) -> Answer:
        recorded = self.store.transact(recorder.record, name, lease, run, event, by=by)
        return cast("Answer", recorded)

    def versions_read(self, run: Run) -> VersionsRead:
        return self.store.read(lambda connection: runs.had(connection, _row(connection, run.pipeline)))

    def last_steps(self, run: Run) -> Mapping[str, StepRow]:
        steps = self.store.read(lambda connection: runs.last_steps(connection, _row(connection, run.pipeline)))
        return {step.name: step for step in steps}

    def files(self, run: Run, source: str, *, after: int, until: int) -> Sequence[File]:
        return self.store.read(
            lambda connection: source_files.between(
                connection, _row(connection, run.pipeline), source, after=after, until=until
            )
        )

    def has_changed(self, run: Run, source: str, *, after: int, until: int) -> bool:
        return self.store.read(
            lambda connection: source_files.has_changed(
                connection, _row(connection, run.pipeline), source, after=after, until=until
            )
        )

    def newest(self, name: str) -> Run | None:
        return next(iter(self.store.snapshot(listing.page, pipeline=name, limit=1)), None)

    def report(self, run: str) -> RunReport:
        return self.store.snapshot(lambda connection: reports.of(connection, _shown(connection, run)))

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        return self.store.snapshot(
            lambda connection: listing.summaries(connection, listing.page(connection, pipeline=name, limit=limit))
        )

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[LineageEdge]:
        return self.store.snapshot(lineage.around, places, depth=depth, every=every)


def _row(connection: Connection, name: str) -> int:
    pipeline = leases.find(connection, name)
    if pipeline is None:
        raise InvalidInputError(f"The pipeline {name} was never run.")
    return pipeline.id


def _shown(connection: Connection, run: str) -> Run:
    """Return a run with the state to show."""
    row = listing.find(connection, run)
    if row is None:
        raise InvalidInputError(f"There is no run {run}.")
    return row


State = str | Server | None
Ending = Literal["done", "failed", "stopped", "given up"]
StepEnding = Literal["done", "failed", "skipped"]

LEASE = 60.0  # seconds
_RENEWALS = 4  # in the time of one lease


def uri(state: str | None, config: str | Path | None = None) -> str:
    """Return the address of the database or server. The home's folder is created if it is the default."""
    return state or home.default_database_uri(config)


@contextmanager
def open_run_store(state: State, config: str | Path | None = None) -> Iterator[RunStore]:
    """Open the store of runs; close it at the end."""
    run_store = _open(state if isinstance(state, Server) else uri(state, config))
    try:
        yield run_store
    finally:
        run_store.close()


@contextmanager
def open_existing_run_store(state: State, config: str | Path | None = None) -> Iterator[RunStore | None]:
    """Open the store of runs to read it, and create nothing: None if its database does not exist yet."""
    if state is None:
        state = home.existing_database_uri(config)
    if state is None or (isinstance(state, str) and not state.startswith(SCHEMES) and is_missing(read_uri(state))):
        yield None
        return
    with open_run_store(state, config) as run_store:
        yield run_store


def _open(state: str | Server) -> RunStore:
    if isinstance(state, Server):
        return HttpRunStore(state)
    return HttpRunStore(Server(state)) if state.startswith(SCHEMES) else SqlRunStore(open_store(state))


@dataclass
class PipelineLease:
    """The lease on a pipeline that this process runs, through which the run is recorded.

    Once another process has taken the pipeline over, every method raises ConcurrentModificationError.
    """

    run_store: RunStore
    name: str
    by: str
    key: str = field(repr=False)
    lost: threading.Event = field(default_factory=threading.Event)

    def begin(self, key: str, *, full: bool, graph: Mapping[str, Any]) -> Run:
        return self._record(key, Begin(full, graph), Run)

    def resume(self, run: Run, graph: Mapping[str, Any]) -> Run:
        return self._record(run.key, Resume(run.attempts + 1, graph), Run)

    def end(self, run: Run, state: Ending, error: str | None = None) -> None:
        self._record(run.key, End(state, kept(error)), type(None))

    def pin(self, run: Run, pins: Mapping[str, Mapping[str, Any]], files: Mapping[str, Sequence[File]]) -> None:
        self._record(run.key, Pin(pins, files), type(None))

    def plan(self, run: Run, steps: Sequence[StepRow]) -> list[StepRow]:
        """Record the steps of a run, unless they are recorded already; return all of them."""
        return self._record(run.key, PlannedSteps(steps), list[StepRow])

    def begin_step(self, run: Run, step: str, **changes: Any) -> StepRow:
        return self._record(run.key, BeginStep(step, Changes(**changes)), StepRow)

    def end_step(
        self,
        run: Run,
        step: str,
        state: StepEnding,
        reads: Sequence[Read] = (),
        **changes: Any,
    ) -> StepRow:
        if "error" in changes:
            changes["error"] = kept(changes["error"])
        return self._record(run.key, EndStep(step, state, Changes(**changes), reads), StepRow)

    def _record(self, run: str, event: Record, response: type[Answer]) -> Answer:
        return self.run_store.record(self.name, self.key, run, event, response, by=self.by)


@contextmanager
def hold(run_store: RunStore, name: str, *, lease: float = LEASE) -> Iterator[PipelineLease]:
    """Lease a pipeline for the block. Raise ConcurrentModificationError, saying who runs it and since when."""
    by, key = holder(), f"{_process()}/{uuid.uuid4()}"
    before = run_store.find(name)
    process = before.process if before is not None else None
    run_store.take(name, key, by=by, seconds=lease, ended=process if process and has_ended(process) else None)
    holding = PipelineLease(run_store, name, by, key)
    over = threading.Event()
    beat = threading.Thread(target=_renew, args=(holding, over, lease), name="lanceway-lease", daemon=True)
    beat.start()
    try:
        yield holding
    finally:
        over.set()
        beat.join()
        with suppress(LanceNamespaceError):  # a lease that cannot be given back ends by itself
            run_store.release(name, key)


def _renew(holding: PipelineLease, over: threading.Event, lease: float) -> None:
    """Renew the lease until the run is over. A database that is unavailable now may be back before the lease ends."""
    while not over.wait(lease / _RENEWALS):
        try:
            renewed = holding.run_store.renew(holding.name, holding.key, seconds=lease)
        except LanceNamespaceError:
            continue
        if not renewed:
            holding.lost.set()
            return


def holder() -> str:
    """Return who runs the pipeline, for people."""
    return f"{login()} on {socket.gethostname()} (process {os.getpid()})"


def _process() -> str:
    """Return an identity of this process by which others on the same machine can see whether it still runs."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def _machine() -> str:
    """Return an identity of the space in which process numbers are unique: one boot of one machine, one PID
    namespace.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = os.readlink("/proc/self/ns/pid")
    except OSError:  # only Linux tells; elsewhere leases end by their time
        return uuid.uuid4().hex
    return hashlib.sha256(f"{socket.gethostname()} {boot} {place}".encode()).hexdigest()[:16]


def _started(process: int) -> str | None:
    """Return when a process began, in clock ticks; None if it does not exist or has ended."""
    try:
        state, *others = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in ("Z", "X") else others[18]


def has_ended(process: str) -> bool:
    """Tell whether a holder was a process of this machine that has ended."""
    machine, _, identity = process.partition("/")
    number, _, started = identity.partition("/")
    return machine == _machine() and number.isdigit() and _started(int(number)) != started
