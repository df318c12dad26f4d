"""Rows that come in many small batches, gathered into fewer and larger ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def chunks(batches: Iterable[pa.RecordBatch], *, rows: int, bytes_: int | None = None) -> Iterator[pa.Table]:
    """The batches, as many at a time as have that many rows, or bytes where that is said; none of them is empty."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= rows or (bytes_ is not None and size >= bytes_):
            yield pa.Table.from_batches(held)
            held, count, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
