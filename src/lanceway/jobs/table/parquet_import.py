"""Import Parquet files into a table: each is written by itself, all of them in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InternalError, InvalidInputError, TableAlreadyExistsError
from lanceway.errors import TableSchemaValidationError as SchemaError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.jobs.state import Checkpoint
from lanceway.jobs.table.parquet_files import Files, plain
from lanceway.tables import dataset
from lanceway.tables.storage.store import Object
from lanceway.writes import commit, stage, table_ref
from lanceway.writes import plan as planning
from lanceway.writes.commit import WriteId
from lanceway.writes.plan import APPEND, CREATE, OVERWRITE, WritePlan
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MODES = (APPEND, CREATE, OVERWRITE)
_COMMIT = "commit"


def import_(
    table: table_ref.TableName,
    source: str,
    *,
    mode: str = APPEND,
    storage_options: Mapping[str, str] | None = None,
    dry_run: bool = False,
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Add the rows of Parquet files to a table, which is made if it is missing; `source` is a file, folder or URI.

    With mode `create` the table must not be there, with `overwrite` its rows are replaced. Rows are counted, and the
    job ends in one version or none. Safe to run again after a kill: what was written is remembered in the file
    `state` and not written twice. Once it is committed, the same files are imported again when asked again.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode is {mode!r}, but must be one of {', '.join(MODES)}.")
    context = JobContext(dry_run, threads, spark, state, watch, stop)
    target, files = table_ref.resolve(table), Files.at(source, storage_options)
    sources = files.every()
    summary = JobSummary(
        "import", target.name, parts=len(sources), bytes=sum(file.size for file in sources), dry_run=dry_run
    )
    summary.facts = {"source": files.location, "mode": mode, "files": len(sources)}
    schema = files.open(sources[0].key).schema_arrow
    checkpoint = Checkpoint("import", target.name, files.location, mode, file=state)
    with checkpoint.locked():
        landed = _landed(target, checkpoint)
        if landed is not None:  # a run that was killed after its commit
            checkpoint.forget()
            summary.version, summary.done = landed, len(sources)
            return summary.finish()
        plan = _plan(target, schema, mode, dry_run)
        if plan is None:
            summary.rows = files.rows(sources)
            return summary.finish()
        return _Import(plan, files, sources, checkpoint, context, summary).run()


def _landed(target: TableRef, checkpoint: Checkpoint) -> int | None:
    note, place = checkpoint.all().get(_COMMIT), target.destination()
    if note is None or place is None or not place.has_data():
        return None
    return WriteId(job=note["job"]).committed_version(place.current().table, after=note["after"])


def _plan(target: TableRef, schema: pa.Schema, mode: str, dry_run: bool) -> WritePlan | None:
    """Plan the import. Return None for a dry run, for which nothing is declared."""
    place = target.destination()
    if place is None or not place.has_data():
        if dry_run:
            return None
        return WritePlan(CREATE, place or target.declare(), schema)
    if mode == CREATE:
        raise TableAlreadyExistsError(f"{target.name} cannot be created: it already exists at {place.location}.")
    place.require_writable()
    opened = dataset.open_at(place.reading)
    if mode == OVERWRITE:
        return None if dry_run else WritePlan(OVERWRITE, place, schema, int(opened.version))
    planning.require_fit(target, plain(schema), opened.schema)
    return None if dry_run else WritePlan(APPEND, place, opened.schema, int(opened.version))


@dataclass
class _Import:
    plan: WritePlan
    files: Files
    sources: Sequence[Object]
    checkpoint: Checkpoint
    context: JobContext
    summary: JobSummary

    def run(self) -> JobSummary:
        staged = self._believed()
        self._count(staged)
        mark = WriteId.of_job()
        missing = [file.key for file in self.sources if file.key not in staged]
        work = _Importer(self.plan, self.files)
        try:
            for key, fragments in executor.run_parts(work, missing, self.context):
                self.checkpoint.keep(key, {"is": self._identity(key), "fragments": fragments})
                staged[key] = fragments
                self._count(staged)
        except (InvalidInputError, SchemaError):  # to run it again would not help
            self._give_up(staged, mark)
            raise
        if len(staged) < len(self.sources):
            return self.summary.finish(stopped=True)
        self._publish(staged, mark)
        self.checkpoint.forget()
        return self.summary.finish()

    def _publish(self, staged: Mapping[str, Sequence[str]], mark: WriteId) -> None:
        self.checkpoint.keep(_COMMIT, {"job": mark.job, "after": self.plan.version})
        try:
            commit.publish(self.plan, [fragment for file in self.sources for fragment in staged[file.key]], mark)
        except (InvalidInputError, SchemaError, TableAlreadyExistsError):
            self._give_up(staged, mark)
            raise
        opened = dataset.open_at(self.plan.destination.current().reading)
        self.summary.version, self.summary.changed = int(opened.version), True

    def _give_up(self, staged: Mapping[str, Sequence[str]], mark: WriteId) -> None:
        commit.give_up(self.plan, [fragment for fragments in staged.values() for fragment in fragments], mark)
        self.checkpoint.forget()

    def _believed(self) -> dict[str, list[str]]:
        """Return what an earlier run wrote of files that have not changed, for the same table, and remove the rest."""
        store = self.plan.destination.current().table.store()
        keys = {file.key for file in self.sources}
        staged: dict[str, list[str]] = {}
        for key, note in self.checkpoint.all().items():
            if key == _COMMIT:
                continue
            same = key in keys and note["is"] == self._identity(key)
            if same and all(map(store.exists, stage.files(note["fragments"]))):
                staged[key] = note["fragments"]
            else:
                stage.discard(self.plan.destination, note["fragments"])
        return staged

    def _identity(self, key: str) -> list[Any]:
        file = next(file for file in self.sources if file.key == key)
        return [file.size, file.e_tag, self.plan.kind, self.plan.destination.location, str(self.plan.schema)]

    def _count(self, staged: Mapping[str, Sequence[str]]) -> None:
        self.summary.done = len(staged)
        self.summary.rows = sum(_rows(fragments) for fragments in staged.values())
        self.context.progress(JobProgress(len(staged), len(self.sources), self.summary.rows))


@dataclass(frozen=True)
class _Importer:
    """Writes the rows of one file as fragments, wherever it runs, and compares their number with the file's own."""

    plan: WritePlan
    files: Files

    def __call__(self, key: str) -> list[str]:
        opened = self.files.open(key)
        planning.require_fit(self.plan.destination.ref, plain(opened.schema_arrow), self.plan.schema)
        fragments = list(stage.stage(self.plan, self.files.batches(opened, key)))
        expected = int(opened.metadata.num_rows)
        if _rows(fragments) != expected:
            stage.discard(self.plan.destination, fragments)
            raise InternalError(
                f"{key} of {self.files.location} holds {expected:,} rows, and {_rows(fragments):,} were written. "
                "Run the job again."
            )
        return fragments


def _rows(fragments: Sequence[str]) -> int:
    return sum(map(job_table.rows, stage.from_json(fragments)))
