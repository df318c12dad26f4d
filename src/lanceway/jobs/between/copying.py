"""A table's rows copied from one catalog into another, and compared on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import CreateTableRequest, DropTableRequest, LanceNamespace

from lanceway.catalogs.wrappers.forward import carry_out
from lanceway.errors import InternalError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.jobs import running
from lanceway.jobs.between import provenance
from lanceway.jobs.between.checksums import Checksum
from lanceway.jobs.between.provenance import Mark
from lanceway.jobs.between.register import find, is_same_place
from lanceway.jobs.between.rows import Rows, passing, pin
from lanceway.jobs.journal import Entry
from lanceway.jobs.outcomes import CHANGED, COLLISION, KNOWN, NEW, Outcome
from lanceway.jobs.running import Flow, Stop

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Task:
    """A table whose rows are to be looked at: copied, or compared with what is there. It may travel to a worker."""

    table: Identifier
    wanted: Identifier
    version: int
    there: bool = False  # a table of this name is in the target
    ours: bool = False  # and we made it
    unfinished: bool = False  # and nothing was written to it yet
    marked: bool = True  # and its properties say so


@dataclass(frozen=True)
class Copier:
    """Copies between two catalogs. Threads may share it, and it may travel to other processes as they may."""

    source: LanceNamespace
    target: LanceNamespace
    replaces: bool = False

    def decide(self, table: Identifier, wanted: Identifier, entry: Entry | None) -> Task | Outcome:
        """What is to be done for a table, by metadata alone."""
        version = pin(self.source, table).version
        known = find(self.target, wanted, check_declared=True)
        if known is None:
            return Task(table, wanted, version)
        mark = Mark.read(known.properties)
        ours = self._is_ours(table, wanted, mark, entry)
        if known.is_only_declared:
            if ours:
                return Task(table, wanted, version, there=True, ours=True, unfinished=True)
            reason = f"{wanted} is declared in the target, by somebody else. Drop it there, or leave this table out."
            return Outcome(COLLISION, str(table), str(wanted), known.location, reason)
        if ours and entry and entry.version == version and is_same_place(entry.location, known.location):
            return Outcome(KNOWN, str(table), str(wanted), known.location)
        return Task(table, wanted, version, there=True, ours=ours, marked=mark is not None)

    def _is_ours(self, table: Identifier, wanted: Identifier, mark: Mark | None, entry: Entry | None) -> bool:
        """By its mark; where the target keeps no properties, by what the journal says."""
        if mark is not None or entry is None or entry.target != wanted:
            return mark == Mark.of(self.source, table)
        return entry.version is None or not entry.marked

    def carry_out(
        self, task: Task, stop: Stop = running.never, flow: Flow = running.unseen
    ) -> tuple[Outcome, Entry | None]:
        """Copy or compare. What the journal is to remember comes with the outcome."""
        try:
            rows = pin(self.source, task.table, task.version)
            if task.there and not task.unfinished:
                return self._compared(task, rows, stop, flow)
            if task.unfinished:  # a run that was killed: its name and what it wrote without a version
                self.target.drop_table(DropTableRequest(id=list(task.wanted)))
            return self._copied(task, rows, NEW, stop, flow)
        except LanceNamespaceError as error:
            return running.failure(str(task.table), task.wanted, error), None

    def _compared(self, task: Task, rows: Rows, stop: Stop, flow: Flow) -> tuple[Outcome, Entry | None]:
        theirs = pin(self.target, task.wanted)
        ours, there = rows.checksum(stop), theirs.checksum(stop)
        if (ours.rows, ours.hex) == (there.rows, there.hex):
            entry = Entry(task.wanted, theirs.location, task.version, task.marked)
            return _outcome(KNOWN, task, theirs.location, ours), entry if task.ours else None
        if task.ours and self.replaces:
            return self._copied(task, rows, CHANGED, stop, flow)
        reason = f"{task.wanted} is in the target already, with {there.rows:,} rows that are not those of the source."
        if task.ours:
            reason = (
                f"{task.wanted} was copied before, and the source or the copy has changed since. --replace copies it "
                "again, in a new version."
            )
        return Outcome(COLLISION, str(task.table), str(task.wanted), theirs.location, reason), None

    def _copied(self, task: Task, rows: Rows, state: str, stop: Stop, flow: Flow) -> tuple[Outcome, Entry | None]:
        read = Checksum()
        described = find(self.source, task.table)
        properties = provenance.carried(described.properties if described else None)
        request = CreateTableRequest(
            id=list(task.wanted),
            mode="create" if state == NEW else "overwrite",
            properties={**properties, **Mark.of(self.source, task.table).write()},
        )
        answer = carry_out(self.target, "create_table_stream", request, _counted(rows, read, stop, flow))
        written = pin(self.target, task.wanted, answer.version)
        there = written.checksum(stop)
        if (read.rows, read.hex) != (there.rows, there.hex):
            self._take_back(task, state)
            raise InternalError(
                f"{task.table} was read as {read.rows:,} rows with the checksum {read.hex}, and {task.wanted} holds "
                f"{there.rows:,} rows with the checksum {there.hex}. The copy was taken back; run the job again."
            )
        marked = provenance.SOURCE in (answer.properties or {})
        entry = Entry(task.wanted, written.location, task.version, marked)
        return _outcome(state, task, written.location, read), entry

    def _take_back(self, task: Task, state: str) -> None:
        """A new table that does not hold what it should goes; a replaced one has its earlier versions."""
        if state == NEW:
            self.target.drop_table(DropTableRequest(id=list(task.wanted)))


def _counted(rows: Rows, read: Checksum, stop: Stop, flow: Flow) -> pa.RecordBatchReader:
    import pyarrow as pa

    reader = rows.read()

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in passing(rows.table, reader, stop):
            read.add(batch)
            yield batch
            flow(batch.num_rows, batch.nbytes)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _outcome(state: str, task: Task, location: str, read: Checksum) -> Outcome:
    return Outcome(
        state,
        str(task.table),
        str(task.wanted),
        location,
        rows=read.rows,
        bytes=read.bytes,
        checksum=read.hex,
        version=task.version,
    )
