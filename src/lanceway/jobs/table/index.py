"""An index built from segments: workers index some fragments each, and one commit makes it theirs all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableIndexRequest

from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableIndexNotFoundError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import Stop
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary, Watcher, unwatched
from lanceway.jobs.state import Checkpoint
from lanceway.jobs.table import segments
from lanceway.tables import indices
from lanceway.tables.errors import translated
from lanceway.tables.indices import Prepared
from lanceway.writes import table_ref
from lanceway.writes.commit import insistently

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession

_OPERATION = "index"


def index(
    table: table_ref.TableName,
    column: str,
    kind: str,
    *,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    replace: bool = False,
    segments: int | None = None,
    dry_run: bool = False,
    threads: int = executor.PART_THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = unwatched,
    stop: Stop = executor.never,
) -> JobSummary:
    """Index a column: `kind` and `options` are those of `create_table_index`.

    So many `segments` are built side by side, as many as `threads` if it is not set; a search looks into each of
    them. Those that were built before a kill are used again: `state` is the file in which they are remembered.
    Others may write meanwhile: their rows are found without the index until it is refreshed.

    Raises TableIndexAlreadyExistsError where the name is taken and `replace` is not set.
    """
    executor.check_threads(threads)
    if segments is not None and segments < 1:
        raise InvalidInputError(f"segments is {segments}, but an index has at least 1.")
    found = JobTable.of(table)
    given = {"id": list(found.place.target.id) or ["table"], "column": column, "index_type": kind, "name": name}
    request = CreateTableIndexRequest.model_validate({**given, **(options or {})})
    made = indices.prepare(found.handle(), found.open(), request, _OPERATION, replace=replace)
    kept = Checkpoint(
        _OPERATION, found.name, found.place.location, column, made.kind, made.name, made.options, file=state
    )
    job = _Indexing(
        found, column, made, kept, replace, segments or threads, JobSummary(_OPERATION, found.name, dry_run)
    )
    if dry_run:
        return job.planned()
    with kept.held():
        return job.run(request, threads, spark, watch, stop)


@dataclass
class _Indexing:
    table: JobTable
    column: str
    index: Prepared
    kept: Checkpoint
    replace: bool
    segments: int
    summary: JobSummary

    def planned(self) -> JobSummary:
        opened = self.table.open()
        found = job_table.fragments(opened)
        self.summary.version, self.summary.rows = int(opened.version), sum(map(job_table.rows, found))
        self.summary.parts = len(list(job_table.grouped(found, self.segments)))
        self._tell(self.summary.parts)
        return self.summary.ended()

    def run(
        self,
        request: CreateTableIndexRequest,
        threads: int,
        spark: SparkSession | None,
        watch: Watcher,
        stop: Stop,
    ) -> JobSummary:
        return insistently(lambda: self._attempt(request, threads, spark, watch, stop))

    def _attempt(
        self,
        request: CreateTableIndexRequest,
        threads: int,
        spark: SparkSession | None,
        watch: Watcher,
        stop: Stop,
    ) -> JobSummary:
        opened = self.table.open()
        present = {fragment.id: fragment for fragment in job_table.fragments(opened)}
        if not present:  # there is nothing to share out
            indices.create(self.table.handle(), request)
            return self._ended([], rows=0)
        done = self._believed(present)
        if not self._build(int(opened.version), present, done, threads, spark, watch, stop):
            return self.summary.ended(stopped=True)
        self._commit(done)
        self._tidy(done)
        return self._ended(done, rows=sum(map(job_table.rows, present.values())))

    def _believed(self, present: Mapping[int, FragmentMetadata]) -> list[dict[str, Any]]:
        """The segments that an earlier attempt built of fragments that are still what they were."""
        now = {str(id_): job_table.identity(fragment) for id_, fragment in present.items()}
        store = self.table.handle().store()
        return [
            note["segment"]
            for note in self.kept.all().values()
            if note["fragments"].items() <= now.items() and all(map(store.exists, segments.keys(note["segment"])))
        ]

    def _build(
        self,
        version: int,
        present: Mapping[int, FragmentMetadata],
        done: list[dict[str, Any]],
        threads: int,
        spark: SparkSession | None,
        watch: Watcher,
        stop: Stop,
    ) -> bool:
        """Build what is missing, and add it to `done`. False where the job was stopped before all was there."""
        covered = {id_ for segment in done for id_ in segment["fragment_ids"]}
        missing = [fragment for id_, fragment in present.items() if id_ not in covered]
        groups = list(job_table.grouped(missing, max(1, self.segments - len(done))))
        self.summary.parts, self.summary.done = len(done) + len(groups), len(done)
        watch(JobProgress(len(done), self.summary.parts))
        if not groups:
            return True
        model = segments.train(self.table, version, self.column, self.index)
        work = segments.Builder(self.table, version, self.column, self.index, model)
        given = [[fragment.id for fragment in group] for group in groups]
        rows = 0
        for ids, made in executor.carried_out(work, given, threads=threads, spark=spark, stop=stop):
            own = {str(id_): job_table.identity(present[id_]) for id_ in ids}
            self.kept.keep(made["uuid"], {"segment": made, "fragments": own})
            done.append(made)
            rows += sum(job_table.rows(present[id_]) for id_ in ids)
            self.summary.done = len(done)
            watch(JobProgress(len(done), self.summary.parts, rows))
        return len(done) == self.summary.parts

    def _commit(self, done: list[dict[str, Any]]) -> None:
        opened = self.table.open()
        now = {fragment.id for fragment in job_table.fragments(opened)}
        if not all(now.issuperset(segment["fragment_ids"]) for segment in done):
            raise ConcurrentModificationError(f"{self.table.name} was compacted while it was indexed. Run it again.")
        with translated(self.table.handle(), f"Committing the index {self.index.name!r}"):
            opened.commit_existing_index_segments(self.index.name, self.column, [*map(segments.read, done)])

    def _tidy(self, done: list[dict[str, Any]]) -> None:
        """Remove segments over fragments that are no more, and all notes."""
        built = {key for note in self.kept.all().values() for key in segments.keys(note["segment"])}
        used = {key for segment in done for key in segments.keys(segment)}
        self.table.handle().store().delete(*(built - used))
        self.kept.forget()

    def _ended(self, done: list[dict[str, Any]], rows: int) -> JobSummary:
        self.summary.version, self.summary.changed = int(self.table.open().version), True
        self.summary.rows = rows
        self.summary.bytes = sum(size for segment in done for _, size in segment["files"])
        self._tell(len(done))
        return self.summary.ended()

    def _tell(self, count: int) -> None:
        self.summary.facts = {
            "index": self.index.name,
            "column": self.column,
            "index_type": self.index.kind,
            "segments": count,
        }


def refresh_index(
    table: table_ref.TableName,
    names: Sequence[str] = (),
    *,
    retrain: bool = False,
    dry_run: bool = False,
    watch: Watcher = unwatched,
    stop: Stop = executor.never,
) -> JobSummary:
    """Add rows that are in no index yet to the indices of these names, or to all. One version is made for each.

    With `retrain` an index is made anew over all rows, for vectors that have drifted from what it was trained with.

    Raises TableIndexNotFoundError for a name that no index has.
    """
    found = JobTable.of(table)
    missing = _missing(found, found.open(), names)
    summary = JobSummary("refresh-index", found.name, dry_run, parts=len(missing))
    summary.rows = sum(missing.values())
    summary.facts = {"indices": missing}
    if not dry_run:
        summary.rows = 0
        for name, rows in missing.items():
            if stop():
                break
            watch(JobProgress(summary.done, summary.parts, summary.rows))
            if rows or retrain:
                insistently(partial(_refresh, found, name, retrain))
                summary.changed = True
            summary.done += 1
            summary.rows += rows
    summary.version = int(found.open().version)
    return summary.ended(stopped=not dry_run and summary.done < summary.parts)


def _missing(found: JobTable, opened: lance.LanceDataset, names: Sequence[str]) -> Mapping[str, int]:
    """How many rows each index lacks."""
    with translated(found.handle(), "Looking at the indices"):
        known = sorted(index.name for index in opened.describe_indices())
        for name in names:
            if name not in known:
                has = f"It has: {', '.join(known)}." if known else "It has none."
                raise TableIndexNotFoundError(f"{found.name} has no index {name!r}. {has}")
        return {name: int(opened.stats.index_stats(name)["num_unindexed_rows"]) for name in names or known}


def _refresh(found: JobTable, name: str, retrain: bool) -> None:
    opened = found.open()
    with translated(found.handle(), f"Refreshing the index {name!r}"):
        opened.optimize.optimize_indices(index_names=[name], retrain=retrain)
