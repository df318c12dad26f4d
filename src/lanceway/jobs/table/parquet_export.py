"""Export one version of a table as Parquet files. A note in the folder says what is exported to it, and how far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InternalError, InvalidInputError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.jobs.table.parquet_files import Files
from lanceway.tables import expressions
from lanceway.tables.errors import translated
from lanceway.writes import table_ref

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import SparkSession

# What is exported; and below it a note for each part that is done, for as long as not all are.
ABOUT, _NOTES = "_lanceway.json", "_lanceway"
# A part has about so many bytes of the table, and a small table so many parts.
_PART, _FEW = 256 * 2**20, 8


def export(
    table: table_ref.TableName,
    to: str,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    version: int | None = None,
    storage_options: Mapping[str, str] | None = None,
    dry_run: bool = False,
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Write the rows of the latest version, or of `version`, to Parquet files in the folder or at the URI `to`.

    The folder must be empty, or hold the same export: one that was killed goes on with the version that it had begun
    with. What was written is counted and compared with what the table holds.
    """
    expressions.check("export", where)
    context = JobContext(dry_run, threads, spark, progress=watch, should_stop=stop)
    target, files = JobTable.of(table, reading=True), Files.at(to, storage_options)
    request = {"table": target.name, "columns": None if columns is None else list(columns), "where": where}
    begun = _begun(files, {**request, "location": target.place.location}, version)
    opened = target.open(begun["version"] if begun else version)
    about = {**request, "location": target.place.location, "version": int(opened.version)}
    summary = JobSummary("export", target.name, version=int(opened.version), dry_run=dry_run)
    job = _Export(target, files, opened, about, context, summary)
    if begun and begun.get("done"):
        return job.check(begun)
    return job.run()


def _begun(files: Files, request: Mapping[str, Any], version: int | None) -> dict[str, Any] | None:
    """Return the folder's own note about its export. Raises InvalidInputError where it holds something else."""
    store = files.store()
    data = store.read(ABOUT)
    if data is None:
        if store.has_any():
            raise InvalidInputError(f"{files.location} is not empty, and holds no export. Choose an empty folder.")
        return None
    begun: dict[str, Any] = json.loads(data)
    same = all(begun.get(key) == value for key, value in request.items()) and version in (None, begun["version"])
    if not same:
        raise InvalidInputError(
            f"{files.location} holds an export of version {begun.get('version')} of {begun.get('table')}, of other "
            "rows or columns than were asked for. Choose an empty folder."
        )
    return begun


@dataclass
class _Export:
    table: JobTable
    files: Files
    opened: lance.LanceDataset
    about: dict[str, Any]
    context: JobContext
    summary: JobSummary

    def run(self) -> JobSummary:
        expected = self._expected()
        parts = self._parts()
        self.summary.parts, self.summary.facts = len(parts), {"to": self.files.location, "files": 0}
        if self.context.dry_run:
            self.summary.rows = expected
            return self.summary.finish()
        store = self.files.store()
        store.put(ABOUT, json.dumps(self.about).encode())
        notes = {number: note for number in parts if (note := _note(self.files, number)) is not None}
        self._count(notes)
        work = _Exporter(self.table, self.files, self.about)
        missing = [(number, ids) for number, ids in parts.items() if number not in notes]
        for (number, _), note in executor.run_parts(work, missing, self.context):
            notes[number] = note
            self._count(notes)
        if len(notes) < len(parts):
            return self.summary.finish(stopped=True)
        if self.summary.rows != expected:
            raise InternalError(
                f"{self.table.name} has {expected:,} rows to export, and {self.summary.rows:,} were written to "
                f"{self.files.location}. Empty the folder, and run the job again."
            )
        done = {**self.about, "done": True, "rows": expected, "files": _files(notes)}
        store.put(ABOUT, json.dumps(done).encode())
        store.delete(*(_key(number) for number in parts))
        store.remove_empty_folders(_NOTES)
        self.summary.changed = True
        return self.summary.finish()

    def check(self, begun: Mapping[str, Any]) -> JobSummary:
        """Check the files of a complete export, and write nothing."""
        store = self.files.store()
        gone = [
            file["key"] for file in begun["files"] if getattr(store.head(file["key"]), "size", None) != file["bytes"]
        ]
        if gone:
            raise InvalidInputError(
                f"{self.files.location} holds an export whose file {gone[0]} is missing or was changed. Empty the "
                "folder, and run the job again."
            )
        self.summary.rows, self.summary.bytes = begun["rows"], sum(file["bytes"] for file in begun["files"])
        self.summary.facts = {"to": self.files.location, "files": len(begun["files"])}
        return self.summary.finish()

    def _expected(self) -> int:
        with translated(self.table.handle(), "Counting the rows"):
            return int(self.opened.count_rows(self.about["where"]))

    def _parts(self) -> dict[int, list[int]]:
        """Group the fragments that are exported together, the same way for the same version."""
        present = job_table.fragments(self.opened)
        count = max(sum(map(job_table.size, present)) // _PART, min(len(present), _FEW))
        groups = [[fragment.id for fragment in group] for group in job_table.grouped(present, count)]
        return dict(enumerate(groups or [[]]))

    def _count(self, notes: Mapping[int, Any]) -> None:
        files = _files(notes)
        self.summary.done, self.summary.facts["files"] = len(notes), len(files)
        self.summary.rows = sum(file["rows"] for file in files)
        self.summary.bytes = sum(file["bytes"] for file in files)
        self.context.progress(JobProgress(len(notes), self.summary.parts, self.summary.rows))


@dataclass(frozen=True)
class _Exporter:
    """Writes the files of some fragments, wherever it runs, and then the note that they are done."""

    table: JobTable
    files: Files
    about: Mapping[str, Any]

    def __call__(self, part: tuple[int, list[int]]) -> list[dict[str, Any]]:
        number, ids = part
        opened, handle = self.table.open(self.about["version"]), self.table.handle()
        with translated(handle, "Reading rows"):
            reader = opened.scanner(
                columns=self.about["columns"],
                filter=self.about["where"],
                fragments=[fragment for fragment in opened.get_fragments() if fragment.fragment_id in set(ids)],
                blob_handling="all_binary",
            ).to_reader()

        def batches() -> Iterator[pa.RecordBatch]:
            with translated(handle, "Reading rows"):
                yield from reader

        note = self.files.write(f"part-{number:05}", reader.schema, batches())
        self.files.store().put(_key(number), json.dumps(note).encode())
        return note


def _key(number: int) -> str:
    return f"{_NOTES}/part-{number:05}.json"


def _note(files: Files, number: int) -> list[dict[str, Any]] | None:
    """Return what an earlier run wrote of a part, if all of it is there."""
    store = files.store()
    data = store.read(_key(number))
    if data is None:
        return None
    files_written: list[dict[str, Any]] = json.loads(data)
    complete = all(getattr(store.head(file["key"]), "size", None) == file["bytes"] for file in files_written)
    return files_written if complete else None


def _files(notes: Mapping[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [file for number in sorted(notes) for file in notes[number]]
