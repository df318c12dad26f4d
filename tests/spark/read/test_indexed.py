"""Fragments with the rows that an index finds, and those that it does not answer for."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway.spark.read import reader as indexed
from lanceway.spark.read.reader import LanceReader, ReadTask
from lanceway.spark.types import spark_schema
from lanceway.writes.options import ReadOptions
from lanceway.writes.table_ref import TableRef

ROWS = 40_000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    rows = pa.table({"id": range(ROWS), "x": range(ROWS), "z": range(ROWS)})
    made = lance.write_dataset(rows, tmp_path_factory.mktemp("indexed") / "t", max_rows_per_file=1_000)
    made.create_scalar_index("id", "BTREE")
    made.create_scalar_index("z", "ZONEMAP")
    return lance.dataset(made.uri)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("id = 12345", (12,)),
        ("id IN (5, 39999)", (0, 39)),
        ("id > 1000000", ()),
        ("id >= 0", None),  # too many rows for one task
        ("id = 5 AND x > 3", None),  # which the index does not answer alone
        ("x = 5", None),
        ("z = 5", None),  # what such an index finds is to be looked at again
        (None, None),
    ],
)
def test_what_an_index_finds(dataset: lance.LanceDataset, condition: str | None, found: tuple[int, ...] | None) -> None:
    assert indexed.indexed_fragments(dataset, condition) == found


def test_rows_that_no_index_has_yet_are_found_too(tmp_path: Path) -> None:
    made = lance.write_dataset(pa.table({"id": range(100)}), tmp_path / "t")
    made.create_scalar_index("id", "BTREE")
    grown = lance.write_dataset(pa.table({"id": [7, 1000]}), tmp_path / "t", mode="append")
    assert indexed.indexed_fragments(grown, "id = 7") == (0, 1)


def test_one_task_reads_what_an_index_finds(dataset: lance.LanceDataset) -> None:
    read = ReadOptions(filter="id = 12345")
    reader = LanceReader(TableRef(None, {}, path=dataset.uri), read, spark_schema(dataset.schema))
    (share,) = reader.partitions()
    assert isinstance(share, ReadTask)
    assert share.fragments == (12,)
    assert [row for batch in reader.read(share) for row in batch["x"].to_pylist()] == [12345]
