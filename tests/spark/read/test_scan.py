"""Scans planned in the driver: what tasks then run reads the table, and a refusal hides nobody else's traceback."""

from __future__ import annotations

import base64
import os
import pickle
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway.errors import TableColumnNotFoundError
from lanceway.spark.read import scan
from lanceway.spark.types import spark_schema
from tests.spark.read.socket_helpers import received


def make(path: Path) -> dict[str, str]:
    lance.write_dataset(pa.table({"id": range(30), "name": ["x"] * 30}), path, max_rows_per_file=10)
    return {"path": str(path), "version": "1", "partitions": "2", "filter": "id >= 5"}


def test_tasks_run_what_the_driver_has_planned(tmp_path: Path) -> None:
    options = make(tmp_path / "t")
    planned = scan.plan(options, spark_schema(pa.schema({"id": pa.int64()})))
    assert planned is not None, "Spark plans it itself, in workers"
    function, *partitions = parts(base64.b64decode(planned))
    read, _ = pickle.loads(function)
    asked = [iter([pa.record_batch({"partition": pa.array([part], pa.binary())})]) for part in partitions]
    found = [table(read(one)) for one in asked]
    assert len(partitions) == 2
    assert pa.concat_tables(found).to_pydict() == {"id": list(range(5, 30))}


def table(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    """What a task sends, read as the bridge does."""
    with ThreadPoolExecutor(1) as pool:
        arriving = pool.submit(received, next(batches)["piece"][0].as_py())
        list(batches)
        return pa.ipc.open_stream(arriving.result()).read_all()


def test_few_rows_that_an_index_finds_are_read_at_once(tmp_path: Path) -> None:
    options = {**make(tmp_path / "t"), "filter": "id = 7"}
    del options["partitions"], options["version"]
    schema = spark_schema(pa.schema({"name": pa.string(), "id": pa.int64()}))
    assert scan.find(options, schema) is None
    lance.dataset(tmp_path / "t").create_scalar_index("id", "BTREE")
    found = scan.find(options, schema)
    assert found is not None
    assert pa.ipc.open_stream(base64.b64decode(found)).read_all().to_pylist() == [{"name": "x", "id": 7}]
    none = scan.find({**options, "filter": "id = 700"}, schema)
    assert none is not None
    assert pa.ipc.open_stream(base64.b64decode(none)).read_all().num_rows == 0


def test_rows_of_many_bytes_are_left_to_tasks(tmp_path: Path) -> None:
    rows = pa.table({"id": range(10), "body": [os.urandom(1_000_000)] * 10})
    lance.write_dataset(rows, tmp_path / "t").create_scalar_index("id", "BTREE")
    schema = spark_schema(rows.schema)
    few, many = ({"path": str(tmp_path / "t"), "filter": f"id < {end}"} for end in (3, 9))
    assert scan.find(few, schema) is not None
    assert scan.find(many, schema) is None


def parts(answer: bytes) -> list[bytes]:
    """As Spark reads them: each after its length, and the number of partitions after the function."""
    found, at = [], 0
    while at < len(answer):
        (length,) = struct.unpack_from("!i", answer, at)
        found.append(answer[at + 4 : at + 4 + length])
        at += 4 + length
        if len(found) == 1:
            at += 4
    return found


def test_a_refusal_in_the_driver_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    options = make(tmp_path / "t")
    with pytest.raises(TableColumnNotFoundError):
        scan.plan(options, spark_schema(pa.schema({"gone": pa.int64()})))
    assert "SPARK_HIDE_TRACEBACK" not in os.environ
