"""Values of a column that is there, computed by a Python function for the rows that lack them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.jobs import job_table, parts
from lanceway.jobs.job_table import Held
from lanceway.jobs.kept import Kept
from lanceway.jobs.running import Stop
from lanceway.jobs.summaries import Step, Summary, Watcher
from lanceway.jobs.table.columns import Computer
from lanceway.spark.types import ROW_ID
from lanceway.tables.errors import translated
from lanceway.writes import commit
from lanceway.writes.conflicts import insistently
from lanceway.writes.plan import APPEND, Plan
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession


@dataclass
class Update:
    """One job: the rows for which `where` holds get what the function computes."""

    table: Held
    computer: Computer
    where: str
    kept: Kept
    summary: Summary

    def planned(self, opened: lance.LanceDataset) -> Summary:
        with translated(self.table.handle(), "Counting the rows"):
            self.summary.rows = int(opened.count_rows(self.where))
        self.summary.parts = len(opened.get_fragments())
        return self.summary.ended()

    def run(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> Summary:
        return insistently(lambda: self._attempt(threads, spark, watch, stop))

    def _attempt(self, threads: int, spark: SparkSession | None, watch: Watcher, stop: Stop) -> Summary:
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
        watch(Step(len(made), len(present)))
        work = _Updater(replace(self.computer, version=int(opened.version)), self.where)
        given = [id_ for id_ in keys if id_ not in made]
        for id_, note in parts.carried_out(work, given, threads=threads, spark=spark, stop=stop):
            self.kept.keep(keys[id_], note)
            made[id_] = note
            rows += note["rows"]
            self.summary.facts["computed"] += bool(note["rows"])
            watch(Step(len(made), len(present), rows))
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
        plan = Plan(APPEND, self.table.place, opened.schema, int(opened.version))
        return commit.commit(plan, operation, Mark.of_job(), branch=self.table.branch)


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
