"""Tables moved into another catalog: with their data, copied and verified, or without, at the same location.

A copy holds the rows of the source's latest version, as one version of its own. What is killed goes on where it
stopped: a copy becomes visible in one commit, so that it is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import CountTableRowsRequest, LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs import running
from lanceway.jobs.between import listing, provenance
from lanceway.jobs.between.copying import Copier, Task
from lanceway.jobs.between.mapping import Naming
from lanceway.jobs.between.provenance import Mark
from lanceway.jobs.between.register import Registrar, find, is_declared, is_same_place, location_of
from lanceway.jobs.between.sync import note, refuse_itself
from lanceway.jobs.journal import Entry, Journal
from lanceway.jobs.outcomes import COLLISION, KNOWN, NEW, Outcome, Report
from lanceway.jobs.running import Flow, Listener, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COPY, KEEP = "copy", "keep"


def migrate(
    source: LanceNamespace,
    target: LanceNamespace,
    *,
    data: str = COPY,
    only: Sequence[str] = (),
    flatten: str | None = None,
    replace: bool = False,
    dry_run: bool = False,
    threads: int = running.THREADS,
    state: str | Path | None = None,
    spark: SparkSession | None = None,
    listen: Listener | None = None,
    flow: Flow = running.unseen,
    stop: Stop = running.never,
) -> Report:
    """Bring tables into the target: `data="copy"` copies their rows, `data="keep"` registers them where they lie.

    Safe to run again, also after a kill: what is there and verified is passed over. A table whose source has changed
    since it was copied is reported; `replace` copies it again. `state` is the file in which verified copies are
    remembered, that of the user's cache if it is not set. With `spark`, its workers copy. `listen` is told of each
    table, `flow` of the rows and bytes that pass through this process on their way.
    """
    running.check_threads(threads)
    refuse_itself(source, target)
    if data not in (COPY, KEEP):
        raise InvalidInputError(f"data is {data!r}, but must be {COPY} or {KEEP}.")
    report, found = Report("migrate", dry_run), listing.tables(source, only=only)
    names = Naming(target, flatten)
    if data == KEEP:
        keeping = _Keeping(source, target, names, dry_run)
        each = running.outcomes(keeping.keep, found, threads=threads, stop=stop)
        with keeping.registrar:
            return running.collect(report, each, listen, stop)
    journal = Journal(limits.place(source), limits.place(target), state)
    copying = _Copying(Copier(source, target, replace), names, journal, dry_run)
    with journal.held(), copying.registrar:
        if spark is None:
            each = running.outcomes(lambda table: copying.copy(table, stop, flow), found, threads=threads, stop=stop)
        else:
            each = _spread(spark, copying, found, threads, stop)
        return running.collect(report, each, listen, stop)


class _Keeping:
    def __init__(self, source: LanceNamespace, target: LanceNamespace, names: Naming, dry_run: bool) -> None:
        self._source, self._target, self._names, self._dry_run = source, target, names, dry_run
        self.registrar = Registrar(target)

    def keep(self, table: Identifier) -> Outcome | None:
        """Register a table where it lies, and see that it has the same rows there."""
        wanted: Identifier | None = None
        try:
            wanted = self._names.target(table)
            return self._keep(table, wanted)
        except LanceNamespaceError as error:
            return running.failure(str(table), wanted, error)

    def _keep(self, table: Identifier, wanted: Identifier) -> Outcome | None:
        described = find(self._source, table, check_declared=True)
        if described is None or described.is_only_declared:
            return None  # dropped meanwhile, or yet to be written
        location, known = location_of(table, described), find(self._target, wanted)
        if known is not None:
            if is_same_place(known.location, location):
                return Outcome(KNOWN, str(table), str(wanted), location)
            reason = f"{wanted} is in the target already, at {known.location}."
            return Outcome(COLLISION, str(table), str(wanted), location, reason)
        limits.check_location(self._target, wanted, location)
        rows, follows = 0, False
        if not self._dry_run:
            properties = {**provenance.carried(described.properties), **Mark.of(self._source, table).write()}
            if described.managed_versioning:
                properties |= provenance.FOLLOWS
            self.registrar.make_room(wanted, source=self._source, original=table)
            follows = self.registrar.register(wanted, location, properties)
            rows = self._verified(table, wanted)
        return Outcome(
            NEW, str(table), str(wanted), location, provenance.ELSEWHERE if follows else note(described), rows=rows
        )

    def _verified(self, table: Identifier, wanted: Identifier) -> int:
        counts = [_count(self._source, table), _count(self._target, wanted)]
        if counts[0] != counts[1]:
            raise InternalError(
                f"{table} has {counts[0]:,} rows in the source, and {wanted} has {counts[1]:,} in the target, at the "
                "same location. Somebody is writing to it; compare them again."
            )
        return counts[0]


def _count(catalog: LanceNamespace, table: Identifier) -> int:
    return int(catalog.count_table_rows(CountTableRowsRequest(id=list(table))).count or 0)


class _Copying:
    def __init__(self, copier: Copier, names: Naming, journal: Journal, dry_run: bool) -> None:
        self.copier = copier
        self._names, self._journal, self._dry_run = names, journal, dry_run
        self.registrar = Registrar(copier.target)

    def copy(self, table: Identifier, stop: Stop, flow: Flow) -> Outcome | None:
        task = self.prepare(table)
        if not isinstance(task, Task):
            return task
        return self.remember(task, *self.copier.carry_out(task, stop, flow))

    def prepare(self, table: Identifier) -> Task | Outcome | None:
        """What is to be done for a table, with room made for it; or why nothing is. None for one without data."""
        wanted: Identifier | None = None
        try:
            wanted = self._names.target(table)
            task = self.copier.decide(table, wanted, self._journal.get(table))
            if isinstance(task, Outcome):
                return task
            if self._dry_run:
                return _planned(task)
            if not task.there:
                self.registrar.make_room(wanted, source=self.copier.source, original=table)
                self._journal.begin(table, wanted)
            return task
        except LanceNamespaceError as error:
            missing = isinstance(error, InvalidTableStateError | TableNotFoundError)
            if missing and is_declared(self.copier.source, table):
                return None
            return running.failure(str(table), wanted, error)

    def remember(self, task: Task, outcome: Outcome, entry: Entry | None) -> Outcome:
        if outcome.checksum is not None:
            self.registrar.filled(task.wanted)
        if entry is not None:
            self._journal.verified(task.table, entry, outcome.rows, outcome.checksum or "")
        return outcome


def _planned(task: Task) -> Outcome:
    if not task.there or task.unfinished:
        reason = "goes on where a run stopped" if task.unfinished else None
        return Outcome(NEW, str(task.table), str(task.wanted), reason=reason, version=task.version)
    return Outcome(KNOWN, str(task.table), str(task.wanted), reason="compared with the source when it is run")


def _spread(
    spark: SparkSession, copying: _Copying, found: Iterator[Identifier], threads: int, stop: Stop
) -> Iterator[Outcome]:
    from lanceway.jobs.spreading import carried_out

    def prepared() -> Iterator[Task | Outcome]:
        yield from filter(None, map(copying.prepare, found))

    for task, outcome, entry in carried_out(spark, copying.copier, prepared(), threads, stop):
        yield outcome if task is None else copying.remember(task, outcome, entry)
