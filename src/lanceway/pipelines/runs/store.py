"""Runs that are kept in a database at hand."""

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
from lanceway.pipelines.runs.http import SCHEMES, ServedLedger, Server
from lanceway.pipelines.runs.ledger import Answer, Had, Ledger


@dataclass(frozen=True)
class StoredLedger:
    """A book of runs in a database."""

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

    def record(self, name: str, lease: str, run: str, told: Record, answer: type[Answer], *, by: str) -> Answer:
        found = self.store.transact(recorder.record, name, lease, run, told, by=by)
        return cast("Answer", found)

    def had(self, run: Run) -> Had:
        return self.store.read(lambda connection: runs.had(connection, _row(connection, run.pipeline)))

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
        def ask(connection: Connection) -> RunReport:
            found = listing.find(connection, run)
            if found is None:
                raise InvalidInputError(f"There is no run {run}.")
            return reports.of(connection, found)

        return self.store.snapshot(ask)

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        return self.store.snapshot(
            lambda connection: listing.summaries(connection, listing.page(connection, pipeline=name, limit=limit))
        )

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[LineageEdge]:
        return self.store.snapshot(lineage.around, places, depth=depth, every=every)


def _row(connection: Connection, name: str) -> int:
    found = leases.find(connection, name)
    if found is None:
        raise InvalidInputError(f"The pipeline {name} was never run.")
    return found.id


State = str | Server | None
Ending = Literal["done", "failed", "stopped", "given up"]
StepEnding = Literal["done", "failed", "skipped"]

LEASE = 60.0  # seconds
_RENEWALS = 4  # in the time of one lease


def uri(given: str | None, config: str | Path | None = None) -> str:
    """The database or the server that is meant. The home's folder is made if there is none."""
    return given or home.state(config)


@contextmanager
def opened(given: State, config: str | Path | None = None) -> Iterator[Ledger]:
    found = _open(given if isinstance(given, Server) else uri(given, config))
    try:
        yield found
    finally:
        found.close()


def _open(given: str | Server) -> Ledger:
    if isinstance(given, Server):
        return ServedLedger(given)
    return ServedLedger(Server(given)) if given.startswith(SCHEMES) else StoredLedger(open_store(given))


@dataclass
class HeldPipeline:
    """A pipeline that this process runs. What it records is recorded only as long as nobody has taken it over:
    whoever does makes all that follows raise ConcurrentModificationError.
    """

    ledger: Ledger
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
        """Keep the steps of a run; those that are there stay as they are. Answers all of them."""
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

    def _record(self, run: str, told: Record, answer: type[Answer]) -> Answer:
        return self.ledger.record(self.name, self.key, run, told, answer, by=self.by)


@contextmanager
def held(ledger: Ledger, name: str, *, lease: float = LEASE) -> Iterator[HeldPipeline]:
    """Run a pipeline alone. Raises ConcurrentModificationError, saying who runs it and since when."""
    by, key = holder(), f"{_process()}/{uuid.uuid4()}"
    before = ledger.find(name)
    process = before.process if before is not None else None
    ledger.take(name, key, by=by, seconds=lease, ended=process if process and has_ended(process) else None)
    found = HeldPipeline(ledger, name, by, key)
    over = threading.Event()
    beat = threading.Thread(target=_renew, args=(found, over, lease), name="lanceway-lease", daemon=True)
    beat.start()
    try:
        yield found
    finally:
        over.set()
        beat.join()
        with suppress(LanceNamespaceError):  # a lease that cannot be given back ends by itself
            ledger.release(name, key)


def _renew(held: HeldPipeline, over: threading.Event, lease: float) -> None:
    """Until it is over. A database that does not answer now may do so before the lease ends."""
    while not over.wait(lease / _RENEWALS):
        try:
            renewed = held.ledger.renew(held.name, held.key, seconds=lease)
        except LanceNamespaceError:
            continue
        if not renewed:
            held.lost.set()
            return


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


def has_ended(process: str) -> bool:
    """Whether a holder was a process of this machine, and is no more."""
    machine, _, rest = process.partition("/")
    number, _, started = rest.partition("/")
    return machine == _machine() and number.isdigit() and _started(int(number)) != started
