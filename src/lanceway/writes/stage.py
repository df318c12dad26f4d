"""Rows that come in many small batches, gathered into fewer and larger ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lanceway.errors import ConcurrentModificationError
from lanceway.tables import dataset
from lanceway.tables.versions import commit
from lanceway.tables.write.reader import CountingReader
from lanceway.writes import journal
from lanceway.writes.casting import to_lance
from lanceway.writes.destination import Destination
from lanceway.writes.plan import APPEND, CREATE, WritePlan

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata


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


def stage(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> tuple[str, ...]:
    """Write rows as fragments and answer them as text. What fails leaves no file behind."""
    import pyarrow as pa

    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return ()
    fitted = (_aligned(to_lance(batch, plan.schema)) for batch in _chain(first, rows))
    done = tuple(written(fragment) for fragment in write(plan, pa.RecordBatchReader.from_batches(plan.schema, fitted)))
    try:
        _report(plan, done)
    except ConcurrentModificationError:
        if plan.kind == CREATE:  # what was made for the table goes as well
            plan.destination.withdraw()
        raise
    return done


def _report(plan: WritePlan, done: tuple[str, ...]) -> None:
    """Note what was written. Raises ConcurrentModificationError where nobody waits for it, and it is gone then."""
    if plan.write is not None:
        journal.note(plan.destination, plan.write, files(done))
    elif plan.kind == CREATE and not plan.destination.stands():
        # Whoever gave the write up has dropped the name that was declared for it.
        discard(plan.destination, done)
        raise ConcurrentModificationError(f"{plan.destination.target.name} was dropped while rows were written to it.")


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with decimals where Rust needs them: at multiples of 16 bytes, while Spark's Arrow gives 8."""
    import pyarrow as pa

    columns = [pa.concat_arrays([column[:0], column]) if _is_askew(column) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _is_askew(column: pa.Array) -> bool:
    return "decimal" in str(column.type) and any(buffer.address % 16 for buffer in column.buffers() if buffer)


def write(plan: WritePlan, data: pa.RecordBatchReader) -> list[FragmentMetadata]:
    import lance

    place, source = plan.destination.current(), CountingReader(data)
    with source.consumed(place.table, "Writing rows"):
        return list(
            lance.fragment.write_fragments(
                source.reader,
                _opened(plan, place),
                mode=plan.kind,
                storage_options=place.table.options,
                **place.renewal,
                **plan.files,
            )
        )


def _opened(plan: WritePlan, place: Destination) -> lance.LanceDataset | str:
    """What rows are added to knows the ids of its columns; a new schema begins to count."""
    return dataset.open_at(place.reading, version=plan.version) if plan.kind == APPEND else place.table.path


def written(fragment: FragmentMetadata) -> str:
    return json.dumps(fragment.to_json())


def read(fragments: Iterable[str]) -> list[FragmentMetadata]:
    from lance.fragment import FragmentMetadata

    return [FragmentMetadata.from_json(fragment) for fragment in fragments]


def discard(place: Destination, fragments: Iterable[str]) -> None:
    """Remove the files of fragments that will never be part of the table."""
    commit.remove(place.current().table.store(), files(fragments))


def files(fragments: Iterable[str]) -> list[str]:
    """The files of fragments, as paths in the table's folder."""
    return [f"data/{file['path']}" for fragment in fragments for file in json.loads(fragment)["files"]]
