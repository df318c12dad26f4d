"""Scans planned in the driver: what tasks then run reads the table, and a refusal hides nobody else's traceback."""

from __future__ import annotations

import base64
import os
import pickle
import struct
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway.errors import TableColumnNotFoundError
from lanceway.spark import scans
from lanceway.spark.types import spark_schema


def make(path: Path) -> dict[str, str]:
    lance.write_dataset(pa.table({"id": range(30), "name": ["x"] * 30}), path, max_rows_per_file=10)
    return {"path": str(path), "version": "1", "partitions": "2", "filter": "id >= 5"}


def test_tasks_run_what_the_driver_has_planned(tmp_path: Path) -> None:
    options = make(tmp_path / "t")
    planned = scans.plan(options, spark_schema(pa.schema({"id": pa.int64()})))
    assert planned is not None, "Spark plans it itself, in workers"
    function, *partitions = parts(base64.b64decode(planned))
    read, _ = pickle.loads(function)
    asked = [iter([pa.record_batch({"partition": pa.array([part], pa.binary())})]) for part in partitions]
    found = [batch for one in asked for batch in read(one)]
    assert len(partitions) == 2
    assert {tuple(batch.schema.names) for batch in found} == {("id",)}
    assert [id_ for batch in found for id_ in batch["id"].to_pylist()] == list(range(5, 30))


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
        scans.plan(options, spark_schema(pa.schema({"gone": pa.int64()})))
    assert "SPARK_HIDE_TRACEBACK" not in os.environ
