"""Index a column from segments: workers index some fragments each, and one commit joins them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableIndexRequest

from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableIndexNotFoundError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.jobs.state import Checkpoint
from lanceway.tables import indices
from lanceway.tables.errors import translated
from lanceway.tables.indices import Prepared
from lanceway.writes import table_ref
from lanceway.writes.commit import retry_on_conflict

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.dataset import Index
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
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    state: str | Path | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Index a column: `kind` and `options` are those of `create_table_index`.

    So many `segments` are built side by side, as many as `threads` if it is not set; a search looks into each of
    them. Those that were built before a kill are used again: `state` is the file in which they are remembered.
    Others may write at the same time: their rows are found without the index until it is refreshed.

    Raises TableIndexAlreadyExistsError where the name is taken and `replace` is not set.
    """
    context = JobContext(dry_run, threads, spark, state, watch, stop)
    if segments is not None and segments < 1:
        raise InvalidInputError(f"segments is {segments}, but an index has at least 1.")
    target = JobTable.of(table)
    location = target.place.location
    fields = {"id": list(target.place.ref.id) or ["table"], "column": column, "index_type": kind, "name": name}
    request = CreateTableIndexRequest.model_validate({**fields, **(options or {})})
    prepared = indices.prepare(target.handle(), target.open(), request, _OPERATION, replace=replace)
    settings = (location, column, prepared.kind, prepared.name, prepared.options)
    checkpoint = Checkpoint(_OPERATION, target.name, *settings, file=state)
    summary = JobSummary(_OPERATION, target.name, dry_run=dry_run)
    job = _Indexing(target, column, prepared, checkpoint, segments or threads, context, summary)
    if dry_run:
        return job.planned()
    with checkpoint.locked():
        return retry_on_conflict(lambda: job.attempt(request))


@dataclass
class _Indexing:
    table: JobTable
    column: str
    index: Prepared
    checkpoint: Checkpoint
    segments: int
    context: JobContext
    summary: JobSummary

    def planned(self) -> JobSummary:
        opened = self.table.open()
        present = job_table.fragments(opened)
        self.summary.version, self.summary.rows = int(opened.version), sum(map(job_table.rows, present))
        self.summary.parts = len(list(job_table.grouped(present, self.segments)))
        self._tell(self.summary.parts)
        return self.summary.finish()

    def attempt(self, request: CreateTableIndexRequest) -> JobSummary:
        """Build what is missing and commit it. Raises ConcurrentModificationError where fragments went away."""
        opened = self.table.open()
        present = {fragment.id: fragment for fragment in job_table.fragments(opened)}
        if not present:  # there is nothing to share out
            indices.create(self.table.handle(), request)
            return self._ended([], rows=0)
        done = self._believed(present)
        if not self._build(int(opened.version), present, done):
            return self.summary.finish(stopped=True)
        self._commit(done)
        self._tidy(done)
        return self._ended(done, rows=sum(map(job_table.rows, present.values())))

    def _believed(self, present: Mapping[int, FragmentMetadata]) -> list[dict[str, Any]]:
        """Return the segments that an earlier attempt built over fragments that have not changed."""
        now = {str(id_): job_table.identity(fragment) for id_, fragment in present.items()}
        store = self.table.handle().store()
        return [
            note["segment"]
            for note in self.checkpoint.all().values()
            if note["fragments"].items() <= now.items() and all(map(store.exists, segment_keys(note["segment"])))
        ]

    def _build(self, version: int, present: Mapping[int, FragmentMetadata], done: list[dict[str, Any]]) -> bool:
        """Build what is missing, and add it to `done`. Return False where the job was stopped before all was there."""
        covered = {id_ for segment in done for id_ in segment["fragment_ids"]}
        missing = [fragment for id_, fragment in present.items() if id_ not in covered]
        groups = list(job_table.grouped(missing, max(1, self.segments - len(done))))
        self.summary.parts, self.summary.done = len(done) + len(groups), len(done)
        self.context.progress(JobProgress(len(done), self.summary.parts))
        if not groups:
            return True
        model = train_model(self.table, version, self.column, self.index)
        work = SegmentBuilder(self.table, version, self.column, self.index, model)
        parts = [[fragment.id for fragment in group] for group in groups]
        rows = 0
        for ids, segment in executor.run_parts(work, parts, self.context):
            identities = {str(id_): job_table.identity(present[id_]) for id_ in ids}
            self.checkpoint.keep(segment["uuid"], {"segment": segment, "fragments": identities})
            done.append(segment)
            rows += sum(job_table.rows(present[id_]) for id_ in ids)
            self.summary.done = len(done)
            self.context.progress(JobProgress(len(done), self.summary.parts, rows))
        return len(done) == self.summary.parts

    def _commit(self, done: list[dict[str, Any]]) -> None:
        opened = self.table.open()
        now = {fragment.id for fragment in job_table.fragments(opened)}
        if not all(now.issuperset(segment["fragment_ids"]) for segment in done):
            raise ConcurrentModificationError(f"{self.table.name} was compacted while it was indexed. Run it again.")
        with translated(self.table.handle(), f"Committing the index {self.index.name!r}"):
            opened.commit_existing_index_segments(self.index.name, self.column, [*map(decode_segment, done)])

    def _tidy(self, done: list[dict[str, Any]]) -> None:
        """Remove segments over fragments that are gone, and all notes."""
        built = {key for note in self.checkpoint.all().values() for key in segment_keys(note["segment"])}
        used = {key for segment in done for key in segment_keys(segment)}
        self.table.handle().store().delete(*(built - used))
        self.checkpoint.forget()

    def _ended(self, done: list[dict[str, Any]], rows: int) -> JobSummary:
        self.summary.version, self.summary.changed = int(self.table.open().version), True
        self.summary.rows = rows
        self.summary.bytes = sum(size for segment in done for _, size in segment["files"])
        self._tell(len(done))
        return self.summary.finish()

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
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Add rows that are in no index yet to the indices of these names, or to all. One version is made for each.

    With `retrain` an index is rebuilt over all rows, for vectors that have drifted from what it was trained with.

    Raises TableIndexNotFoundError for a name that no index has.
    """
    context = JobContext(dry_run, progress=watch, should_stop=stop)
    target = JobTable.of(table)
    missing = _missing(target, target.open(), names)
    summary = JobSummary("refresh-index", target.name, parts=len(missing), dry_run=dry_run)
    summary.rows = sum(missing.values())
    summary.facts = {"indices": missing}
    if not dry_run:
        summary.rows = 0
        for name, rows in missing.items():
            if context.should_stop():
                break
            context.progress(JobProgress(summary.done, summary.parts, summary.rows))
            if rows or retrain:
                retry_on_conflict(partial(_refresh, target, name, retrain))
                summary.changed = True
            summary.done += 1
            summary.rows += rows
    summary.version = int(target.open().version)
    return summary.finish(stopped=not dry_run and summary.done < summary.parts)


def _missing(table: JobTable, opened: lance.LanceDataset, names: Sequence[str]) -> Mapping[str, int]:
    """Return how many rows each index lacks."""
    with translated(table.handle(), "Looking at the indices"):
        existing = sorted(index.name for index in opened.describe_indices())
        for name in names:
            if name not in existing:
                has = f"It has: {', '.join(existing)}." if existing else "It has none."
                raise TableIndexNotFoundError(f"{table.name} has no index {name!r}. {has}")
        return {name: int(opened.stats.index_stats(name)["num_unindexed_rows"]) for name in names or existing}


def _refresh(table: JobTable, name: str, retrain: bool) -> None:
    opened = table.open()
    with translated(table.handle(), f"Refreshing the index {name!r}"):
        opened.optimize.optimize_indices(index_names=[name], retrain=retrain)


FOLDER = "_indices"
# How often a k-means may go over its sample, unless the request says; as pylance has it.
_ITERATIONS = 50
# A partition has about so many rows, unless the request says, and so many of them are looked at to find its centre.
_PARTITION, _SAMPLE = 8192, 256
_BITS = 8


@dataclass(frozen=True)
class SegmentBuilder:
    """Builds the segment over some fragments, wherever it runs. `model` is what all segments of vectors share."""

    table: JobTable
    version: int
    column: str
    index: Prepared
    model: Mapping[str, pa.Array]

    def __call__(self, fragments: Sequence[int]) -> dict[str, Any]:
        opened = self.table.open(self.version)
        options = {key: value for key, value in self.index.options.items() if key != "target_partition_size"}
        with translated(self.table.handle(), f"Building the index {self.index.name!r}"):
            segment = opened.create_index_uncommitted(
                self.column,
                self.index.kind,
                name=self.index.name,
                replace=True,  # nothing is replaced before the commit, and whether that may be was asked before
                fragment_ids=list(fragments),
                **{**options, **self.model},
            )
        return encode_segment(segment)


def train_model(table: JobTable, version: int, column: str, index: Prepared) -> dict[str, Any]:
    """Train the centres, and the codes of a product quantizer, once on a sample of the table.

    Return nothing for an index that is not over vectors, or over those inside of other columns, which train their own.
    """
    opened = table.open(version)
    if not index.is_vector or column not in opened.schema.names:
        return {}
    from lance.indices import IndicesBuilder

    with translated(table.handle(), f"Training the index {index.name!r}"):
        rows, options = opened.count_rows(), index.options
        partitions = _partitions(rows, options)
        sample, iterations = options.get("sample_rate", _SAMPLE), options.get("max_iters", _ITERATIONS)
        builder = IndicesBuilder(opened, column)
        centres = builder.train_ivf(
            partitions,
            distance_type=options["metric"],
            sample_rate=max(2, min(sample, rows // partitions)),
            max_iters=iterations,
        )
        model: dict[str, Any] = {"num_partitions": partitions, "ivf_centroids": centres.centroids}
        if index.kind.endswith("PQ"):
            bits = options.get("num_bits", _BITS)
            codes = builder.train_pq(
                centres,
                options["num_sub_vectors"],
                sample_rate=max(2, min(sample, rows // 2**bits)),
                max_iters=iterations,
                num_bits=bits,
            )
            model["pq_codebook"] = codes.codebook
    return model


def _partitions(rows: int, options: Mapping[str, Any]) -> int:
    size = options.get("target_partition_size", _PARTITION)
    return int(options.get("num_partitions") or max(1, -(-rows // size)))


def encode_segment(index: Index) -> dict[str, Any]:
    """Return a segment as plain data."""
    kind, details = index.index_details or ("", b"")
    return {
        "uuid": index.uuid,
        "name": index.name,
        "fields": list(index.fields),
        "dataset_version": index.dataset_version,
        "fragment_ids": sorted(index.fragment_ids),
        "index_version": index.index_version,
        "created_at": index.created_at.isoformat() if index.created_at else None,
        "base_id": index.base_id,
        "files": [[file.path, file.size_bytes] for file in index.files or ()],
        "index_details": [kind, base64.b64encode(details).decode()],
        "covering_fields": list(index.covering_fields),
    }


def decode_segment(data: Mapping[str, Any]) -> Index:
    from lance.bitmap import Bitmap
    from lance.dataset import Index, IndexFile

    kind, details = data["index_details"]
    parsed = {
        "fragment_ids": Bitmap(data["fragment_ids"]),
        "created_at": datetime.fromisoformat(data["created_at"]) if data["created_at"] else None,
        "files": [IndexFile(path, size) for path, size in data["files"]],
        "index_details": (kind, base64.b64decode(details)),
    }
    return Index(**{**data, **parsed})


def segment_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a segment's files below the table."""
    return [f"{FOLDER}/{data['uuid']}/{path}" for path, _ in data["files"]]
