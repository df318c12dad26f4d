"""Rows that a Python function makes of a view's source: of batch after batch, or of all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.spark.jobs.functions import Function
from lanceway.tables.views import CHUNKER

if TYPE_CHECKING:
    import pyarrow as pa


def made(name: str, rows: Iterable[pa.RecordBatch], kind: str, task_size: int | None) -> Iterator[pa.RecordBatch]:
    """What a function makes of rows: a chunker of batch after batch, a table function of all of them."""
    function: Callable[[Any], Any] = Function(name).found()
    if kind == CHUNKER:
        first = 1
        for batch in rows:
            for part in _parts(batch, task_size):
                yield from _called(name, function, part, f"at the rows from {first:,} on")
                first += part.num_rows
    else:
        import pyarrow as pa

        batches = list(rows)
        whole = pa.Table.from_batches(batches) if batches else None
        if whole is not None:
            yield from _called(name, function, whole, "")


def _parts(batch: pa.RecordBatch, size: int | None) -> Iterator[pa.RecordBatch]:
    step = size or max(1, batch.num_rows)
    for begin in range(0, batch.num_rows, step):
        yield batch.slice(begin, step)


def _called(name: str, function: Callable[[Any], Any], rows: Any, where: str) -> list[pa.RecordBatch]:
    import pyarrow as pa

    try:
        answer = function(rows)
    except Exception as error:  # somebody else's code may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"The view was not refreshed: {' '.join((name, 'failed', where)).strip()}: {reason}"
        ) from error
    if isinstance(answer, pa.RecordBatch):
        return [answer]
    if isinstance(answer, pa.Table):
        return list(answer.to_batches())
    try:
        return list(pa.Table.from_pylist(list(answer)).to_batches())
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{name} answered what is no table, nor a list of rows: {error}.") from error
