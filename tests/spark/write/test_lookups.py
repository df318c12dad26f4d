"""Keys that a task looks up in a table, as a join would find them. No Spark is needed to see that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructType

from lanceway.spark.types import ROW_ADDRESS, ROW_ID, spark_schema
from lanceway.spark.write import merge
from lanceway.writes.table_ref import TableRef

VECTOR = pa.list_(pa.float32())
ROWS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("v", VECTOR)])


def rows(*keys: tuple[int | None, str | None]) -> pa.RecordBatch:
    return pa.record_batch(
        [
            pa.array([id_ for id_, _ in keys], pa.int64()),
            pa.array([name for _, name in keys], pa.string()),
            pa.array([[float(at)] for at in range(len(keys))], VECTOR),
        ],
        schema=ROWS,
    )


def looked_up(path: Path, keys: list[str], *batches: pa.RecordBatch, stable: bool = False) -> list[dict[str, Any]]:
    place = TableRef.of({"path": str(path)}).destination()
    assert place is not None
    schema = StructType(list(spark_schema(ROWS)))
    for name in (ROW_ADDRESS, ROW_ID) if stable else (ROW_ADDRESS,):
        schema = schema.add(name, LongType())
    version = lance.dataset(path).version
    found = list(merge._look_up(place, version, stable, keys, schema, iter(batches)))
    return sorted((row for batch in found for row in batch.to_pylist()), key=str)


@pytest.mark.parametrize("stable", [False, True])
def test_each_row_stands_beside_those_that_it_matches(tmp_path: Path, stable: bool) -> None:
    path = tmp_path / "t.lance"
    for first in (0, 10, 20):
        table = pa.table({"name": [f"n{first + at}" for at in range(10)], "id": range(first, first + 10)})
        lance.write_dataset(table, path, mode="append" if first else "create", enable_stable_row_ids=stable)
    lance.write_dataset(pa.table({"name": ["again", None], "id": [25, None]}), path, mode="append")
    lance.dataset(path).delete("id = 3")
    wanted = rows((2, "x"), (3, "gone"), (25, "twice"), (None, "null"), (99, "new"))
    found = looked_up(path, ["id"], wanted.slice(0, 2), wanted.slice(2), stable=stable)
    told = {(row["id"], row["name"], row["v"][0], row[ROW_ADDRESS]) for row in found}
    assert told == {
        (2, "x", 0.0, 2),
        (3, "gone", 1.0, None),
        (25, "twice", 2.0, (2 << 32) + 5),
        (25, "twice", 2.0, 3 << 32),
        (None, "null", 3.0, None),
        (99, "new", 4.0, None),
    }
    if stable:
        assert {row["id"]: row[ROW_ID] for row in found if row["id"] in (2, 99)} == {2: 2, 99: None}


def test_all_columns_of_a_key_must_match(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    types = pa.schema([("id", pa.uint32()), ("name", pa.large_string())])  # Spark has neither
    lance.write_dataset(pa.table({"id": [1, 1, 2], "name": ["a", "b", "a"]}, types), path)
    found = looked_up(path, ["name", "id"], rows((1, "b"), (2, "b"), (2, "a"), (1, None)))
    assert {(row["id"], row["name"], row[ROW_ADDRESS]) for row in found} == {
        (1, "b", 1),
        (2, "b", None),
        (2, "a", 2),
        (1, None, None),
    }


def test_an_empty_table_has_nothing_that_matches(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(pa.table({"id": pa.array([], pa.int64())}), path)
    assert [row[ROW_ADDRESS] for row in looked_up(path, ["id"], rows((1, "a")))] == [None]
    assert looked_up(path, ["id"]) == []
