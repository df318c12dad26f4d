"""Change rows of a table in one version: write the new ones, delete the old ones, or replace whole fragments.

`rewrite` serves merge, update and delete of data frames: tasks write new rows and return the addresses of old ones.
`ReplacingReader` and `ReplacingWriter` serve UPDATE, MERGE and DELETE of Spark SQL, which hand every row of the chosen
fragments through Spark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, TableNotFoundError
from lanceway.spark.errors import hide_traceback
from lanceway.spark.read import reader
from lanceway.spark.read.reader import LanceReader, ReadTask
from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.spark.write.writer import BatchWriter, fragments_of
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.writes import commit, deletions, journal, stage
from lanceway.writes.commit import WriteId, retry_on_conflict
from lanceway.writes.plan import APPEND, WritePlan
from lanceway.writes.table_ref import Destination, TableRef

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import InputPartition, WriterCommitMessage
    from pyspark.sql.types import StructType

    from lanceway.writes.options import ReadOptions

# The columns of a change: what becomes of a row; and its keys as a text, where another row has the same.
ACTION, TWIN = "_lanceway_action", "_lanceway_twin"
INSERT, UPDATE, DELETE = "insert", "update", "delete"
# The rows that a task returns: fragments, offsets of deleted rows, the count of rows of an action, and duplicate keys.
_RESULT = "kind string, name string, fragment bigint, payload binary"
_NEW, _DELETED, _COUNT, _DUPLICATE = "new", "deleted", "count", "duplicate"
# The rows that a task returns which deletes: fragments without the deleted rows, null where none of their rows is left.
_DELETION_RESULT = "fragment bigint, updated string"
_DELETION_TASKS = 64


@dataclass(frozen=True)
class Changed:
    """What a change did: the version that it made, or the one it was based on if there was nothing to do."""

    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class BaseVersion:
    """The version of a table that a change builds on."""

    ref: TableRef
    destination: Destination
    schema: pa.Schema
    version: int
    stable: bool

    @classmethod
    def of(cls, ref: TableRef) -> BaseVersion:
        """Open the table's latest version. Raises TableNotFoundError."""
        destination = ref.destination()
        if destination is None:
            raise TableNotFoundError(f"There is no table {ref.name}.")
        destination.require_writable()
        opened = dataset.open_at(destination.reading)
        return cls(ref, destination, opened.schema, int(opened.version), bool(opened.has_stable_row_ids))

    def rows(self, spark: SparkSession, columns: list[str] | None = None) -> DataFrame:
        """Read the table's rows with their addresses, and ids where these stay when a row is rewritten."""
        frame = spark.read.format("lance").options(**self.ref.to_options(), version=str(self.version))
        frame = frame.option("with_row_address", "true").option("with_row_id", str(self.stable).lower())
        return (frame if columns is None else frame.option("columns", json.dumps(columns))).load()

    @property
    def plan(self) -> WritePlan:
        """Return the plan of a write on top of this version."""
        return WritePlan(APPEND, self.destination, self.schema, self.version)


# -- changes of a data frame, in the driver --------------------------------------------------------


def rewrite(
    spark: SparkSession, ref: TableRef, changes: Callable[[BaseVersion], DataFrame], write_id: WriteId | None
) -> Changed:
    """Carry out changes; compute them again where another writer was faster.

    Raises ConcurrentModificationError where that happens too often, and InvalidInputError for duplicate keys.
    """

    def attempt() -> Changed:
        base = BaseVersion.of(ref)
        return _attempt(spark, base, changes(base), write_id or WriteId.of_job())

    return retry_on_conflict(attempt)


@dataclass(frozen=True)
class _Staged:
    """What tasks have written for a change: new fragments, and others without their deleted rows."""

    new: list[str]
    updated: list[str]
    removed: list[int]
    counts: Counter[str]

    @property
    def files(self) -> list[str]:
        return [*stage.files(self.new), *deletions.files(self.updated)]


def _attempt(spark: SparkSession, base: BaseVersion, changes: DataFrame, write_id: WriteId) -> Changed:
    entry = journal.begin(base.destination)
    staged = None
    try:
        staged = _stage(spark, base, replace(base.plan, journal_entry=entry), changes)
    finally:
        if staged is None:
            journal.end(base.destination, entry)
    try:
        version = _commit(base, staged, write_id)
    except LanceNamespaceError:
        journal.end(base.destination, entry)
        raise
    journal.finish(base.destination, entry, staged.files)
    return Changed(version, staged.counts[INSERT], staged.counts[UPDATE], staged.counts[DELETE])


def _stage(spark: SparkSession, base: BaseVersion, plan: WritePlan, changes: DataFrame) -> _Staged:
    if base.stable and ROW_ID in changes.columns:  # rows that keep their ids come before those that get new ones
        changes = changes.sortWithinPartitions(changes[ROW_ID].isNull())
    results = changes.mapInArrow(partial(_stage_changes, plan, base.stable), _RESULT).collect()
    duplicates = sorted(row.name for row in results if row.kind == _DUPLICATE)
    if duplicates:
        raise _duplicate_keys(base, duplicates[0])
    deleted = deletions.united((row.fragment, bytes(row.payload)) for row in results if row.kind == _DELETED)
    if deleted.twice:
        raise _duplicate_keys(base, None)
    counts: Counter[str] = Counter()
    for row in results:
        if row.kind == _COUNT:
            counts[row.name] += row.fragment
    updated, removed = _delete_rows(spark, plan, deleted.offsets)
    return _Staged([bytes(row.payload).decode() for row in results if row.kind == _NEW], updated, removed, counts)


def _duplicate_keys(base: BaseVersion, keys: str | None) -> InvalidInputError:
    which = f" ({keys})" if keys else ""
    return InvalidInputError(
        f"{base.ref.name} was not changed: several rows of the source have the same keys{which}, and only one can "
        "decide what becomes of a row. Remove the others first, with dropDuplicates for example."
    )


def _delete_rows(spark: SparkSession, plan: WritePlan, offsets: Mapping[int, bytes]) -> tuple[list[str], list[int]]:
    """Return fragments without those rows, and the ids of fragments of which no row is left."""
    if not offsets:
        return [], []
    rows = spark.createDataFrame(list(offsets.items()), "fragment bigint, offsets binary")
    rows = rows.repartition(min(len(offsets), _DELETION_TASKS))
    results = rows.mapInArrow(partial(_delete_in_task, plan), _DELETION_RESULT).collect()
    updated = [row.updated for row in results if row.updated is not None]
    return updated, [row.fragment for row in results if row.updated is None]


def _commit(base: BaseVersion, staged: _Staged, write_id: WriteId) -> int:
    import lance

    updated = stage.from_json(staged.updated)
    new = stage.from_json(staged.new)
    if not new and not updated and not staged.removed:
        return base.version
    if not new:
        deletion = lance.LanceOperation.Delete(updated, staged.removed, "rows chosen by Spark")
        return commit.commit(base.plan, deletion, write_id)
    inserts = staged.counts[INSERT] > 0
    return commit.update(base.plan, staged.removed, updated, new, write_id, inserts=inserts)


# -- changes of a data frame, in a task ------------------------------------------------------------


def _stage_changes(plan: WritePlan, stable: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the new rows, and return all that the driver needs to commit them."""
    import pyarrow as pa

    rows = _ChangedRows(batches, plan.schema.names)
    with hide_traceback():
        fragments = stage.stage(plan, rows.to_write())
    if stable and rows.twin is None:
        fragments = tuple(_with_ids(fragments, pa.concat_arrays(rows.ids) if rows.ids else None))
    results: list[tuple[str, str | None, int | None, bytes | None]] = []
    results += [(_NEW, None, None, fragment.encode()) for fragment in fragments]
    results += [(_DELETED, None, fragment, offsets) for fragment, offsets in deletions.by_fragment(rows.addresses)]
    results += [(_COUNT, action, count, None) for action, count in rows.counts.items()]
    if rows.twin is not None:
        results.append((_DUPLICATE, rows.twin, None, None))
    types = (pa.string(), pa.string(), pa.int64(), pa.binary())
    columns = [pa.array([row[at] for row in results], type_) for at, type_ in enumerate(types)]
    yield pa.RecordBatch.from_arrays(columns, ["kind", "name", "fragment", "payload"])


class _ChangedRows:
    """The rows of a task as they pass: `to_write` yields the new ones, and the rest is noted on the way."""

    def __init__(self, batches: Iterator[pa.RecordBatch], names: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.twin: str | None = None
        self.addresses: list[pa.Array] = []
        self.ids: list[pa.Array] = []
        self._batches = batches
        self._names = names

    def to_write(self) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        for batch in self._batches:
            self._note(batch)
            rows = batch.filter(pc.not_equal(batch.column(ACTION), DELETE))
            if rows.num_rows:
                if ROW_ID in batch.schema.names:
                    self.ids.append(rows.column(ROW_ID).drop_null())
                yield rows.select(self._names)

    def _note(self, batch: pa.RecordBatch) -> None:
        self.counts.update(batch.column(ACTION).to_pylist())
        self.addresses.append(batch.column(ROW_ADDRESS).drop_null())
        if self.twin is None and TWIN in batch.schema.names:
            self.twin = next((text for text in batch.column(TWIN).to_pylist() if text is not None), None)


def _with_ids(fragments: tuple[str, ...], ids: Any) -> Iterator[str]:
    """Give rewritten rows the ids that they had. They come first; the commit gives ids to the others."""
    from lance.fragment import RowIdSequence

    for fragment in stage.from_json(fragments):
        fragment_ids = None if ids is None else ids[: fragment.physical_rows]
        if fragment_ids is None or not len(fragment_ids):
            yield stage.to_json(fragment)
            continue
        yield stage.to_json(replace(fragment, row_id_meta=RowIdSequence(fragment_ids).to_inline_metadata()))
        ids = ids[fragment.physical_rows :]


def _delete_in_task(plan: WritePlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import numpy as np
    import pyarrow as pa

    table = plan.destination.current().reading
    opened = None
    for batch in batches:
        opened = opened or dataset.open_at(table, version=plan.version)
        results = []
        for row in batch.to_pylist():
            with translated(table, "Deleting rows"):
                fragment = opened.get_fragment(row["fragment"])
                assert fragment is not None, "a version keeps its fragments"
                updated = fragment.delete_rows(np.frombuffer(row["offsets"], np.uint32))
            result = None if updated is None else stage.to_json(updated)
            if result is not None and plan.journal_entry is not None:
                journal.note(plan.destination, plan.journal_entry, deletions.files([result]))
            results.append(result)
        columns = [batch.column("fragment"), pa.array(results, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, ["fragment", "updated"])


# -- whole fragments, for statements of Spark SQL --------------------------------------------------

# Tells readers and writers of the data source what is replaced. The bridge alone sets it.
OPTION = "replacing"
_UPDATE, _MERGE = "UPDATE", "MERGE"


@dataclass(frozen=True)
class Replaced:
    """The fragments of a version that a statement replaces."""

    command: str
    version: int
    fragments: tuple[int, ...]

    @classmethod
    def taken_from(cls, options: Mapping[str, str]) -> tuple[Replaced | None, dict[str, str]]:
        """Split options into what is replaced, if anything is, and the other options."""
        others = {key: value for key, value in options.items() if key.lower() != OPTION}
        if len(others) == len(options):
            return None, others
        fields = json.loads(next(value for key, value in options.items() if key.lower() == OPTION))
        return cls(fields["command"], fields["version"], tuple(fields["fragments"])), others


def choose(opened: lance.LanceDataset, condition: str | None) -> list[int]:
    """Return the fragments with rows that meet the condition; without one, all of them."""
    every = [fragment.fragment_id for fragment in opened.get_fragments()]
    if condition is None:
        return every
    chosen: set[int] = set()
    for batch in opened.scanner(columns=[], filter=condition, with_row_address=True).to_batches():
        chosen.update(address >> 32 for address in batch[ROW_ADDRESS].to_pylist())
        if len(chosen) == len(every):
            break
    return sorted(chosen)


class ReplacingReader(LanceReader):
    """Reads all rows of the fragments that are replaced."""

    def __init__(
        self,
        ref: TableRef,
        read: ReadOptions,
        schema: StructType,
        replaced: Replaced,
        snapshot: lance.LanceDataset | None = None,
    ) -> None:
        super().__init__(ref, read, schema, snapshot=snapshot)
        self._replaced = replaced

    @hide_traceback()
    def partitions(self) -> list[InputPartition]:
        read, opened = self._plan()
        chosen = set(self._replaced.fragments)
        shares = [tuple(id_ for id_ in share if id_ in chosen) for share in reader.shares(opened, read.partitions)]
        return [ReadTask(read, share) for share in shares if share] or [ReadTask(read, ())]


class ReplacingWriter(BatchWriter):
    """Writes the fragments that take the place of those that are replaced."""

    def __init__(self, options: Mapping[str, str], schema: StructType, replaced: Replaced) -> None:
        super().__init__(options, schema, overwrite=False)
        self._plan = replace(self._plan, version=replaced.version)
        self._replaced = replaced

    @hide_traceback()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        new = stage.from_json(fragments_of(messages))
        if not new and not self._replaced.fragments:
            commit.finish(self._plan, ())
            return
        self._check(sum(fragment.physical_rows for fragment in new))
        inserts = self._replaced.command == _MERGE
        commit.update(self._plan, self._replaced.fragments, [], new, self._write_id, inserts=inserts)
        commit.finish(self._plan, fragments_of(messages))

    def _check(self, written: int) -> None:
        """Refuse to commit an UPDATE that lost rows on their way: it keeps every row."""
        if self._replaced.command != _UPDATE:
            return
        opened = dataset.open_at(self._plan.destination.current().table, version=self._replaced.version)
        replaced = (fragment for fragment in opened.get_fragments() if fragment.fragment_id in self._replaced.fragments)
        read = sum(fragment.count_rows() for fragment in replaced)
        if read != written:
            raise InternalError(f"UPDATE {self._plan.destination.ref.name} read {read} rows and wrote {written}.")
