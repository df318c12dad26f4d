"""The rows of a change, in a task: new ones are written, and of old ones the addresses are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanceway.spark.errors import plainly
from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.writes import deletions
from lanceway.writes import stage as staging
from lanceway.writes.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

# What becomes of a row; and its keys as a text, where another row has the same.
ACTION, TWIN = "_lanceway_action", "_lanceway_twin"
INSERT, UPDATE, DELETE = "insert", "update", "delete"
# What a task answers: fragments, offsets of rows that go, how many rows there were of an action, and keys given twice.
ANSWER = "kind string, name string, fragment bigint, payload binary"
NEW, GONE, COUNT, TWICE = "new", "gone", "count", "twice"


class Rows:
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


def stage(plan: Plan, stable: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write what is to be written, and answer all that the driver needs to commit it."""
    import pyarrow as pa

    rows = Rows(batches, plan.schema.names)
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
