"""Compute a view's rows in shares, each from a few fragments of the source."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.jobs import job_table
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.table.functions import BatchFunction
from lanceway.jobs.worker.write import fitted
from lanceway.tables.errors import translated
from lanceway.tables.schema.views import CHUNKER, QUERY, View, scan
from lanceway.writes import stage
from lanceway.writes.plan import WritePlan

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

# Fewer rows than these are not worth a share, nor a file, of their own.
_ROWS = 250_000


@dataclass(frozen=True, slots=True)
class ViewShare:
    """Fragments of a version of the source."""

    version: int
    fragments: tuple[int, ...]


def of(version: int, fragments: Sequence[FragmentMetadata], *, together: bool = False) -> list[ViewShare]:
    """Group the fragments, neighbours in one share, or with `together` all of them."""
    rows = sum(map(job_table.rows, fragments))
    groups = job_table.grouped(list(fragments), 1 if together else max(1, rows // _ROWS))
    return [ViewShare(version, tuple(fragment.id for fragment in group)) for group in groups]


@dataclass
class RowLimit:
    """How many more rows a view may get."""

    rows: int

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.rows <= 0:
                return
            head = batch.slice(0, self.rows)
            self.rows -= head.num_rows
            yield head


@dataclass(frozen=True)
class ViewShareWriter:
    """Reads a share and writes the view's rows of it; picklable, so that Spark's workers may do it."""

    source: JobTable
    view: View
    plan: WritePlan
    task_size: int | None = None
    limit: RowLimit | None = None
    threads: int = 1

    def __call__(self, share: ViewShare) -> dict[str, Any]:
        import pyarrow as pa

        rows = self._rows(share)
        counted = Counted(rows if self.limit is None else self.limit.cut(rows))
        if not counted.begin():
            return {"rows": 0, "fragments": []}
        reader = pa.RecordBatchReader.from_batches(self.plan.schema, fitted(counted, self.plan.schema))
        fragments = stage.write(self.plan, reader)
        return {"rows": counted.rows, "fragments": [stage.to_json(fragment) for fragment in fragments]}

    def _rows(self, share: ViewShare) -> Iterator[pa.RecordBatch]:
        dataset = self.source.open(share.version)
        with translated(self.source.handle(), "Reading the source"):
            chosen = [fragment for fragment in map(dataset.get_fragment, share.fragments) if fragment is not None]
            rows = scan(self.view, dataset, chosen).to_reader()
        if self.view.kind != QUERY:
            yield from expanded_rows(self.view, rows, self.task_size, self.threads)
        else:
            yield from rows


class Counted:
    """Batches that are counted as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._first: pa.RecordBatch | None = None
        self.rows = 0

    def begin(self) -> bool:
        """Read up to the first row, and return whether there is one."""
        self._first = next((batch for batch in self._batches if batch.num_rows), None)
        return self._first is not None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._first is not None:
            self.rows += self._first.num_rows
            yield self._first
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


_SHOWN = 60  # characters of a value


def expanded_rows(
    view: View, rows: Iterable[pa.RecordBatch], task_size: int | None, threads: int
) -> Iterator[pa.RecordBatch]:
    """Yield what a view's function makes of rows: a chunker of batch after batch, a table function of all of them.

    A function that gets its rows by partitions is called by several threads. Its rows come in the order of the
    partitions.
    """
    name = str(view.function)
    function: Callable[[Any], Any] = BatchFunction(name).load()
    if view.kind == CHUNKER:
        first = 1
        for batch in rows:
            for part in _parts(batch, task_size):
                yield from _called(name, function, part, f"at the rows from {first:,} on")
                first += part.num_rows
    else:
        import pyarrow as pa

        batches = list(rows)
        table = pa.Table.from_batches(batches) if batches else None
        if table is not None and view.partition is not None:
            yield from _each(name, function, _partitions(view, table), threads)
        elif table is not None:
            yield from _called(name, function, table, "")


def _partitions(view: View, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield each value, as text, with its rows in the order of the source. Nulls are alike."""
    import pyarrow.compute as pc

    assert view.partition is not None
    values = rows[view.partition].combine_chunks().dictionary_encode(null_encoding="encode")
    inputs = rows if not view.inputs or view.partition in view.inputs else rows.drop_columns([view.partition])
    inputs = inputs.take(pc.sort_indices(values.indices))  # which is stable
    counts = sorted(values.indices.value_counts().to_pylist(), key=lambda count: int(count["values"]))
    begin = 0
    for count, value in zip(counts, values.dictionary, strict=True):
        yield f"{view.partition} = {str(value)[:_SHOWN]}", inputs.slice(begin, count["counts"])
        begin += count["counts"]


def _each(
    name: str, function: Callable[[Any], Any], partitions: Iterable[tuple[str, pa.Table]], threads: int
) -> Iterator[pa.RecordBatch]:
    def call(partition: tuple[str, pa.Table]) -> list[pa.RecordBatch]:
        return _called(name, function, partition[1], f"where {partition[0]}")

    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-partition") as pool:
        waiting: deque[Future[list[pa.RecordBatch]]] = deque()
        try:
            for partition in partitions:
                waiting.append(pool.submit(call, partition))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:  # where one failed, or no more rows are read, no other is begun
            for future in waiting:
                future.cancel()


def _parts(batch: pa.RecordBatch, size: int | None) -> Iterator[pa.RecordBatch]:
    step = size or max(1, batch.num_rows)
    for begin in range(0, batch.num_rows, step):
        yield batch.slice(begin, step)


def _called(name: str, function: Callable[[Any], Any], rows: Any, where: str) -> list[pa.RecordBatch]:
    import pyarrow as pa

    try:
        result = function(rows)
    except Exception as error:  # a user's code may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"The view was not refreshed: {' '.join((name, 'failed', where)).strip()}: {reason}"
        ) from error
    if isinstance(result, pa.RecordBatch):
        return [result]
    if isinstance(result, pa.Table):
        return list(result.to_batches())
    try:
        return list(pa.Table.from_pylist(list(result)).to_batches())
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{name} answered what is no table, nor a list of rows: {error}.") from error
