"""Reading a Lance table in Spark: planned in the driver at one version, read in tasks through pylance.

What a reader holds travels to every task, so it is small and can be pickled; an open dataset is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.spark.errors import plainly
from lanceway.spark.read import filters, indexed, partitions, search, snapshot
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, arrow_schema, spark_schema, to_spark
from lanceway.tables.errors import translated
from lanceway.writes.options import OWNER, ReadOptions

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import DataType, StructType

    from lanceway.writes.table_ref import Target

# How much pylance may read ahead in one task; its own default would be gigabytes for each of them.
_READ_AHEAD = 256 * 2**20
# Fewer rows than that are read while a scan is planned, where an index finds them: no task starts as fast.
_AT_ONCE = 1_000
# A batch is of some size, so that what each costs is little beside what it holds; where columns are narrow, that is
# more rows than pylance would give by itself.
_BATCH_BYTES, _LEAST_ROWS, _MOST_ROWS = 2 * 2**20, 8_192, 65_536


@dataclass(frozen=True)
class Share(InputPartition):
    """What one task reads: fragments of a version, or all of it."""

    read: ReadOptions
    fragments: tuple[int, ...] | None


class LanceReader(DataSourceReader):
    """One table at one version. With `takes_filters`, Lance evaluates those that it evaluates as Spark does.

    Without, it takes none: Spark by itself would apply them to every later query of the same data frame.
    """

    def __init__(self, target: Target, read: ReadOptions, schema: StructType, *, takes_filters: bool = False) -> None:
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
            return [Share(read, None)]
        if read.partitions is None:
            with translated(snapshot.named(self._target), "Looking for rows by an index"):
                few = indexed.fragments(dataset, filters.both(read.filter, *self._pushed))
            if few is not None:
                return [Share(read, few)]
        return [Share(read, ids) for ids in partitions.shares(dataset, read.partitions)]

    @plainly()
    def found(self) -> Iterator[pa.RecordBatch] | None:
        """The rows, if an index finds them and they are few. None where tasks have to look for them."""
        read, dataset = self._plan()
        if read.searches or read.limit is not None or read.partitions is not None:
            return None
        with translated(snapshot.named(self._target), "Looking for rows by an index"):
            few = indexed.fragments(dataset, filters.both(read.filter, *self._pushed), _AT_ONCE)
        return None if few is None else self.read(Share(read, few))

    def _plan(self) -> tuple[ReadOptions, lance.LanceDataset]:
        if self._planned is None:
            read, dataset = snapshot.pin(self._target, self._read)
            whole = replace(read, columns=None, with_row_id=True, with_row_address=not read.searches)
            self._check(snapshot.schema_of(self._target, whole, dataset))
            self._planned = read, dataset
        return self._planned

    def _check(self, own: pa.Schema) -> None:
        """Hold a schema that the user gave, or a query that was planned long ago, against the table."""
        import pyarrow as pa
        from pyspark.sql.types import StructType

        for field in self._schema:
            found = spark_schema(pa.schema([snapshot.field(self._target, own, field.name)]))[0].dataType
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
        assert isinstance(partition, Share)
        wanted = self.wanted
        with plainly(), self._watched(partition.read):
            for batch in self._batches(partition):
                if batch.num_rows:
                    yield to_spark(batch, wanted)

    def _batches(self, share: Share) -> Iterator[pa.RecordBatch]:
        read = share.read
        if read.searches:
            yield from search.search(self._target, read)
            return
        # Where a scan was planned, the version is open.
        dataset = self._planned[1] if self._planned else self._target.open(version=read.version, branch=read.branch)
        fragments = None if share.fragments is None else _chosen(dataset, share.fragments)
        if fragments == []:
            return
        with translated(snapshot.named(self._target), "Reading"):
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
