"""Fragments shared out among tasks."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import lance
import pyarrow as pa
from hypothesis import example, given

from lanceway.spark.read import reader


@example([1, 0], 1)
@given(st.lists(st.integers(0, 10**9), max_size=60), st.integers(1, 20))
def test_each_fragment_goes_to_one_task_and_tasks_are_balanced(sizes: list[int], count: int) -> None:
    parts = reader.split(list(enumerate(sizes)), count)
    assert [id_ for part in parts for id_ in part] == list(range(len(sizes)))
    assert len(parts) <= count
    assert all(parts) or parts == [()]
    total, largest = sum(sizes), max(sizes, default=0)
    assert all(sum(sizes[id_] for id_ in part) <= total / count + largest for part in parts)


def test_a_manifest_is_all_that_is_read_for_many_fragments(tmp_path: Path) -> None:
    made = lance.write_dataset(pa.table({"x": range(1000)}), tmp_path / "t", max_rows_per_file=1)
    for file in (tmp_path / "t" / "data").iterdir():
        file.unlink()
    parts = reader.shares(lance.dataset(made.uri), 7)
    assert [len(part) for part in parts] == [143, 143, 143, 142, 143, 143, 143]
    assert len(reader.shares(made, None)) == 1
