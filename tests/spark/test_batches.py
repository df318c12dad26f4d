"""Batches that are gathered. No Spark is needed to see that."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lanceway.spark.types import rebatch

BATCHES = [pa.record_batch({"x": pa.array(range(rows), pa.int64())}) for rows in (3, 0, 4, 1, 5, 2, 0)]


@pytest.mark.parametrize(
    ("rows", "bytes_", "expected"),
    [
        (1, None, [3, 4, 1, 5, 2]),
        (5, None, [7, 6, 2]),
        (100, None, [15]),
        (100, 1, [3, 4, 1, 5, 2]),
        (100, 56, [7, 8]),
        (5, 56, [7, 6, 2]),
    ],
)
def test_so_many_at_a_time_as_are_wanted(rows: int, bytes_: int | None, expected: list[int]) -> None:
    found = list(rebatch(iter(BATCHES), rows=rows, bytes_=bytes_))
    assert [table.num_rows for table in found] == expected
    assert pa.concat_tables(found).equals(pa.Table.from_batches(BATCHES))


def test_no_rows_are_no_chunk() -> None:
    assert list(rebatch([BATCHES[1]], rows=1)) == []
