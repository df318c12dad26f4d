"""The checksum tells rows apart, whatever their types, and nothing else: not their order, not their batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lanceway.jobs.between.checksums import Checksum
from tests.jobs.move_helpers import motley


def checksum(table: pa.Table, batch: int | None = None) -> str:
    total = Checksum()
    for part in table.to_batches(batch):
        total.add(part)
    assert total.rows == table.num_rows
    return total.hex


def column(values: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"a": pa.array(values, kind)})


def test_neither_order_nor_batches_matter() -> None:
    table = motley(3000)
    turned = table.take(list(reversed(range(table.num_rows))))
    assert checksum(table) == checksum(table, 7) == checksum(turned) == checksum(turned.slice(0, 10**6), 1000)


def test_a_slice_is_what_it_shows() -> None:
    table = motley(40)
    assert checksum(table.slice(10, 20)) == checksum(table.take(list(range(10, 30))))


@pytest.mark.parametrize("name", motley(1).column_names)
def test_a_change_in_any_column_is_seen(name: str) -> None:
    table = motley(30)
    at = table.column_names.index(name)
    moved = pa.chunked_array([table[name].combine_chunks().take([*range(1, 30), 0])])
    assert checksum(table) != checksum(table.set_column(at, table.schema.field(at), moved))


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ([None], [""], pa.string()),
        (["ab", "c"], ["a", "bc"], pa.string()),
        (["x" * 300], ["x" * 301], pa.string()),
        (["x" * 256, "y"], ["y" * 256, "x"], pa.string()),
        ([None], [0], pa.int64()),
        ([1], [1, 1], pa.int64()),
        ([1, 1, 2], [1, 2, 2], pa.int64()),
        ([0.0], [-0.0], pa.float32()),
        ([[1, 2], [3]], [[1], [2, 3]], pa.list_(pa.int32())),
        ([[1, 2]], [[2, 1]], pa.list_(pa.int32())),
        ([[]], [None], pa.list_(pa.int32())),
        ([[None]], [[]], pa.list_(pa.int32())),
        ([{"x": 1, "y": 2}], [{"x": 2, "y": 1}], pa.struct([("x", pa.int8()), ("y", pa.int8())])),
        ([{"x": None}], [None], pa.struct([("x", pa.int8())])),
        ([[("k", 1)]], [[("k", 2)]], pa.map_(pa.string(), pa.int8())),
        ([b"12"], [b"21"], pa.binary(2)),
        ([True], [False], pa.bool_()),
        ([12345678901234567890], [22345678901234567890], pa.decimal128(38, 0)),
    ],
)
def test_different_values_are_different(one: Any, other: Any, kind: pa.DataType) -> None:
    assert checksum(column(one, kind)) != checksum(column(other, kind))
    assert checksum(column(one, kind)) == checksum(column(one, kind))


def test_columns_are_known_by_their_names() -> None:
    table = pa.table({"a": [1, 2], "b": [2, 1]})
    assert checksum(table) == checksum(table.select(["b", "a"]))
    assert checksum(table) != checksum(table.rename_columns(["b", "a"]).slice(0, 1))


def test_what_lies_behind_a_null_does_not_matter() -> None:
    values = pa.array([1, 2, 3])
    hidden = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), values.buffers()[1]])
    assert checksum(pa.table({"a": hidden})) == checksum(column([1, None, 3], pa.int64()))
