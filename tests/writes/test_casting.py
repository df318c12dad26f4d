"""Batches as Spark sends them, brought to a table's own types."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from lanceway.writes.casting import to_lance

LIST, VECTOR = pa.list_(pa.float32()), pa.list_(pa.float32(), 2)


@pytest.mark.parametrize(
    ("given", "rows", "own"),
    [
        (LIST, [None, None], VECTOR),
        (LIST, [None, [1.0, 2.0]], VECTOR),
        (LIST, [], VECTOR),
        (pa.struct({"v": LIST}), [{"v": None}], pa.struct({"v": VECTOR})),
        (pa.list_(LIST), [[None]], pa.list_(VECTOR)),
    ],
)
def test_vectors_that_are_null_come_without_values(given: pa.DataType, rows: list[object], own: pa.DataType) -> None:
    """Read from a stream, a list of no values has no address, which pyarrow's own cast does not look at."""
    sent = io.BytesIO()
    batch = pa.record_batch([pa.array(rows, given)], ["c"])
    with pa.ipc.new_stream(sent, batch.schema) as writer:
        writer.write_batch(batch)
    received = pa.ipc.open_stream(sent.getvalue()).read_next_batch()
    fitted = to_lance(received, pa.schema({"c": own}))
    assert fitted.schema.field("c").type == own
    assert fitted["c"].to_pylist() == rows
