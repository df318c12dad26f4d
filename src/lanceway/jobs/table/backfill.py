"""A column computed by a Python function and added to a table: every fragment by itself, all of them in one commit.

What was computed before a kill is used again. Rows that others append meanwhile are computed before the commit, so
that the column has a value in every row when it appears.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from lanceway.jobs import job_table, parts, running
from lanceway.jobs.job_table import Held
from lanceway.jobs.kept import Kept
from lanceway.jobs.running import Stop
from lanceway.jobs.summaries import Step, Summary, Watcher, unwatched
from lanceway.jobs.table import columns
from lanceway.jobs.table.columns import Computer
from lanceway.jobs.table.functions import Computes, Function
from lanceway.jobs.table.updating import Update
from lanceway.writes import commit, write_id
from lanceway.writes import named as tables
from lanceway.writes.conflicts import insistently
from lanceway.writes.plan import APPEND, Plan
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession

BATCH_ROWS = 1024
# The note under which the commit to come is kept.
_COMMIT = "commit"


def backfill(
    table: tables.Named,
    column: str,
    function: str | Computes | Function,
    *,
    inputs: Sequence[str] | None = None,
    data_type: pa.DataType | None = None,
    batch_rows: int = BATCH_ROWS,
    update: bool = False,
    where: str | None = None,
    branch: str | None = None,
    folder: str | None = None,
    dry_run: bool = False,
    threads: int = parts.THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = unwatched,
    stop: Stop = running.never,
) -> Summary:
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
    running.check_threads(threads)
    if batch_rows < 1:
        raise InvalidInputError(f"batch_rows is {batch_rows}, but a batch needs at least 1 row.")
    if where is not None and not update:
        raise InvalidInputError("where chooses rows of a column that is there: it is for update.")
    if branch is not None and not update:
        raise InvalidInputError("branch chooses a branch whose column is there: it is for update.")
    found = Held.of(table, branch)
    named = function if isinstance(function, Function) else Function(function, folder)
    opened = found.open()
    summary = Summary("backfill", found.name, dry_run, version=int(opened.version))
    settings = (found.place.location, column, named.fingerprint(), inputs, where if update else None, update, branch)
    kept = Kept("backfill", found.name, *settings, file=state)
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
        computer = replace(computer, type=columns.learned(computer, opened, data_type))
        summary.facts = {"column": column, "type": str(computer.type), "function": named.name}
        if dry_run:
            present = job_table.fragments(opened)
            summary.parts, summary.rows = len(present), sum(map(job_table.rows, present))
            return summary.ended()
        return _Backfill(found, computer, kept, summary).run(threads, spark, watch, stop)


def _was_done(found: Held, kept: Kept) -> bool:
    note = kept.all().get(_COMMIT)
    handle = found.place.current().table
    return note is not None and write_id.version_of(handle, Mark(job=note["job"]), after=note["after"]) is not None


def _check(
    found: Held, opened: lance.LanceDataset, column: str, inputs: Iterable[str] | None, *, update: bool = False
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
    table: Held
    computer: Computer
    kept: Kept
    summary: Summary

    def run(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> Summary:
        return insistently(lambda: self._attempt(threads, spark, watch, stop))

    def _attempt(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> Summary:
        opened = self.table.open()
        _check(self.table, opened, self.computer.column, self.computer.inputs)
        present = job_table.fragments(opened)
        if not present:
            columns.add_empty(self.computer, opened)
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
        made = {id_: notes[key] for id_, key in keys.items() if key in notes and store.exists(columns.key(notes[key]))}
        self.summary.parts, rows = len(present), 0
        self.summary.facts.setdefault("computed", 0)
        before, given = 1, []
        for fragment in present:
            if fragment.id not in made:
                given.append((fragment.id, before))
            before += job_table.rows(fragment)
        counts = {fragment.id: job_table.rows(fragment) for fragment in present}
        watch(Step(len(made), len(present)))
        work = replace(self.computer, version=int(opened.version))
        for (id_, _), answer in parts.carried_out(work, given, threads=threads, spark=spark, stop=stop):
            self.kept.keep(keys[id_], answer)
            made[id_] = answer
            rows += counts[id_]
            self.summary.facts["computed"] += 1
            watch(Step(len(made), len(present), rows))
        self.summary.done = len(made)
        return made

    def _commit(self, opened: lance.LanceDataset, present: Sequence[FragmentMetadata], made: dict[int, Any]) -> None:
        import lance

        whole = [columns.extended(fragment, made[fragment.id]) for fragment in present]
        operation = lance.LanceOperation.Merge(whole, columns.schema(made[present[0].id]))
        mark, version = Mark.of_job(), int(opened.version)
        self.kept.keep(_COMMIT, {"job": mark.job, "after": version})
        commit.commit(Plan(APPEND, self.table.place, opened.schema, version), operation, mark, strict=True)

    def _tidy(self, made: Mapping[int, Any]) -> None:
        """Remove what was computed of fragments that are no more, and all notes."""
        files = {columns.key(note) for part, note in self.kept.all().items() if part != _COMMIT}
        self.table.handle().store().delete(*(files - set(map(columns.key, made.values()))))
        self.kept.forget()

    def _ended(self, present: Sequence[FragmentMetadata]) -> Summary:
        self.summary.version, self.summary.changed = int(self.table.open().version), True
        self.summary.rows = sum(map(job_table.rows, present))
        return self.summary.ended()
