"""What is read of a table: one version of it, and which columns. Looked up in the driver, before any task runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.spark.errors import plainly
from lanceway.spark.read import filters, search
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema, to_spark
from lanceway.tables.dataset import Table
from lanceway.tables.errors import translated
from lanceway.writes.options import OWNER, ReadOptions

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import DataType, StructType

    from lanceway.writes.options import ReadOptions
    from lanceway.writes.table_ref import TableRef


def pin(target: TableRef, read: ReadOptions) -> tuple[ReadOptions, lance.LanceDataset]:
    """What to read, by the number of its version, whatever way the version was asked for."""
    dataset = target.open(version=read.version, tag=read.tag, branch=read.branch, asof=read.asof)
    branch = read.branch
    if read.tag is not None:
        with translated(named(target), "Listing the tags"):
            branch = dataset.tags.list()[read.tag].get("branch")
    if read.filter is not None and not read.searches:
        with translated(named(target), "The option filter"):
            dataset.scanner(columns=[], with_row_id=True, filter=read.filter).explain_plan()
    return replace(read, version=int(dataset.version), branch=branch, tag=None, asof=None), dataset


def schema_of(target: TableRef, read: ReadOptions, dataset: lance.LanceDataset) -> pa.Schema:
    """The columns of what is read, in Lance's types. Raises TableColumnNotFoundError."""
    import pyarrow as pa

    if read.searches:
        return search.search(target, read).schema
    own = dataset.schema
    fields = list(own) if read.columns is None else [field_of(target, own, name) for name in read.columns]
    wanted = ((ROW_ID, read.with_row_id), (ROW_ADDRESS, read.with_row_address))
    return pa.schema([*fields, *(pa.field(name, pa.uint64(), nullable=False) for name, asked in wanted if asked)])


def field_of(target: TableRef, schema: pa.Schema, name: str) -> pa.Field:
    """A column by its name. Raises TableColumnNotFoundError, naming those there are."""
    if name not in schema.names:
        raise TableColumnNotFoundError(f"{target.name} has no column {name!r}. It has: {', '.join(schema.names)}.")
    return schema.field(name)


def named(target: TableRef) -> Table:
    """For messages alone: to know where a table lies, its catalog would have to be asked."""
    return Table(target.name, "")


# A task costs some tenths of a second however little it reads, and a failed one is read again as a whole.
_SMALLEST, _LARGEST = 8 * 2**20, 256 * 2**20
_TASKS_PER_CORE = 2


def shares(dataset: lance.LanceDataset, count: int | None) -> list[tuple[int, ...]]:
    """The ids of the fragments that each task reads, in the table's order: about `count` tasks, at least one."""
    weights = _weights(dataset)
    wanted = count or _tasks(sum(size for _, size in weights))
    return split(weights, wanted)


def split(weights: Sequence[tuple[int, int]], count: int) -> list[tuple[int, ...]]:
    """Neighbours stay together; each part has about the same weight, and none is empty but where there is nothing."""
    total = sum(weight for _, weight in weights)
    parts: dict[int, list[int]] = {}
    for (id_, weight), end in zip(weights, accumulate(weight for _, weight in weights), strict=True):
        middle = end - weight / 2
        parts.setdefault(int(middle * count / total) if total else 0, []).append(id_)
    return [tuple(parts[part]) for part in sorted(parts)] or [()]


def _weights(dataset: lance.LanceDataset) -> list[tuple[int, int]]:
    """Each fragment's id and size: in bytes, or in rows where an older writer has not noted them."""
    found = [fragment.metadata for fragment in dataset.get_fragments()]
    sizes = [[file.file_size_bytes or 0 for file in fragment.files] for fragment in found]
    if all(min(files, default=0) for files in sizes):
        return [(fragment.id, sum(files)) for fragment, files in zip(found, sizes, strict=True)]
    return [(fragment.id, int(fragment.physical_rows)) for fragment in found]


def _tasks(size: int) -> int:
    """Two for each core of this machine, but no task without some work, nor one with very much."""
    cores = os.cpu_count() or 1
    by_cores = min(_TASKS_PER_CORE * cores, -(-size // _SMALLEST))
    return max(1, by_cores, -(-size // _LARGEST))


# More rows than that are worth more tasks, and are not looked for twice.
_FEW = 10_000
# So many rows that no index has yet may be searched while a scan is planned.
_UNINDEXED = 100_000
# Those that know rows one by one. Others know where rows may be, which then have to be read.
_EXACT = ("BTreeIndexDetails", "BitmapIndexDetails", "LabelListIndexDetails")


def indexed_fragments(dataset: lance.LanceDataset, condition: str | None, few: int = _FEW) -> tuple[int, ...] | None:
    """The fragments with the rows of a condition. None where no index answers it alone, or where they are many."""
    if condition is None or not _is_answered(dataset, condition):
        return None
    rows = dataset.scanner(columns=[], filter=condition, with_row_address=True, limit=few).to_table()
    if rows.num_rows == few:
        return None
    return tuple(sorted({address >> 32 for address in rows["_rowaddr"].to_pylist()}))


def _is_answered(dataset: lance.LanceDataset, condition: str) -> bool:
    indices = dataset.describe_indices()
    if not indices:
        return False
    # pylance tells by its plan alone which indices it asks, and whether rows are left to be looked at.
    plan = dataset.scanner(columns=[], filter=condition, with_row_address=True).explain_plan()
    asked = [index for index in indices if f"@{index.name}(" in plan]
    total = dataset.count_rows()
    return (
        bool(asked)
        and "refine_filter=--" in plan
        and all(index.type_url.endswith(_EXACT) and total - index.num_rows_indexed <= _UNINDEXED for index in asked)
    )


# How much pylance may read ahead in one task; its own default would be gigabytes for each of them.
_READ_AHEAD = 256 * 2**20
# Fewer rows than that are read while a scan is planned, where an index finds them: no task starts as fast.
_AT_ONCE = 1_000
# A batch is of some size, so that what each costs is little beside what it holds; where columns are narrow, that is
# more rows than pylance would give by itself.
_BATCH_BYTES, _LEAST_ROWS, _MOST_ROWS = 2 * 2**20, 8_192, 65_536


@dataclass(frozen=True)
class ReadTask(InputPartition):
    """What one task reads: fragments of a version, or all of it."""

    read: ReadOptions
    fragments: tuple[int, ...] | None


class LanceReader(DataSourceReader):
    """One table at one version. With `takes_filters`, Lance evaluates those that it evaluates as Spark does.

    Without, it takes none: Spark by itself would apply them to every later query of the same data frame.
    """

    def __init__(self, target: TableRef, read: ReadOptions, schema: StructType, *, takes_filters: bool = False) -> None:
        self._target, self._read, self._schema, self._takes_filters = target, read, schema, takes_filters
        self._pushed: list[str] = []
        self._planned: tuple[ReadOptions, lance.LanceDataset] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planned": None}

    # -- in the driver ---------------------------------------------------------------------------

    @property
    def pushFilters(self) -> Callable[[list[Filter]], Iterable[Filter]]:  # noqa: N802
        # Where a session has not switched pushdown on, Spark refuses a reader that overrides this method
        # instead of doing without. Ours is as good without, so it does not look overridden.
        return _Pushdown(self._push)

    def _push(self, given: list[Filter]) -> Iterator[Filter]:
        """Take what can be taken, give back the rest."""
        with plainly():
            yield from self._left(given)

    def _left(self, given: list[Filter]) -> Iterator[Filter]:
        # Of a search, Spark means the rows that were found, not those that are searched.
        if not self._takes_filters or self._read.searches or self._read.limit is not None:
            yield from given
            return
        _, dataset = self._plan()
        for filter_ in given:
            condition = filters.translate(filter_, dataset.schema)
            if condition is None:
                yield filter_
            else:
                self._pushed.append(condition)

    @plainly()
    def partitions(self) -> list[InputPartition]:
        """At least one: Spark would invent one of its own for none."""
        read, dataset = self._plan()
        if read.searches or read.limit is not None:
            return [ReadTask(read, None)]
        if read.partitions is None:
            with translated(named(self._target), "Looking for rows by an index"):
                few = indexed_fragments(dataset, filters.both(read.filter, *self._pushed))
            if few is not None:
                return [ReadTask(read, few)]
        return [ReadTask(read, ids) for ids in shares(dataset, read.partitions)]

    @plainly()
    def found(self) -> Iterator[pa.RecordBatch] | None:
        """The rows, if an index finds them and they are few. None where tasks have to look for them."""
        read, dataset = self._plan()
        if read.searches or read.limit is not None or read.partitions is not None:
            return None
        with translated(named(self._target), "Looking for rows by an index"):
            few = indexed_fragments(dataset, filters.both(read.filter, *self._pushed), _AT_ONCE)
        return None if few is None else self.read(ReadTask(read, few))

    def _plan(self) -> tuple[ReadOptions, lance.LanceDataset]:
        if self._planned is None:
            read, dataset = pin(self._target, self._read)
            whole = replace(read, columns=None, with_row_id=True, with_row_address=not read.searches)
            self._check(schema_of(self._target, whole, dataset))
            self._planned = read, dataset
        return self._planned

    def _check(self, own: pa.Schema) -> None:
        """Hold a schema that the user gave, or a query that was planned long ago, against the table."""
        import pyarrow as pa
        from pyspark.sql.types import StructType

        for field in self._schema:
            found = spark_schema(pa.schema([field_of(self._target, own, field.name)]))[0].dataType
            # Of a struct, Spark may ask for some fields alone.
            both_structs = isinstance(found, StructType) and isinstance(field.dataType, StructType)
            if not both_structs and found.simpleString() != field.dataType.simpleString():
                raise InvalidInputError(
                    f"{OWNER}: the column {field.name!r} of {self._target.name} is {found.simpleString()}, but "
                    f"{field.dataType.simpleString()} was asked for. Read it as it is and cast it."
                )

    # -- in a task -------------------------------------------------------------------------------

    @property
    def wanted(self) -> pa.Schema:
        """The schema of the batches that are read."""
        return arrow_schema(self._schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadTask)
        wanted = self.wanted
        with plainly(), self._watched(partition.read):
            for batch in self._batches(partition):
                if batch.num_rows:
                    yield to_spark(batch, wanted)

    def _batches(self, share: ReadTask) -> Iterator[pa.RecordBatch]:
        read = share.read
        if read.searches:
            yield from search.search(self._target, read)
            return
        # Where a scan was planned, the version is open.
        dataset = self._planned[1] if self._planned else self._target.open(version=read.version, branch=read.branch)
        fragments = None if share.fragments is None else _chosen(dataset, share.fragments)
        if fragments == []:
            return
        with translated(named(self._target), "Reading"):
            yield from dataset.scanner(
                columns=[name for name in self._schema.names if name not in (ROW_ID, ROW_ADDRESS)],
                filter=filters.both(read.filter, *self._pushed),
                fragments=fragments,
                limit=_least(read.limit, read.partition_limit),
                batch_size=read.batch_rows or _batch_rows(self._schema),
                with_row_id=ROW_ID in self._schema.names,
                with_row_address=ROW_ADDRESS in self._schema.names,
                blob_handling="all_binary",
                io_buffer_size=_READ_AHEAD,
            ).to_batches()

    @contextmanager
    def _watched(self, read: ReadOptions) -> Iterator[None]:
        """Where reading fails because the table is gone by now, say so."""
        try:
            yield
        except LanceNamespaceError:
            if not self._target.exists():
                raise TableNotFoundError(f"{self._target.name} was dropped while it was read.") from None
            try:
                self._target.open(version=read.version, branch=read.branch)
            except TableVersionNotFoundError as gone:
                raise TableVersionNotFoundError(
                    f"{gone} It was cleaned up since it was planned to be read; load the table again."
                ) from None
            raise


class _Pushdown:
    """A bound method that looks like the one of the interface."""

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, push: Callable[[list[Filter]], Iterable[Filter]]) -> None:
        self._push = push

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._push(filters)


def _chosen(dataset: lance.LanceDataset, ids: tuple[int, ...]) -> list[lance.LanceFragment]:
    found = [dataset.get_fragment(id_) for id_ in ids]
    assert None not in found, "a version keeps its fragments"
    return [fragment for fragment in found if fragment is not None]


def _batch_rows(schema: StructType) -> int:
    return max(_LEAST_ROWS, min(_MOST_ROWS, _BATCH_BYTES // max(1, sum(_size(field.dataType) for field in schema))))


def _size(type_: DataType) -> int:
    """About how many bytes a value has; many where it may have any number."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    if isinstance(type_, StructType):
        return sum(_size(field.dataType) for field in type_)
    if isinstance(type_, StringType):
        return 32
    return 2**20 if isinstance(type_, ArrayType | MapType | BinaryType) else 8


def _least(*limits: int | None) -> int | None:
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None
