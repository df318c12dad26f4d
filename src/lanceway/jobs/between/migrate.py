"""Migrate tables from one catalog into another: their rows are copied and compared, or registered where they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import CountTableRowsRequest, CreateTableRequest, DropTableRequest, LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs import executor
from lanceway.jobs.between import register
from lanceway.jobs.between.checksums import Checksum, VersionRows, passing, pin
from lanceway.jobs.between.register import Naming, Provenance, Registrar, find, is_declared, is_same_place, location_of
from lanceway.jobs.between.sync import note, refuse_itself
from lanceway.jobs.executor import THREADS, JobContext, Listener, Stop, never_stop
from lanceway.jobs.report import CHANGED, COLLISION, KNOWN, NEW, JobReport, TableOutcome
from lanceway.jobs.state import Journal, JournalEntry

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# Called with the rows and bytes of each batch that passes through this process.
Flow = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A table whose rows are to be copied, or compared with those in the target. Picklable, for Spark's workers."""

    table: Identifier
    target: Identifier
    version: int
    there: bool = False  # a table of this name is in the target
    ours: bool = False  # and we made it
    unfinished: bool = False  # and nothing was written to it yet
    marked: bool = True  # and its properties say so


@dataclass(frozen=True)
class Copier:
    """Copies between two catalogs. Threads may share it, and it is picklable if they are."""

    source: LanceNamespace
    target: LanceNamespace
    replaces: bool = False

    def decide(self, table: Identifier, name: Identifier, entry: JournalEntry | None) -> Task | TableOutcome:
        """Return what is to be done for a table, by metadata alone."""
        version = pin(self.source, table).version
        described = find(self.target, name, check_declared=True)
        if described is None:
            return Task(table, name, version)
        mark = Provenance.read(described.properties)
        ours = self._is_ours(table, name, mark, entry)
        if described.is_only_declared:
            if ours:
                return Task(table, name, version, there=True, ours=True, unfinished=True)
            reason = f"{name} is declared in the target, by another program. Drop it there, or leave this table out."
            return TableOutcome(COLLISION, str(table), str(name), described.location, reason)
        if ours and entry and entry.version == version and is_same_place(entry.location, described.location):
            return TableOutcome(KNOWN, str(table), str(name), described.location)
        return Task(table, name, version, there=True, ours=ours, marked=mark is not None)

    def _is_ours(
        self, table: Identifier, name: Identifier, mark: Provenance | None, entry: JournalEntry | None
    ) -> bool:
        """Return whether the copy is ours: by its mark, or by the journal where the target keeps no properties."""
        if mark is not None or entry is None or entry.target != name:
            return mark == Provenance.of(self.source, table)
        return entry.version is None or not entry.marked

    def run(
        self, task: Task, stop: Stop = never_stop, flow: Flow | None = None
    ) -> tuple[TableOutcome, JournalEntry | None]:
        """Copy or compare. Return what the journal is to remember with the outcome."""
        try:
            rows = pin(self.source, task.table, task.version)
            if task.there and not task.unfinished:
                return self._compared(task, rows, stop, flow)
            if task.unfinished:  # a run that was killed: its name and what it wrote without a version
                self.target.drop_table(DropTableRequest(id=list(task.target)))
            return self._copied(task, rows, NEW, stop, flow)
        except LanceNamespaceError as error:
            return executor.failure(str(task.table), task.target, error), None

    def _compared(
        self, task: Task, rows: VersionRows, stop: Stop, flow: Flow | None
    ) -> tuple[TableOutcome, JournalEntry | None]:
        theirs = pin(self.target, task.target)
        ours, there = rows.checksum(stop), theirs.checksum(stop)
        if (ours.rows, ours.hex) == (there.rows, there.hex):
            entry = JournalEntry(task.target, theirs.location, task.version, task.marked)
            return _outcome(KNOWN, task, theirs.location, ours), entry if task.ours else None
        if task.ours and self.replaces:
            return self._copied(task, rows, CHANGED, stop, flow)
        reason = f"{task.target} is in the target already, with {there.rows:,} rows that are not those of the source."
        if task.ours:
            reason = (
                f"{task.target} was copied before, and the source or the copy has changed since. --replace copies it "
                "again, in a new version."
            )
        return TableOutcome(COLLISION, str(task.table), str(task.target), theirs.location, reason), None

    def _copied(
        self, task: Task, rows: VersionRows, state: str, stop: Stop, flow: Flow | None
    ) -> tuple[TableOutcome, JournalEntry | None]:
        read = Checksum()
        described = find(self.source, task.table)
        properties = register.carried(described.properties if described else None)
        request = CreateTableRequest(
            id=list(task.target),
            mode="create" if state == NEW else "overwrite",
            properties={**properties, **Provenance.of(self.source, task.table).write()},
        )
        response = carry_out(self.target, "create_table_stream", request, _counted(rows, read, stop, flow))
        written = self._written(task, response.version)
        there = written.checksum(stop)
        if (read.rows, read.hex) != (there.rows, there.hex):
            self._take_back(task, state)
            raise InternalError(
                f"{task.table} was read as {read.rows:,} rows with the checksum {read.hex}, and {task.target} holds "
                f"{there.rows:,} rows with the checksum {there.hex}. The copy was taken back; run the job again."
            )
        marked = register.SOURCE in (response.properties or {})
        entry = JournalEntry(task.target, written.location, task.version, marked)
        return _outcome(state, task, written.location, read), entry

    def _written(self, task: Task, version: int | None) -> VersionRows:
        """Return the rows that were written. Some servers take a name that they cannot find afterwards."""
        try:
            return pin(self.target, task.target, version)
        except (InvalidTableStateError, TableNotFoundError) as error:
            raise InternalError(
                f"The target took {task.target}, and does not find it afterwards: it cannot hold a table of this name. "
                f"Rename the table, or leave it out. What was written may be left there. The target said: {error}"
            ) from error

    def _take_back(self, task: Task, state: str) -> None:
        """Drop a new table whose rows are wrong. A replaced one keeps its earlier versions."""
        if state == NEW:
            self.target.drop_table(DropTableRequest(id=list(task.target)))


def _counted(rows: VersionRows, read: Checksum, stop: Stop, flow: Flow | None) -> pa.RecordBatchReader:
    import pyarrow as pa

    reader = rows.read()

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in passing(rows.table, reader, stop):
            read.add(batch)
            yield batch
            if flow is not None:
                flow(batch.num_rows, batch.nbytes)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _outcome(state: str, task: Task, location: str, read: Checksum) -> TableOutcome:
    return TableOutcome(
        state,
        str(task.table),
        str(task.target),
        location,
        rows=read.rows,
        bytes=read.bytes,
        checksum=read.hex,
        version=task.version,
    )


# So many tables of a group for each task of Spark: enough that one large table keeps few waiting.
_FOR_EACH = 8


def spark_copies(
    spark: SparkSession, copier: Copier, prepared: Iterable[Task | TableOutcome], context: JobContext
) -> Iterator[tuple[Task | None, TableOutcome, JournalEntry | None]]:
    """Yield each task with its outcome, as Spark's workers have done it. What is an outcome already comes without."""
    remaining = iter(prepared)
    while not context.should_stop() and (group := list(islice(remaining, context.threads * _FOR_EACH))):
        yield from ((None, item, None) for item in group if isinstance(item, TableOutcome))
        rows = [(pickle.dumps(item),) for item in group if isinstance(item, Task)]
        if rows:
            parts = spark.createDataFrame(rows, "task binary").repartition(min(context.threads, len(rows)))
            # Not `toLocalIterator`, with which Spark begins a partition when the one before has been read.
            for row in parts.mapInArrow(_worker(pickle.dumps(copier)), "done binary").collect():
                yield pickle.loads(row.done)


def _worker(copier: bytes):  # type: ignore[no-untyped-def]
    """Return what a worker of Spark runs. It opens the catalogs once for each of Spark's tasks."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        opened: Copier = pickle.loads(copier)
        for batch in batches:
            for task in map(pickle.loads, batch.column(0).to_pylist()):
                done = pickle.dumps((task, *opened.run(task)))
                yield pa.RecordBatch.from_arrays([pa.array([done], pa.binary())], ["done"])

    return work


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
    threads: int = THREADS,
    state: str | Path | None = None,
    spark: SparkSession | None = None,
    listen: Listener | None = None,
    flow: Flow | None = None,
    stop: Stop = never_stop,
) -> JobReport:
    """Bring tables into the target: `data="copy"` copies their rows, `data="keep"` registers them where they are.

    Safe to run again, also after a kill: what is there and verified is passed over. A table whose source has changed
    since it was copied is reported; `replace` copies it again. `state` is the file in which verified copies are
    remembered, that of the user's cache if it is not set. With `spark`, its workers copy. `listen` is called with the
    outcome of each table, `flow` with the rows and bytes of each batch that passes through this process.
    """
    context = JobContext(dry_run, threads, spark, state, should_stop=stop)
    refuse_itself(source, target)
    if data not in (COPY, KEEP):
        raise InvalidInputError(f"data is {data!r}, but must be {COPY} or {KEEP}.")
    report, tables = JobReport("migrate", dry_run=dry_run), register.tables(source, only=only)
    names = Naming(target, flatten)
    if data == KEEP:
        keeping = _Keeping(source, target, names, dry_run)
        with keeping.registrar:
            return executor.collect(report, executor.outcomes(keeping.keep, tables, context), listen, context)
    journal = Journal(limits.address(source), limits.address(target), state)
    copying = _Copying(Copier(source, target, replace), names, journal, context, flow)
    with journal.locked(), copying.registrar:
        each = executor.outcomes(copying.copy, tables, context) if spark is None else copying.by_spark(spark, tables)
        return executor.collect(report, each, listen, context)


class _Keeping:
    def __init__(self, source: LanceNamespace, target: LanceNamespace, names: Naming, dry_run: bool) -> None:
        self._source, self._target, self._names, self._dry_run = source, target, names, dry_run
        self.registrar = Registrar(target)

    def keep(self, table: Identifier) -> TableOutcome | None:
        """Register a table where it is, and check that both catalogs count the same rows."""
        name: Identifier | None = None
        try:
            name = self._names.target(table)
            return self._keep(table, name)
        except LanceNamespaceError as error:
            return executor.failure(str(table), name, error)

    def _keep(self, table: Identifier, name: Identifier) -> TableOutcome | None:
        described = find(self._source, table, check_declared=True)
        if described is None or described.is_only_declared:
            return None  # just dropped, or yet to be written
        location, existing = location_of(table, described), find(self._target, name)
        if existing is not None:
            if is_same_place(existing.location, location):
                return TableOutcome(KNOWN, str(table), str(name), location)
            reason = f"{name} is in the target already, at {existing.location}."
            return TableOutcome(COLLISION, str(table), str(name), location, reason)
        limits.check_location(self._target, name, location)
        rows, follows = 0, False
        if not self._dry_run:
            properties = {**register.carried(described.properties), **Provenance.of(self._source, table).write()}
            if described.managed_versioning:
                properties |= register.FOLLOWS
            self.registrar.make_room(name, source=self._source, original=table)
            follows = self.registrar.register(name, location, properties)
            rows = self._verified(table, name)
        return TableOutcome(
            NEW, str(table), str(name), location, register.ELSEWHERE if follows else note(described), rows=rows
        )

    def _verified(self, table: Identifier, name: Identifier) -> int:
        counts = [_count(self._source, table), _count(self._target, name)]
        if counts[0] != counts[1]:
            raise InternalError(
                f"{table} has {counts[0]:,} rows in the source, and {name} has {counts[1]:,} in the target, at the "
                "same location. Another program is writing to it; compare them again."
            )
        return counts[0]


def _count(catalog: LanceNamespace, table: Identifier) -> int:
    return int(catalog.count_table_rows(CountTableRowsRequest(id=list(table))).count or 0)


class _Copying:
    def __init__(self, copier: Copier, names: Naming, journal: Journal, context: JobContext, flow: Flow | None) -> None:
        self.copier = copier
        self._names, self._journal, self._context, self._flow = names, journal, context, flow
        self.registrar = Registrar(copier.target)

    def copy(self, table: Identifier) -> TableOutcome | None:
        """Copy a table in this process."""
        task = self.prepare(table)
        if not isinstance(task, Task):
            return task
        return self.remember(task, *self.copier.run(task, self._context.should_stop, self._flow))

    def by_spark(self, spark: SparkSession, tables: Iterable[Identifier]) -> Generator[TableOutcome]:
        """Let Spark's workers copy tables."""
        prepared = (task for task in map(self.prepare, tables) if task is not None)
        for task, outcome, entry in spark_copies(spark, self.copier, prepared, self._context):
            yield outcome if task is None else self.remember(task, outcome, entry)

    def prepare(self, table: Identifier) -> Task | TableOutcome | None:
        """Return the task for a table, or the outcome if nothing is to be done; None for a table without data."""
        name: Identifier | None = None
        try:
            name = self._names.target(table)
            task = self.copier.decide(table, name, self._journal.get(table))
            if isinstance(task, TableOutcome):
                return task
            if self._context.dry_run:
                return _planned(task)
            if not task.there:
                self.registrar.make_room(name, source=self.copier.source, original=table)
                self._journal.begin(table, name)
            return task
        except LanceNamespaceError as error:
            missing = isinstance(error, InvalidTableStateError | TableNotFoundError)
            if missing and is_declared(self.copier.source, table):
                return None
            return executor.failure(str(table), name, error)

    def remember(self, task: Task, outcome: TableOutcome, entry: JournalEntry | None) -> TableOutcome:
        if outcome.checksum is not None:
            self.registrar.filled(task.target)
        if entry is not None:
            self._journal.verified(task.table, entry, outcome.rows, outcome.checksum or "")
        return outcome


def _planned(task: Task) -> TableOutcome:
    if not task.there or task.unfinished:
        reason = "resumes where a run stopped" if task.unfinished else None
        return TableOutcome(NEW, str(task.table), str(task.target), reason=reason, version=task.version)
    return TableOutcome(KNOWN, str(task.table), str(task.target), reason="compared with the source when it is run")
