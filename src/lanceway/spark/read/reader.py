"""Read a table in Spark: partitions, columns, and searches of vectors and text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lance_namespace import QueryTableRequest
from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway.catalogs.contract.requests import accept
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.spark.errors import hide_traceback
from lanceway.spark.read import filters
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, is_part_of, spark_schema, to_spark
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import translated
from lanceway.tables.read import blobs, query
from lanceway.tables.schema.fields import quoted
from lanceway.writes.options import OWNER, ReadOptions

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import DataType, StructType

    from lanceway.writes.table_ref import TableRef

# What `nearest` may hold besides column and vector; the other names are the contract's own.
_ALSO_CALLED = {"column": "vector_column", "metric": "distance_type"}
_OF_NEAREST = frozenset(
    {
        "bypass_vector_index",
        "distance_type",
        "ef",
        "fast_search",
        "k",
        "lower_bound",
        "maximum_nprobes",
        "minimum_nprobes",
        "nprobes",
        "offset",
        "prefilter",
        "refine_factor",
        "upper_bound",
        "vector",
        "vector_column",
    }
)
_K = 10


def search(ref: TableRef, read: ReadOptions) -> pa.RecordBatchReader:
    """Return the rows found, nearest or best first. Raises InvalidInputError for a search that makes no sense."""
    if read.with_row_address:
        raise InvalidInputError(f"{OWNER}: a search has row ids (with_row_id) but no row addresses.")
    fields: dict[str, Any] = {
        "id": list(ref.id),
        "k": read.limit or 0,
        "vector": {},
        "filter": read.filter,
        "version": read.version,
        "branch": read.branch,
        "with_row_id": read.with_row_id,
    }
    if read.columns is not None:
        fields["columns"] = {"column_names": list(read.columns)}
    if read.full_text is not None:
        fields["full_text_query"] = _full_text(read.full_text)
    if read.nearest is not None:
        fields |= _nearest(read.nearest, read.limit)
    return query.run(ref.table(), accept(QueryTableRequest, fields))


def _nearest(search: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    fields = {_ALSO_CALLED.get(key, key): value for key, value in search.items()}
    unknown = sorted(fields.keys() - _OF_NEAREST)
    if unknown:
        raise InvalidInputError(
            f"{OWNER}: nearest has no {unknown[0]!r}. It takes: {', '.join(sorted(_OF_NEAREST | _ALSO_CALLED.keys()))}."
        )
    vector = fields.get("vector")
    if not isinstance(vector, list) or not vector:
        raise InvalidInputError(f"{OWNER}: nearest needs the vector to search for, as a list of numbers.")
    several = isinstance(vector[0], list)
    fields["vector"] = {"multi_vector": vector} if several else {"single_vector": vector}
    return {"k": limit or _K, **fields}


def _full_text(search: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(search.get("query"), str):
        return {"string_query": dict(search)}
    return {"structured_query": {"query": dict(search)}}


# How much pylance may read ahead in one task; its own default would be gigabytes for each of them.
_READ_AHEAD = 256 * 2**20
# Fewer rows than that are read while a scan is planned, where an index finds them: no task starts as fast.
_AT_ONCE = 1_000
# A batch is of some size, so that what each costs is little beside what it holds; where columns are narrow, that is
# more rows than pylance would give by itself.
_BATCH_BYTES, _LEAST_ROWS, _MOST_ROWS = 2 * 2**20, 8_192, 65_536
# A task costs some tenths of a second however little it reads, and a failed one is read again as a whole.
_SMALLEST_TASK, _LARGEST_TASK = 8 * 2**20, 256 * 2**20
_TASKS_PER_CORE = 2
# More rows than that are worth more tasks, and are not looked for twice.
_FEW = 10_000
# So many rows that no index has yet may be searched while a scan is planned.
_UNINDEXED = 100_000
# Indices that know rows one by one. Others know where rows may be, which then have to be read.
_EXACT = ("BTreeIndexDetails", "BitmapIndexDetails", "LabelListIndexDetails")


@dataclass(frozen=True)
class ReadTask(InputPartition):
    """What one task reads: fragments of a version, or all of it."""

    read: ReadOptions
    fragments: tuple[int, ...] | None


class LanceReader(DataSourceReader):
    """Reads one table at one version. With `takes_filters`, Lance evaluates those that it evaluates as Spark does.

    Without, it takes none: Spark by itself would apply them to every later query of the same data frame. `snapshot` is
    the version to read, if it is open already.
    """

    def __init__(
        self,
        ref: TableRef,
        read: ReadOptions,
        schema: StructType,
        *,
        takes_filters: bool = False,
        snapshot: lance.LanceDataset | None = None,
    ) -> None:
        self._ref = ref
        self._read = read
        self._schema = schema
        self._takes_filters = takes_filters
        self._snapshot = snapshot
        self._pushed: list[str] = []
        self._planned: tuple[ReadOptions, lance.LanceDataset] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # An open dataset stays in the driver; tasks open their own.
        return {**self.__dict__, "_planned": None, "_snapshot": None}

    # -- in the driver ---------------------------------------------------------------------------

    @property
    def pushFilters(self) -> Callable[[list[Filter]], Iterable[Filter]]:  # noqa: N802
        # Where a session has not switched pushdown on, Spark refuses a reader that overrides this method
        # instead of doing without. Ours is as good without, so it does not look overridden.
        return _Pushdown(self._push)

    def _push(self, given: list[Filter]) -> Iterator[Filter]:
        """Take the filters that Lance evaluates, and yield the others."""
        with hide_traceback():
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

    @hide_traceback()
    def partitions(self) -> list[InputPartition]:
        """Split the read into tasks, at least one: Spark would invent one of its own for none."""
        read, dataset = self._plan()
        if read.searches or read.limit is not None:
            return [ReadTask(read, None)]
        if read.partitions is None:
            fragments = self._find_by_index(read, dataset, _FEW)
            if fragments is not None:
                return [ReadTask(read, fragments)]
        return [ReadTask(read, ids) for ids in shares(dataset, read.partitions)]

    @hide_traceback()
    def find_rows(self) -> Iterator[pa.RecordBatch] | None:
        """Return the rows, if an index finds them and they are few; None where tasks have to look for them."""
        read, dataset = self._plan()
        if read.searches or read.limit is not None or read.partitions is not None:
            return None
        fragments = self._find_by_index(read, dataset, _AT_ONCE)
        return None if fragments is None else self.read(ReadTask(read, fragments))

    def _find_by_index(self, read: ReadOptions, dataset: lance.LanceDataset, few: int) -> tuple[int, ...] | None:
        with translated(named(self._ref), "Looking for rows by an index"):
            return indexed_fragments(dataset, filters.both(read.filter, *self._pushed), few)

    def _plan(self) -> tuple[ReadOptions, lance.LanceDataset]:
        """Return what to read at the version that is pinned, and that version; it is opened once."""
        if self._planned is None:
            read, dataset = pin(self._ref, self._read, self._snapshot)
            every_column = replace(read, columns=None, with_row_id=True, with_row_address=not read.searches)
            self._check(schema_of(self._ref, every_column, dataset))
            self._planned = read, dataset
        return self._planned

    def _check(self, table: pa.Schema) -> None:
        """Refuse a schema that the user gave, or that was planned long ago, if the table has other columns."""
        import pyarrow as pa

        for field in self._schema:
            if "`" in field.name:
                raise UnsupportedOperationError(
                    f"{OWNER}: Lance cannot read the column {field.name!r} of {self._ref.name}, since its name has a "
                    "backtick. Leave it out, or rename it: ALTER TABLE … RENAME COLUMN "
                    f"{quoted(field.name)} TO {field.name.replace('`', '')}."
                )
            type_ = spark_schema(pa.schema([_field_of(self._ref, table, field.name)]))[0].dataType
            if not is_part_of(field.dataType, type_):
                raise InvalidInputError(
                    f"{OWNER}: the column {field.name!r} of {self._ref.name} is {type_.simpleString()}, but "
                    f"{field.dataType.simpleString()} was asked for. Read it as it is and cast it."
                )

    # -- in a task -------------------------------------------------------------------------------

    @property
    def batch_schema(self) -> pa.Schema:
        """Return the schema of the batches that are read."""
        return arrow_schema(self._schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadTask)
        schema = self.batch_schema
        with hide_traceback(), self._explaining(partition.read):
            for batch in self._batches(partition):
                if batch.num_rows:
                    yield to_spark(batch, schema)

    def _batches(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        read = task.read
        if read.searches:
            yield from search(self._ref, read)
            return
        # Where a scan was planned, the version is open.
        dataset = self._planned[1] if self._planned else self._ref.open(version=read.version, branch=read.branch)
        fragments = None if task.fragments is None else _fragments(dataset, task.fragments)
        if fragments == []:
            return
        columns = [name for name in self._schema.names if name not in (ROW_ID, ROW_ADDRESS)]
        blobs.require_own(self._ref.table, dataset, columns, fragments)
        with translated(named(self._ref), "Reading"):
            yield from dataset.scanner(
                columns=columns,
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
    def _explaining(self, read: ReadOptions) -> Iterator[None]:
        """Say so where reading fails because the table or the version is gone by now."""
        try:
            yield
        except LanceNamespaceError:
            if not self._ref.exists():
                raise TableNotFoundError(f"{self._ref.name} was dropped while it was read.") from None
            try:
                self._ref.open(version=read.version, branch=read.branch)
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


# -- the version and its columns -------------------------------------------------------------------


def pin(
    ref: TableRef, read: ReadOptions, snapshot: lance.LanceDataset | None = None
) -> tuple[ReadOptions, lance.LanceDataset]:
    """Return what to read by the number of its version, however it was asked for, and that version.

    It is opened, unless it is the `snapshot`. Raises what `TableRef.open` raises, and refuses a filter with an error.
    """
    dataset = snapshot
    if dataset is None:
        dataset = ref.open(version=read.version, tag=read.tag, branch=read.branch, asof=read.asof)
    branch = read.branch
    if read.tag is not None:
        branch = ref.tag_branch(read.tag)
    if read.filter is not None and not read.searches:
        with translated(named(ref), "The option filter"):
            dataset.scanner(columns=[], with_row_id=True, filter=read.filter).explain_plan()
    return replace(read, version=int(dataset.version), branch=branch, tag=None, asof=None), dataset


def schema_of(ref: TableRef, read: ReadOptions, dataset: lance.LanceDataset) -> pa.Schema:
    """Return the columns to read, in Lance's types. Raises TableColumnNotFoundError."""
    import pyarrow as pa

    if read.searches:
        return search(ref, read).schema
    table = dataset.schema
    fields = list(table) if read.columns is None else [_field_of(ref, table, name) for name in read.columns]
    hidden = ((ROW_ID, read.with_row_id), (ROW_ADDRESS, read.with_row_address))
    return pa.schema([*fields, *(pa.field(name, pa.uint64(), nullable=False) for name, shown in hidden if shown)])


def _field_of(ref: TableRef, schema: pa.Schema, name: str) -> pa.Field:
    """Return a column by its name. Raises TableColumnNotFoundError, naming those there are."""
    if name not in schema.names:
        raise TableColumnNotFoundError(f"{ref.name} has no column {name!r}. It has: {', '.join(schema.names)}.")
    return schema.field(name)


def named(ref: TableRef) -> StoredTable:
    """Return a table for messages alone: to know its location, its catalog would have to be asked."""
    return StoredTable(ref.name, "")


# -- the shares of tasks ---------------------------------------------------------------------------


def shares(dataset: lance.LanceDataset, count: int | None) -> list[tuple[int, ...]]:
    """Return the ids of the fragments that each task reads, in the table's order: about `count` tasks, at least one."""
    weights = _weights(dataset)
    return split(weights, count or _tasks(sum(size for _, size in weights)))


def split(weights: Sequence[tuple[int, int]], count: int) -> list[tuple[int, ...]]:
    """Split ids with their weights into about `count` parts of about the same weight; neighbours stay together.

    No part is empty, unless there are no ids at all.
    """
    total = sum(weight for _, weight in weights)
    parts: dict[int, list[int]] = {}
    for (id_, weight), end in zip(weights, accumulate(weight for _, weight in weights), strict=True):
        middle = end - weight / 2
        # A last fragment without weight has its middle at the very end, which is in the last part too.
        part = min(int(middle * count / total), count - 1) if total else 0
        parts.setdefault(part, []).append(id_)
    return [tuple(parts[part]) for part in sorted(parts)] or [()]


def _weights(dataset: lance.LanceDataset) -> list[tuple[int, int]]:
    """Return each fragment's id and size: in bytes, or in rows where an older writer has not noted them."""
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    sizes = [[file.file_size_bytes or 0 for file in fragment.files] for fragment in fragments]
    if all(min(files, default=0) for files in sizes):
        return [(fragment.id, sum(files)) for fragment, files in zip(fragments, sizes, strict=True)]
    return [(fragment.id, int(fragment.physical_rows)) for fragment in fragments]


def _tasks(size: int) -> int:
    """Return how many tasks read so many bytes: two for each core of this machine, none too small or too large."""
    cores = os.cpu_count() or 1
    by_cores = min(_TASKS_PER_CORE * cores, -(-size // _SMALLEST_TASK))
    return max(1, by_cores, -(-size // _LARGEST_TASK))


def _fragments(dataset: lance.LanceDataset, ids: tuple[int, ...]) -> list[lance.LanceFragment]:
    fragments = [dataset.get_fragment(id_) for id_ in ids]
    assert None not in fragments, "a version keeps its fragments"
    return [fragment for fragment in fragments if fragment is not None]


def _batch_rows(schema: StructType) -> int:
    return max(_LEAST_ROWS, min(_MOST_ROWS, _BATCH_BYTES // max(1, sum(_size(field.dataType) for field in schema))))


def _size(type_: DataType) -> int:
    """Return about how many bytes a value has; many where it may have any number."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    if isinstance(type_, StructType):
        return sum(_size(field.dataType) for field in type_)
    if isinstance(type_, StringType):
        return 32
    return 2**20 if isinstance(type_, ArrayType | MapType | BinaryType) else 8


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


# -- rows that an index finds ----------------------------------------------------------------------


def indexed_fragments(dataset: lance.LanceDataset, condition: str | None, few: int = _FEW) -> tuple[int, ...] | None:
    """Return the fragments with rows that meet a condition; None where no index decides it alone, or rows are many."""
    if condition is None or not _is_decided_by_indices(dataset, condition):
        return None
    rows = dataset.scanner(columns=[], filter=condition, with_row_address=True, limit=few).to_table()
    if rows.num_rows == few:
        return None
    return tuple(sorted({address >> 32 for address in rows[ROW_ADDRESS].to_pylist()}))


def _is_decided_by_indices(dataset: lance.LanceDataset, condition: str) -> bool:
    indices = dataset.describe_indices()
    if not indices:
        return False
    # pylance says by its plan alone which indices it asks, and whether rows are left to be looked at.
    plan = dataset.scanner(columns=[], filter=condition, with_row_address=True).explain_plan()
    used = [index for index in indices if f"@{index.name}(" in plan]
    total = dataset.count_rows()
    return (
        bool(used)
        and "refine_filter=--" in plan
        and all(index.type_url.endswith(_EXACT) and total - index.num_rows_indexed <= _UNINDEXED for index in used)
    )
