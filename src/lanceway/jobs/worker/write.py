"""Compute a view's rows in shares, each from a few fragments of the source, and write them.

Both are one commit, so that a refresh which is killed, or done twice, repeats nothing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, LanceNamespaceError, TableVersionNotFoundError
from lanceway.jobs import job_table
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.table.functions import BatchFunction
from lanceway.tables.errors import translated
from lanceway.tables.schema.views import CHUNKER, QUERY, View, scan
from lanceway.writes import commit as committing
from lanceway.writes import stage
from lanceway.writes.commit import WriteId
from lanceway.writes.plan import APPEND, OVERWRITE, WritePlan

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.dataset import LanceOperation
    from lance.fragment import FragmentMetadata

# Fewer rows than these are not worth a share, nor a file, of their own.
_ROWS = 250_000


@dataclass(frozen=True, slots=True)
class ViewShare:
    """Fragments of a version of the source."""

    version: int
    fragments: tuple[int, ...]


def shares_of(version: int, fragments: Sequence[FragmentMetadata], *, together: bool = False) -> list[ViewShare]:
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
        raise InvalidInputError(f"{name} answered neither a table nor a list of rows: {error}.") from error


_VERSION, _TRANSACTION = "lanceway.view.version", "lanceway.view.transaction"
# What changes no row: neither of a view, whose rows are then still what its last refresh made of them, nor of a source.
_HARMLESS = frozenset({"CreateIndex", "ReserveFragments", "Rewrite", "UpdateConfig"})
# What pylance gives for operations that it has no class for.
_UNKNOWN = "BaseOperation"


@dataclass(frozen=True)
class Shown:
    """A version of the source, by its number and by the transaction that made it, since a table may be replaced."""

    version: int
    transaction: str

    @classmethod
    def of(cls, table: JobTable, source: lance.LanceDataset) -> Shown:
        made_by = transaction(table, source, int(source.version))
        return cls(int(source.version), "" if made_by is None else str(made_by.uuid))


@dataclass(frozen=True)
class ViewMark(WriteId):
    """Identifies the commit of a refresh, and says what the view shows after it."""

    shown: Shown | None = None

    @property
    def properties(self) -> dict[str, str]:
        inherited = super().properties
        if self.shown is None:
            return inherited
        return {**inherited, _VERSION: str(self.shown.version), _TRANSACTION: self.shown.transaction}


def transaction(table: JobTable, opened: lance.LanceDataset, version: int) -> Any:
    """Return the transaction that made a version, or None where it is not known any more."""
    with translated(table.handle(), f"Reading the transaction of version {version}"):
        return opened.read_transaction(version)


def leaves_rows(table: JobTable, version: int, operation: Any) -> bool:
    """Return whether an operation changed no row. For one that pylance does not know, compare the fragments."""
    kind = type(operation).__name__
    if kind != _UNKNOWN:
        return kind in _HARMLESS
    return states(table.open(version - 1)) == states(table.open(version))


def states(dataset: lance.LanceDataset) -> dict[int, str]:
    """Return each fragment's metadata as text, which is the same as long as no row and no value has changed."""
    return {
        fragment.fragment_id: json.dumps(fragment.metadata.to_json(), sort_keys=True, default=str)
        for fragment in dataset.get_fragments()
    }


def shown(view: JobTable, opened: lance.LanceDataset) -> Shown | None:
    """Return what the view shows, or None where that is not known, or others have written to it."""
    for version in range(int(opened.version), 0, -1):
        try:
            made_by = transaction(view, opened, version)
            properties = {} if made_by is None else made_by.transaction_properties or {}
            if _VERSION in properties:
                return Shown(int(properties[_VERSION]), properties[_TRANSACTION])
            if made_by is None or not leaves_rows(view, version, made_by.operation):
                return None
        except TableVersionNotFoundError:  # cleaned up
            return None
    return None


def fitted(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Cast batches to a view's columns, in its order and of its types. Raises InvalidInputError."""
    import pyarrow as pa

    for batch in batches:
        missing = [name for name in schema.names if name not in batch.schema.names]
        if missing:
            raise InvalidInputError(
                f"The view has the column {missing[0]!r}, but the rows have {', '.join(batch.schema.names)}."
            )
        try:
            columns = [batch.column(field.name).cast(field.type) for field in schema]
        except pa.ArrowException as error:
            raise InvalidInputError(f"Rows do not fit the view: {error}.") from error
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


class Refresh:
    """One version of a view in the making."""

    def __init__(
        self, view: JobTable, opened: lance.LanceDataset, target: Shown | None, rows_per_file: int | None
    ) -> None:
        self.view, self.opened = view, opened
        self._mark = ViewMark(job=WriteId.of_job().job, shown=target)
        self._files = {} if rows_per_file is None else {"max_rows_per_file": rows_per_file}

    def plan(self, *, replacing: bool) -> WritePlan:
        """Return how rows for it are written, which the view does not have until the commit."""
        return self._plan(OVERWRITE if replacing else APPEND)

    def _plan(self, kind: str) -> WritePlan:
        return WritePlan(kind, self.view.place, self.opened.schema, int(self.opened.version), self._files)

    def discard(self, fragments: Iterable[FragmentMetadata]) -> None:
        self.view.discard(fragments)

    def replace(self, fragments: Sequence[FragmentMetadata]) -> int:
        """Replace all rows by these."""
        import lance

        operation = lance.LanceOperation.Overwrite(self.opened.schema, list(fragments))
        return self._committed(
            fragments, lambda: committing.commit(self._plan(OVERWRITE), operation, self._mark, strict=True)
        )

    def add(self, fragments: Sequence[FragmentMetadata]) -> int:
        """Add these rows. Without any, commit all the same what the view shows."""
        import lance

        plan = self._plan(APPEND)
        if not fragments:
            return committing.commit(plan, lance.LanceOperation.Append([]), self._mark)
        return self._committed(fragments, lambda: committing.update(plan, (), (), fragments, self._mark, inserts=True))

    def change(self, operation: LanceOperation.Update) -> int:
        """Commit what a merge has made."""
        new = list(operation.new_fragments)
        return self._committed(
            new,
            lambda: committing.update(
                self._plan(APPEND),
                list(operation.removed_fragment_ids),
                list(operation.updated_fragments),
                new,
                self._mark,
                inserts=True,
            ),
        )

    def _committed(self, fragments: Sequence[FragmentMetadata], commit: Any) -> int:
        try:
            version: int = commit()
        except LanceNamespaceError:
            self.discard(fragments)
            raise
        return version
