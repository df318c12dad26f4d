"""What fills a column that is there, besides a function of one's own: SQL, or one of a function's several columns."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import Stop
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary, Watcher, unwatched
from lanceway.jobs.state import Checkpoint
from lanceway.jobs.table import functions
from lanceway.jobs.table.functions import BatchFunction, Computer, Computes
from lanceway.spark.types import ROW_ID
from lanceway.tables.errors import translated
from lanceway.writes import commit, write_id
from lanceway.writes import table_ref as tables
from lanceway.writes.commit import insistently
from lanceway.writes.plan import APPEND, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Expression(BatchFunction):
    """An SQL expression of Lance, which Lance itself evaluates while it reads."""

    @property
    def name(self) -> str:
        return f"the expression {self.given}"

    def fingerprint(self) -> str:
        return hashlib.sha256(f"SQL\n{self.given}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        return {column: str(self.given)}

    def found(self) -> Computes:
        return _first


def _first(batch: pa.RecordBatch) -> Any:
    return batch.column(0)


@dataclass(frozen=True)
class Picked(BatchFunction):
    """A function that answers several columns, of which one is taken; or that one alone."""

    field: str = ""

    def fingerprint(self) -> str:
        return f"{BatchFunction(self.given, self.folder).fingerprint()}:{self.field}"

    def found(self) -> Computes:
        return _Picking(super().found(), self.field)


@dataclass(frozen=True)
class _Picking:
    function: Computes
    field: str

    def __call__(self, batch: pa.RecordBatch) -> Any:
        import pyarrow as pa

        answer = self.function(batch)
        if isinstance(answer, pa.RecordBatch | pa.Table) and self.field in answer.schema.names:
            return answer.column(self.field)
        if isinstance(answer, pa.StructArray):
            return answer.field(self.field)
        return answer[self.field] if isinstance(answer, dict) else answer


BATCH_ROWS = 1024
# The note under which the commit to come is kept.
_COMMIT = "commit"


def backfill(
    table: tables.TableName,
    column: str,
    function: str | Computes | BatchFunction,
    *,
    inputs: Sequence[str] | None = None,
    data_type: pa.DataType | None = None,
    batch_rows: int = BATCH_ROWS,
    update: bool = False,
    where: str | None = None,
    branch: str | None = None,
    folder: str | None = None,
    dry_run: bool = False,
    threads: int = executor.PART_THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = unwatched,
    stop: Stop = executor.never,
) -> JobSummary:
    """Add a column whose values a function computes from the columns `inputs`, or from all.

    The function is given record batches of at most `batch_rows` rows, and answers a value for each row: an Arrow
    array, a list, or an array of numpy, of which one with two dimensions holds vectors. It is named by its import
    path, `package.module:function`, where `folder` is searched as well, or given itself. `data_type` is the column's;
    without it, that of what the function answers for the first rows.

    With `update` the column is there, and the rows in which it is null get a value, or those for which `where` holds:
    a condition in the SQL of Lance. So rows that came later are filled. `branch` is filled then rather than the main
    one.

    Safe to run again after a kill: what was computed is remembered in the file `state`, and not computed twice, unless
    the function's source has changed.

    Raises InvalidInputError, naming the row, where the function fails. Nothing is committed then.
    """
    executor.check_threads(threads)
    if batch_rows < 1:
        raise InvalidInputError(f"batch_rows is {batch_rows}, but a batch needs at least 1 row.")
    if where is not None and not update:
        raise InvalidInputError("where chooses rows of a column that is there: it is for update.")
    if branch is not None and not update:
        raise InvalidInputError("branch chooses a branch whose column is there: it is for update.")
    found = JobTable.of(table, branch)
    named = function if isinstance(function, BatchFunction) else BatchFunction(function, folder)
    opened = found.open()
    summary = JobSummary("backfill", found.name, dry_run, version=int(opened.version))
    settings = (found.place.location, column, named.fingerprint(), inputs, where if update else None, update, branch)
    kept = Checkpoint("backfill", found.name, *settings, file=state)
    with kept.held():
        if _was_done(found, kept):  # a run that was killed after its commit
            kept.forget()
            return summary.ended()
        _check(found, opened, column, inputs, update=update)
        computer = Computer(found, column, named, None if inputs is None else tuple(inputs), batch_rows)
        if update:
            known = opened.schema.field(column).type
            summary.facts = {"column": column, "type": str(known), "function": named.name, "update": True}
            condition = where or f"`{column}` IS NULL"
            job = Update(found, replace(computer, type=known), condition, kept, summary)
            return job.planned(opened) if dry_run else job.run(threads, spark, watch, stop)
        computer = replace(computer, type=functions.learned(computer, opened, data_type))
        summary.facts = {"column": column, "type": str(computer.type), "function": named.name}
        if dry_run:
            present = job_table.fragments(opened)
            summary.parts, summary.rows = len(present), sum(map(job_table.rows, present))
            return summary.ended()
        return _Backfill(found, computer, kept, summary).run(threads, spark, watch, stop)


def _was_done(found: JobTable, kept: Checkpoint) -> bool:
    note = kept.all().get(_COMMIT)
    handle = found.place.current().table
    return note is not None and write_id.version_of(handle, WriteId(job=note["job"]), after=note["after"]) is not None


def _check(
    found: JobTable, opened: lance.LanceDataset, column: str, inputs: Iterable[str] | None, *, update: bool = False
) -> None:
    names = opened.schema.names
    if update and column not in names:
        raise TableColumnNotFoundError(f"{found.name} has no column {column!r} to update. It has: {', '.join(names)}.")
    if not update and (not column or column in names):
        why = "needs a name" if not column else f"is there already: {found.name} has {', '.join(names)}"
        raise InvalidInputError(f"The column {column!r} cannot be added: it {why}. Update it, or choose another name.")
    for name in inputs or ():
        if name not in names:
            raise TableColumnNotFoundError(f"{found.name} has no column {name!r}. It has: {', '.join(names)}.")


@dataclass
class _Backfill:
    table: JobTable
    computer: Computer
    kept: Checkpoint
    summary: JobSummary

    def run(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> JobSummary:
        return insistently(lambda: self._attempt(threads, spark, watch, stop))

    def _attempt(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> JobSummary:
        opened = self.table.open()
        _check(self.table, opened, self.computer.column, self.computer.inputs)
        present = job_table.fragments(opened)
        if not present:
            functions.add_empty(self.computer, opened)
            return self._ended([])
        made = self._compute(opened, present, threads, spark, watch, stop)
        if len(made) < len(present):
            return self.summary.ended(stopped=True)
        self._commit(opened, present, made)
        self._tidy(made)
        return self._ended(present)

    def _compute(
        self,
        opened: lance.LanceDataset,
        present: Sequence[FragmentMetadata],
        threads: int,
        spark: SparkSession | None,
        watch: Watcher,
        stop: Stop,
    ) -> dict[int, Any]:
        """What is to be added to each fragment: as it was kept, or computed now."""
        store, highest = self.table.handle().store(), int(opened.max_field_id)
        # A column gets the next number that is free, and its file has it.
        keys = {one.id: f"{highest} {self.computer.type} {job_table.identity(one)}" for one in present}
        notes = self.kept.all()
        made = {
            id_: notes[key] for id_, key in keys.items() if key in notes and store.exists(functions.key(notes[key]))
        }
        self.summary.parts, rows = len(present), 0
        self.summary.facts.setdefault("computed", 0)
        before, given = 1, []
        for fragment in present:
            if fragment.id not in made:
                given.append((fragment.id, before))
            before += job_table.rows(fragment)
        counts = {fragment.id: job_table.rows(fragment) for fragment in present}
        watch(JobProgress(len(made), len(present)))
        work = replace(self.computer, version=int(opened.version))
        for (id_, _), answer in executor.carried_out(work, given, threads=threads, spark=spark, stop=stop):
            self.kept.keep(keys[id_], answer)
            made[id_] = answer
            rows += counts[id_]
            self.summary.facts["computed"] += 1
            watch(JobProgress(len(made), len(present), rows))
        self.summary.done = len(made)
        return made

    def _commit(self, opened: lance.LanceDataset, present: Sequence[FragmentMetadata], made: dict[int, Any]) -> None:
        import lance

        whole = [functions.extended(fragment, made[fragment.id]) for fragment in present]
        operation = lance.LanceOperation.Merge(whole, functions.schema(made[present[0].id]))
        mark, version = WriteId.of_job(), int(opened.version)
        self.kept.keep(_COMMIT, {"job": mark.job, "after": version})
        commit.commit(WritePlan(APPEND, self.table.place, opened.schema, version), operation, mark, strict=True)

    def _tidy(self, made: Mapping[int, Any]) -> None:
        """Remove what was computed of fragments that are no more, and all notes."""
        files = {functions.key(note) for part, note in self.kept.all().items() if part != _COMMIT}
        self.table.handle().store().delete(*(files - set(map(functions.key, made.values()))))
        self.kept.forget()

    def _ended(self, present: Sequence[FragmentMetadata]) -> JobSummary:
        self.summary.version, self.summary.changed = int(self.table.open().version), True
        self.summary.rows = sum(map(job_table.rows, present))
        return self.summary.ended()


@dataclass
class Update:
    """One job: the rows for which `where` holds get what the function computes."""

    table: JobTable
    computer: Computer
    where: str
    kept: Checkpoint
    summary: JobSummary

    def planned(self, opened: lance.LanceDataset) -> JobSummary:
        with translated(self.table.handle(), "Counting the rows"):
            self.summary.rows = int(opened.count_rows(self.where))
        self.summary.parts = len(opened.get_fragments())
        return self.summary.ended()

    def run(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> JobSummary:
        return insistently(lambda: self._attempt(threads, spark, watch, stop))

    def _attempt(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> JobSummary:
        opened = self.table.open()
        present = job_table.fragments(opened)
        made = self._compute(opened, present, threads, spark, watch, stop)
        if len(made) < len(present):
            return self.summary.ended(stopped=True)
        self.summary.version = self._commit(opened, present, made)
        self._tidy(made)
        self.summary.rows = sum(note["rows"] for note in made.values())
        self.summary.changed = self.summary.rows > 0
        return self.summary.ended()

    def _compute(
        self,
        opened: lance.LanceDataset,
        present: Sequence[FragmentMetadata],
        threads: int,
        spark: SparkSession | None,
        watch: Watcher,
        stop: Stop,
    ) -> dict[int, Any]:
        store, notes = self.table.handle().store(), self.kept.all()
        keys = {one.id: job_table.identity(one) for one in present}
        made = {
            id_: notes[key]
            for id_, key in keys.items()
            # Its last file is the one that was made; those before are the fragment's own, and are there as it is.
            if key in notes and all(store.exists(self.table.key(file["path"])) for file in notes[key]["files"][-1:])
        }
        self.summary.parts, rows = len(present), 0
        self.summary.facts.setdefault("computed", 0)
        watch(JobProgress(len(made), len(present)))
        work = _Updater(replace(self.computer, version=int(opened.version)), self.where)
        given = [id_ for id_ in keys if id_ not in made]
        for id_, note in executor.carried_out(work, given, threads=threads, spark=spark, stop=stop):
            self.kept.keep(keys[id_], note)
            made[id_] = note
            rows += note["rows"]
            self.summary.facts["computed"] += bool(note["rows"])
            watch(JobProgress(len(made), len(present), rows))
        self.summary.done = len(made)
        return made

    def _tidy(self, made: Mapping[int, Any]) -> None:
        """Remove what was computed of fragments that are no more, and all notes."""
        built, used = (
            {note["files"][-1]["path"] for note in notes if note["rows"]}
            for notes in (self.kept.all().values(), made.values())
        )
        self.table.handle().store().delete(*(self.table.key(file) for file in built - used))
        self.kept.forget()

    def _commit(self, opened: lance.LanceDataset, present: Sequence[FragmentMetadata], made: Mapping[int, Any]) -> int:
        import lance

        changed = {one.id: made[one.id] for one in present if made[one.id]["rows"]}
        if not changed:
            return int(opened.version)
        offsets = {id_: base64.b64decode(note["offsets"]) for id_, note in changed.items()}
        operation = lance.LanceOperation.Update(
            updated_fragments=[_with_files(one, changed[one.id]) for one in present if one.id in changed],
            fields_modified=next(iter(changed.values()))["fields"],
            update_mode="rewrite_columns",
            updated_fragment_offsets=offsets if opened.has_stable_row_ids else None,
        )
        plan = WritePlan(APPEND, self.table.place, opened.schema, int(opened.version))
        return commit.commit(plan, operation, WriteId.of_job(), branch=self.table.branch)


def _with_files(fragment: FragmentMetadata, note: Mapping[str, Any]) -> FragmentMetadata:
    """The fragment as it is now, of which others may have deleted rows, with the files that were made."""
    from lance.fragment import DataFile

    return replace(fragment, files=[DataFile(**file) for file in note["files"]])


@dataclass(frozen=True)
class _Updater:
    """Computes the values that one fragment lacks, wherever it runs."""

    computer: Computer
    where: str

    def __call__(self, id_: int) -> dict[str, Any]:
        table = self.computer.table
        opened = table.open(self.computer.version)
        with translated(table.handle(), f"Computing the column {self.computer.column!r}"):
            fragment = opened.get_fragment(id_)
            assert fragment is not None, "a version keeps its fragments"
            scanned = fragment.scanner(
                columns=self.computer.chosen(opened),
                filter=self.where,
                with_row_id=True,
                batch_size=self.computer.batch_rows,
            )
            values = list(self._values(id_, scanned.to_reader()))
            rows = sum(batch.num_rows for batch in values)
            if not rows:
                return {"rows": 0, "files": []}
            made, fields, offsets = fragment.update_columns(_reader(values), left_on=ROW_ID, with_offsets=True)
        files = made.to_json()["files"]
        return {"rows": rows, "files": files, "fields": fields, "offsets": base64.b64encode(offsets).decode()}

    def _values(self, id_: int, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        first = 1
        for batch in rows:
            if not batch.num_rows:
                continue
            given = batch.drop_columns([ROW_ID])
            try:
                values = self.computer.function.values(given, self.computer.type, first)
            except InvalidInputError as error:
                raise InvalidInputError(
                    f"The column {self.computer.column!r} of {self.computer.table.name} was not filled, and nothing "
                    f"was committed: of the rows of fragment {id_} for which {self.where}, {error}."
                ) from error
            first += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch.column(ROW_ID), values], [ROW_ID, self.computer.column])


def _reader(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)
