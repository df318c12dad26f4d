"""Stage rows in a task: write them as fragments that no version has yet, and note their files in the journal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from lanceway.errors import ConcurrentModificationError
from lanceway.tables import dataset
from lanceway.tables.versions import commit
from lanceway.tables.write.reader import CountingReader
from lanceway.writes import journal
from lanceway.writes.casting import to_lance
from lanceway.writes.plan import APPEND, CREATE, WritePlan
from lanceway.writes.table_ref import Destination

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata


def stage(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> tuple[str, ...]:
    """Write rows as fragments, and return these as JSON. A failure leaves no file behind."""
    import pyarrow as pa

    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return ()
    fitted = (_aligned(to_lance(batch, plan.schema)) for batch in chain((first,), rows))
    reader = pa.RecordBatchReader.from_batches(plan.schema, fitted)
    fragments = tuple(to_json(fragment) for fragment in write(plan, reader))
    try:
        _note(plan, fragments)
    except ConcurrentModificationError:
        if plan.kind == CREATE:  # the folder that was made for the table goes as well
            plan.destination.withdraw()
        raise
    return fragments


def _note(plan: WritePlan, fragments: tuple[str, ...]) -> None:
    """Note the files of fragments. Raises ConcurrentModificationError, with them removed, where the write has ended."""
    if plan.journal_entry is not None:
        journal.note(plan.destination, plan.journal_entry, files(fragments))
    elif plan.kind == CREATE and not plan.destination.stands():
        # The name that was declared for the write was dropped when it was given up.
        discard(plan.destination, fragments)
        raise ConcurrentModificationError(f"{plan.destination.ref.name} was dropped while rows were written to it.")


def _aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with decimals at multiples of 16 bytes, where Rust needs them; Spark's Arrow gives 8."""
    import pyarrow as pa

    columns = [pa.concat_arrays([column[:0], column]) if _is_misaligned(column) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _is_misaligned(column: pa.Array) -> bool:
    return "decimal" in str(column.type) and any(buffer.address % 16 for buffer in column.buffers() if buffer)


def write(plan: WritePlan, data: pa.RecordBatchReader) -> list[FragmentMetadata]:
    """Write rows of the plan's schema as fragments that no version has yet."""
    import lance

    destination = plan.destination.current()
    source = CountingReader(data)
    with source.consumed(destination.table, "Writing rows"):
        return list(
            lance.fragment.write_fragments(
                source.reader,
                _base(plan, destination),
                mode=plan.kind,
                storage_options=destination.table.options,
                **destination.renewal,
                **plan.files,
            )
        )


def _base(plan: WritePlan, destination: Destination) -> lance.LanceDataset | str:
    """Return the version that rows are added to, which has the ids of their columns, or the folder of new columns."""
    if plan.kind == APPEND:
        return dataset.open_at(destination.reading, version=plan.version)
    return destination.table.path


def to_json(fragment: FragmentMetadata) -> str:
    """Return a fragment as it travels between task and driver."""
    return json.dumps(fragment.to_json())


def from_json(fragments: Iterable[str]) -> list[FragmentMetadata]:
    """Read fragments that `to_json` wrote."""
    from lance.fragment import FragmentMetadata

    return [FragmentMetadata.from_json(fragment) for fragment in fragments]


def discard(destination: Destination, fragments: Iterable[str]) -> None:
    """Remove the files of fragments that will never be part of the table."""
    commit.remove(destination.current().table.store(), files(fragments))


def files(fragments: Iterable[str]) -> list[str]:
    """Return the files of fragments, as paths in the table's folder."""
    return [f"data/{file['path']}" for fragment in fragments for file in json.loads(fragment)["files"]]
