"""The rows of a change, in a task: new ones are written, and of old ones the addresses are told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, TableNotFoundError
from lanceway.spark.errors import plainly
from lanceway.spark.read import reader
from lanceway.spark.read.reader import LanceReader, ReadTask
from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.spark.write.writer import BatchWriter, fragments_of
from lanceway.tables import dataset
from lanceway.tables.dataset import open_at
from lanceway.writes import commit, deletions, destination, journal, stage
from lanceway.writes import commit as committing
from lanceway.writes import stage as staging
from lanceway.writes.commit import insistently
from lanceway.writes.destination import Destination
from lanceway.writes.plan import APPEND, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import InputPartition, WriterCommitMessage
    from pyspark.sql.types import StructType

    from lanceway.writes.options import ReadOptions
    from lanceway.writes.table_ref import TableRef

# What becomes of a row; and its keys as a text, where another row has the same.
ACTION, TWIN = "_lanceway_action", "_lanceway_twin"
INSERT, UPDATE, DELETE = "insert", "update", "delete"
# What a task answers: fragments, offsets of rows that go, how many rows there were of an action, and keys given twice.
ANSWER = "kind string, name string, fragment bigint, payload binary"
NEW, GONE, COUNT, TWICE = "new", "gone", "count", "twice"


class ChangedRows:
    """The rows of a task on their way: those to write go on, and what else there is to know is noted."""

    def __init__(self, batches: Iterator[pa.RecordBatch], names: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.twin: str | None = None
        self.addresses: list[pa.Array] = []
        self.ids: list[pa.Array] = []
        self._batches, self._names = batches, names

    def written(self) -> Iterator[pa.RecordBatch]:
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


def stage_changes(plan: WritePlan, stable: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write what is to be written, and answer all that the driver needs to commit it."""
    import pyarrow as pa

    rows = ChangedRows(batches, plan.schema.names)
    with plainly():
        fragments = staging.stage(plan, rows.written())
    if stable and rows.twin is None:
        fragments = tuple(_with_ids(fragments, pa.concat_arrays(rows.ids) if rows.ids else None))
    answers: list[tuple[str, str | None, int | None, bytes | None]] = []
    answers += [(NEW, None, None, fragment.encode()) for fragment in fragments]
    answers += [(GONE, None, fragment, offsets) for fragment, offsets in deletions.by_fragment(rows.addresses)]
    answers += [(COUNT, action, count, None) for action, count in rows.counts.items()]
    if rows.twin is not None:
        answers.append((TWICE, rows.twin, None, None))
    types = (pa.string(), pa.string(), pa.int64(), pa.binary())
    columns = [pa.array([row[at] for row in answers], type_) for at, type_ in enumerate(types)]
    yield pa.RecordBatch.from_arrays(columns, ["kind", "name", "fragment", "payload"])


def _with_ids(fragments: tuple[str, ...], ids: Any) -> Iterator[str]:
    """Rows that are rewritten keep their ids; they come first, and the commit gives ids to the others."""
    from lance.fragment import RowIdSequence

    for fragment in staging.read(fragments):
        own = None if ids is None else ids[: fragment.physical_rows]
        if own is None or not len(own):
            yield staging.written(fragment)
            continue
        yield staging.written(replace(fragment, row_id_meta=RowIdSequence(own).to_inline_metadata()))
        ids = ids[fragment.physical_rows :]


@dataclass(frozen=True)
class Changed:
    """What a change did: the version that it made, or the one that it found if there was nothing to do."""

    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class BaseVersion:
    """The version of a table that a change builds on."""

    target: TableRef
    place: Destination
    schema: pa.Schema
    version: int
    stable: bool

    @classmethod
    def of(cls, target: TableRef) -> BaseVersion:
        place = destination.find(target)
        if place is None:
            raise TableNotFoundError(f"There is no table {target.name}.")
        place.require_writable()
        opened = dataset.open_at(place.reading)
        return cls(target, place, opened.schema, int(opened.version), bool(opened.has_stable_row_ids))

    def rows(self, spark: SparkSession, columns: list[str] | None = None) -> DataFrame:
        """The table's rows with their addresses, and ids where these stay when a row is rewritten."""
        reader = spark.read.format("lance").options(**self.target.to_options(), version=str(self.version))
        reader = reader.option("with_row_address", "true").option("with_row_id", str(self.stable).lower())
        return (reader if columns is None else reader.option("columns", json.dumps(columns))).load()

    @property
    def plan(self) -> WritePlan:
        return WritePlan(APPEND, self.place, self.schema, self.version)


def rewrite(
    spark: SparkSession, target: TableRef, changes: Callable[[BaseVersion], DataFrame], mark: WriteId | None
) -> Changed:
    """Carry out changes, computed anew where somebody else was faster.

    Raises ConcurrentModificationError where somebody else always is, and InvalidInputError for keys given twice.
    """

    def attempt() -> Changed:
        base = BaseVersion.of(target)
        return _attempt(spark, base, changes(base), mark or WriteId.of_job())

    return insistently(attempt)


@dataclass(frozen=True)
class _Staged:
    """What tasks have written for a change: fragments with new rows, and others without the rows that go."""

    new: list[str]
    updated: list[str]
    removed: list[int]
    counts: Counter[str]

    @property
    def files(self) -> list[str]:
        return [*stage.files(self.new), *deletions.files(self.updated)]


def _attempt(spark: SparkSession, base: BaseVersion, changes: DataFrame, mark: WriteId) -> Changed:
    write, staged = journal.begin(base.place), None
    try:
        staged = _stage(spark, base, replace(base.plan, write=write), changes)
    finally:
        if staged is None:
            journal.end(base.place, write)
    try:
        version = _commit(base, staged, mark)
    except LanceNamespaceError:
        journal.end(base.place, write)
        raise
    journal.finish(base.place, write, staged.files)
    return Changed(version, staged.counts[INSERT], staged.counts[UPDATE], staged.counts[DELETE])


def _stage(spark: SparkSession, base: BaseVersion, plan: WritePlan, changes: DataFrame) -> _Staged:
    if base.stable and ROW_ID in changes.columns:  # rows that keep their ids come before those that get new ones
        changes = changes.sortWithinPartitions(changes[ROW_ID].isNull())
    answers = changes.mapInArrow(partial(stage_changes, plan, base.stable), ANSWER).collect()
    twins = sorted(row.name for row in answers if row.kind == TWICE)
    if twins:
        raise _twice(base, twins[0])
    gone = deletions.united((row.fragment, bytes(row.payload)) for row in answers if row.kind == GONE)
    if gone.twice:
        raise _twice(base, None)
    counts: Counter[str] = Counter()
    for row in answers:
        if row.kind == COUNT:
            counts[row.name] += row.fragment
    updated, removed = deletions.write(spark, plan, gone.offsets)
    return _Staged([bytes(row.payload).decode() for row in answers if row.kind == NEW], updated, removed, counts)


def _twice(base: BaseVersion, keys: str | None) -> InvalidInputError:
    which = f" ({keys})" if keys else ""
    return InvalidInputError(
        f"{base.target.name} was not changed: several rows of the source have the same keys{which}, and only one can "
        "decide what becomes of a row. Remove the others first, with dropDuplicates for example."
    )


def _commit(base: BaseVersion, staged: _Staged, mark: WriteId) -> int:
    import lance

    updated, new = stage.read(staged.updated), stage.read(staged.new)
    if not new and not updated and not staged.removed:
        return base.version
    if not new:
        deletion = lance.LanceOperation.Delete(updated, staged.removed, "rows chosen by Spark")
        return commit.commit(base.plan, deletion, mark)
    inserts = staged.counts[INSERT] > 0
    return commit.update(base.plan, staged.removed, updated, new, mark, inserts=inserts)


# Tells what is replaced, to readers and writers of the data source. The bridge alone sets it.
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
        """What is replaced, if anything is, and the other options."""
        others = {key: value for key, value in options.items() if key.lower() != OPTION}
        if len(others) == len(options):
            return None, others
        found = json.loads(next(value for key, value in options.items() if key.lower() == OPTION))
        return cls(found["command"], found["version"], tuple(found["fragments"])), others


def choose(dataset: lance.LanceDataset, condition: str | None) -> list[int]:
    """The fragments with rows that the condition holds for; all of them, if there is none."""
    every = [fragment.fragment_id for fragment in dataset.get_fragments()]
    if condition is None:
        return every
    found: set[int] = set()
    for batch in dataset.scanner(columns=[], filter=condition, with_row_address=True).to_batches():
        found.update(address >> 32 for address in batch["_rowaddr"].to_pylist())
        if len(found) == len(every):
            break
    return sorted(found)


class ReplacingReader(LanceReader):
    """Reads all rows of the fragments that are replaced."""

    def __init__(self, target: TableRef, read: ReadOptions, schema: StructType, replaced: Replaced) -> None:
        super().__init__(target, read, schema)
        self._replaced = replaced

    @plainly()
    def partitions(self) -> list[InputPartition]:
        read, dataset = self._plan()
        chosen = set(self._replaced.fragments)
        shares = [tuple(id_ for id_ in share if id_ in chosen) for share in reader.shares(dataset, read.partitions)]
        return [ReadTask(read, share) for share in shares if share] or [ReadTask(read, ())]


class ReplacingWriter(BatchWriter):
    """Writes what takes the place of the fragments that are replaced."""

    def __init__(self, options: Mapping[str, str], schema: StructType, replaced: Replaced) -> None:
        super().__init__(options, schema, overwrite=False)
        self._plan = replace(self._plan, version=replaced.version)
        self._replaced = replaced

    @plainly()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        new = stage.read(fragments_of(messages))
        if not new and not self._replaced.fragments:
            committing.finish(self._plan, ())
            return
        self._check(sum(fragment.physical_rows for fragment in new))
        inserts = self._replaced.command == _MERGE
        committing.update(self._plan, self._replaced.fragments, [], new, self._mark, inserts=inserts)
        committing.finish(self._plan, fragments_of(messages))

    def _check(self, written: int) -> None:
        """An UPDATE keeps every row. Were some lost on their way, nothing is committed."""
        if self._replaced.command != _UPDATE:
            return
        opened = open_at(self._plan.destination.current().table, version=self._replaced.version)
        chosen = (each for each in opened.get_fragments() if each.fragment_id in self._replaced.fragments)
        read = sum(each.count_rows() for each in chosen)
        if read != written:
            raise InternalError(f"UPDATE {self._plan.destination.target.name} read {read} rows and wrote {written}.")
