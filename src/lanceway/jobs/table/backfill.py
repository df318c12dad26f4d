"""Backfill a column with what a function computes: a new one, or the rows of an existing one that have no value."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.jobs.state import Checkpoint
from lanceway.jobs.table import functions
from lanceway.jobs.table.functions import BatchFunction, Computer, Computes
from lanceway.spark.types import ROW_ID
from lanceway.tables import expressions
from lanceway.tables.errors import translated
from lanceway.writes import commit
from lanceway.writes import table_ref as tables
from lanceway.writes.commit import WriteId, retry_on_conflict
from lanceway.writes.plan import APPEND, WritePlan

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession


BATCH_ROWS = 1024
# The checkpoint's note about the commit to come.
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
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Add a column whose values a function computes from the columns `inputs`, or from all.

    The function is called with record batches of at most `batch_rows` rows, and returns a value for each row: an Arrow
    array, a list, or an array of numpy, of which one with two dimensions holds vectors. It is passed as such, or named
    by its import path, `package.module:function`, for which `folder` is searched as well. `data_type` is the column's;
    without it, the type of what the function returns for the first rows.

    With `update` the column exists, and the rows in which it is null get a value, or those for which `where` holds, a
    condition in the SQL of Lance. So rows that came later are filled, in `branch` if it is set.

    Safe to run again after a kill: what was computed is remembered in the file `state`, and not computed twice, unless
    the function's source has changed.

    Raises InvalidInputError, naming the row, where the function fails. Nothing is committed then.
    """
    context = JobContext(dry_run, threads, spark, state, watch, stop)
    if batch_rows < 1:
        raise InvalidInputError(f"batch_rows is {batch_rows}, but a batch needs at least 1 row.")
    if where is not None and not update:
        raise InvalidInputError("where chooses rows of a column that is there: it is for update.")
    if branch is not None and not update:
        raise InvalidInputError("branch chooses a branch whose column is there: it is for update.")
    expressions.check("backfill", where)
    target = JobTable.of(table, branch)
    location, condition = target.place.location, where if update else None
    named = function if isinstance(function, BatchFunction) else BatchFunction(function, folder)
    opened = target.open()
    summary = JobSummary("backfill", target.name, version=int(opened.version), dry_run=dry_run)
    settings = (location, column, named.fingerprint(), inputs, condition, update, branch)
    checkpoint = Checkpoint("backfill", target.name, *settings, file=state)
    with checkpoint.locked():
        if _was_done(target, checkpoint):  # a run that was killed after its commit
            checkpoint.forget()
            return summary.finish()
        _check(target, opened, column, inputs, update=update)
        computer = Computer(target, column, named, None if inputs is None else tuple(inputs), batch_rows)
        type_ = opened.schema.field(column).type if update else functions.infer_type(computer, opened, data_type)
        computer = replace(computer, type=type_)
        summary.facts = {"column": column, "type": str(type_), "function": named.name}
        job: _Backfill | _Update = _Backfill(target, computer, checkpoint, context, summary)
        if update:
            summary.facts["update"] = True
            job = _Update(target, computer, checkpoint, context, summary, where or f"`{column}` IS NULL")
        return job.planned(opened) if dry_run else retry_on_conflict(job.attempt)


def _was_done(table: JobTable, checkpoint: Checkpoint) -> bool:
    note = checkpoint.all().get(_COMMIT)
    handle = table.place.current().table
    return note is not None and WriteId(job=note["job"]).committed_version(handle, after=note["after"]) is not None


def _check(
    table: JobTable, opened: lance.LanceDataset, column: str, inputs: Iterable[str] | None, *, update: bool = False
) -> None:
    names = opened.schema.names
    if update and column not in names:
        raise TableColumnNotFoundError(f"{table.name} has no column {column!r} to update. It has: {', '.join(names)}.")
    if not update and (not column or column in names):
        why = "needs a name" if not column else f"is there already: {table.name} has {', '.join(names)}"
        raise InvalidInputError(f"The column {column!r} cannot be added: it {why}. Update it, or choose another name.")
    for name in inputs or ():
        if name not in names:
            raise TableColumnNotFoundError(f"{table.name} has no column {name!r}. It has: {', '.join(names)}.")


@dataclass
class _Filling:
    """A column that is filled fragment by fragment; what an earlier run has computed is used again."""

    table: JobTable
    computer: Computer
    checkpoint: Checkpoint
    context: JobContext
    summary: JobSummary

    def _opened(self) -> lance.LanceDataset:
        """Open the version that is read, and note which it is: others may commit before this does."""
        opened = self.table.open()
        self.summary.facts["source_version"] = int(opened.version)
        return opened

    def compute(
        self,
        work: Callable[[tuple[int, int]], dict[str, Any]],
        present: Sequence[FragmentMetadata],
        keys: Mapping[int, str],
        notes: dict[int, Any],
    ) -> bool:
        """Add the notes of fragments that have none yet. Return False where the job was stopped before all had one.

        A note says what is to be committed for a fragment. It is kept in the checkpoint under the fragment's key.
        """
        counts = {fragment.id: job_table.rows(fragment) for fragment in present}
        # Each part is a fragment, with the number that its first row has in the table.
        parts, first = [], 1
        for id_, rows in counts.items():
            if id_ not in notes:
                parts.append((id_, first))
            first += rows
        self.summary.parts, total = len(present), 0
        self.summary.facts.setdefault("computed", 0)
        self.context.progress(JobProgress(len(notes), len(present)))
        for (id_, _), note in executor.run_parts(work, parts, self.context):
            self.checkpoint.keep(keys[id_], note)
            notes[id_] = note
            rows = note.get("rows", counts[id_])
            total += rows
            self.summary.facts["computed"] += bool(rows)
            self.context.progress(JobProgress(len(notes), len(present), total))
        self.summary.done = len(notes)
        return len(notes) == len(present)


@dataclass
class _Backfill(_Filling):
    """Adds a column to every fragment."""

    def planned(self, opened: lance.LanceDataset) -> JobSummary:
        present = job_table.fragments(opened)
        self.summary.parts, self.summary.rows = len(present), sum(map(job_table.rows, present))
        return self.summary.finish()

    def attempt(self) -> JobSummary:
        opened = self._opened()
        _check(self.table, opened, self.computer.column, self.computer.inputs)
        present = job_table.fragments(opened)
        if present:
            # A column gets the next number that is free, and its file has it.
            prefix = f"{int(opened.max_field_id)} {self.computer.type}"
            keys = {fragment.id: f"{prefix} {job_table.identity(fragment)}" for fragment in present}
            notes = self._believed(keys)
            if not self.compute(replace(self.computer, version=int(opened.version)), present, keys, notes):
                return self.summary.finish(stopped=True)
            self._commit(opened, present, notes)
            self._tidy(notes)
        else:
            functions.add_empty(self.computer, opened)
        self.summary.version, self.summary.changed = int(self.table.open().version), True
        self.summary.rows = sum(map(job_table.rows, present))
        return self.summary.finish()

    def _believed(self, keys: Mapping[int, str]) -> dict[int, Any]:
        """Return what an earlier run has computed, as far as its files are there."""
        store, notes = self.table.handle().store(), self.checkpoint.all()
        return {
            id_: notes[key] for id_, key in keys.items() if key in notes and store.exists(functions.key(notes[key]))
        }

    def _commit(self, opened: lance.LanceDataset, present: Sequence[FragmentMetadata], notes: dict[int, Any]) -> None:
        import lance

        fragments = [functions.with_file(fragment, notes[fragment.id]) for fragment in present]
        operation = lance.LanceOperation.Merge(fragments, functions.schema(notes[present[0].id]))
        write, version = WriteId.of_job(), int(opened.version)
        self.checkpoint.keep(_COMMIT, {"job": write.job, "after": version})
        commit.commit(WritePlan(APPEND, self.table.place, opened.schema, version), operation, write, strict=True)

    def _tidy(self, used: Mapping[int, Any]) -> None:
        """Remove what was computed for fragments that are gone, and all notes."""
        files = {functions.key(note) for part, note in self.checkpoint.all().items() if part != _COMMIT}
        self.table.handle().store().delete(*(files - set(map(functions.key, used.values()))))
        self.checkpoint.forget()


@dataclass
class _Update(_Filling):
    """Gives the rows for which `where` holds what the function computes."""

    where: str

    def planned(self, opened: lance.LanceDataset) -> JobSummary:
        with translated(self.table.handle(), "Counting the rows"):
            self.summary.rows = int(opened.count_rows(self.where))
        self.summary.parts = len(opened.get_fragments())
        return self.summary.finish()

    def attempt(self) -> JobSummary:
        opened = self._opened()
        present = job_table.fragments(opened)
        keys = {fragment.id: job_table.identity(fragment) for fragment in present}
        notes = self._believed(keys)
        work = _Updater(replace(self.computer, version=int(opened.version)), self.where)
        if not self.compute(work, present, keys, notes):
            return self.summary.finish(stopped=True)
        self.summary.version = self._commit(opened, present, notes)
        self._tidy(notes)
        self.summary.rows = sum(note["rows"] for note in notes.values())
        self.summary.changed = self.summary.rows > 0
        return self.summary.finish()

    def _believed(self, keys: Mapping[int, str]) -> dict[int, Any]:
        """Return what an earlier run has computed, as far as its files are there."""
        store, notes = self.table.handle().store(), self.checkpoint.all()
        return {
            id_: notes[key]
            for id_, key in keys.items()
            # The last file is the one that was made; those before are the fragment's, and are there if it is.
            if key in notes and all(store.exists(self.table.key(file["path"])) for file in notes[key]["files"][-1:])
        }

    def _tidy(self, used: Mapping[int, Any]) -> None:
        """Remove what was computed for fragments that are gone, and all notes."""
        built_files, used_files = (
            {note["files"][-1]["path"] for note in notes if note["rows"]}
            for notes in (self.checkpoint.all().values(), used.values())
        )
        self.table.handle().store().delete(*(self.table.key(file) for file in built_files - used_files))
        self.checkpoint.forget()

    def _commit(self, opened: lance.LanceDataset, present: Sequence[FragmentMetadata], notes: Mapping[int, Any]) -> int:
        import lance

        changed = {id_: note for id_, note in notes.items() if note["rows"]}
        if not changed:
            return int(opened.version)
        offsets = {id_: base64.b64decode(note["offsets"]) for id_, note in changed.items()}
        operation = lance.LanceOperation.Update(
            updated_fragments=[
                _with_files(fragment, changed[fragment.id]) for fragment in present if fragment.id in changed
            ],
            fields_modified=next(iter(changed.values()))["fields"],
            update_mode="rewrite_columns",
            updated_fragment_offsets=offsets if opened.has_stable_row_ids else None,
        )
        plan = WritePlan(APPEND, self.table.place, opened.schema, int(opened.version))
        return commit.commit(plan, operation, WriteId.of_job(), branch=self.table.branch)


def _with_files(fragment: FragmentMetadata, note: Mapping[str, Any]) -> FragmentMetadata:
    """Return the fragment as it is now, of which others may have deleted rows, with the files that were made."""
    from lance.fragment import DataFile

    return replace(fragment, files=[DataFile(**file) for file in note["files"]])


@dataclass(frozen=True)
class _Updater:
    """Computes the values that one fragment lacks, wherever it runs."""

    computer: Computer
    where: str

    def __call__(self, part: tuple[int, int]) -> dict[str, Any]:
        id_, _ = part
        table = self.computer.table
        opened = table.open(self.computer.version)
        with translated(table.handle(), f"Computing the column {self.computer.column!r}"):
            fragment = opened.get_fragment(id_)
            assert fragment is not None, "a version keeps its fragments"
            scanned = fragment.scanner(
                columns=self.computer.columns(opened),
                filter=self.where,
                with_row_id=True,
                batch_size=self.computer.batch_rows,
            )
            values = list(self._values(id_, scanned.to_reader()))
            rows = sum(batch.num_rows for batch in values)
            if not rows:
                return {"rows": 0, "files": []}
            updated, fields, offsets = fragment.update_columns(_reader(values), left_on=ROW_ID, with_offsets=True)
        files = updated.to_json()["files"]
        return {"rows": rows, "files": files, "fields": fields, "offsets": base64.b64encode(offsets).decode()}

    def _values(self, id_: int, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        first = 1
        for batch in rows:
            if not batch.num_rows:
                continue
            inputs = batch.drop_columns([ROW_ID])
            try:
                values = self.computer.function.values(inputs, self.computer.type, first)
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
