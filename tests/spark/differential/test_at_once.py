"""Two Spark jobs and a writer without Spark on one managed table: no row is lost, none is there twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pytest

import lanceway
from tests.spark.differential import writers_program as writers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTIONS, STATEMENTS, PYLANCE = 1_000_000, 2_000_000, 3_000_000


@pytest.mark.timeout(600)
def test_writers_at_once_lose_and_double_nothing(spark: SparkSession, rounds: int, folder: Path) -> None:
    """One job is this session's, the other has a driver of its own."""
    uri, root, steps = f"sqlite:///{folder}/lake.db", f"{folder}/lake", max(3, rounds // 40)
    lake = lanceway.connect("lake", uri=uri, root=root)
    lake.create_table_stream({"id": [writers.TABLE]}, writers.SCHEMA.empty_table().to_reader())
    target = {"namespace.type": "lake", "namespace.uri": uri, "namespace.root": root, "table": writers.TABLE}
    programs = [
        subprocess.Popen(
            [sys.executable, "-m", writers.__name__, kind, uri, root, str(base), str(steps)],
            stdout=(folder / kind).open("wb"),
            stderr=subprocess.STDOUT,
        )
        for kind, base in (("spark", STATEMENTS), ("pylance", PYLANCE))
    ]
    try:
        writers.with_functions(spark, target, FUNCTIONS, steps)
        for program, kind in zip(programs, ("spark", "pylance"), strict=True):
            assert program.wait() == 0, (folder / kind).read_text()[-3000:]
    finally:
        for program in programs:
            program.kill()
            program.wait()
    expected = [
        *writers.expected_of_spark(FUNCTIONS, steps),
        *writers.expected_of_spark(STATEMENTS, steps),
        *writers.expected_of_pylance(PYLANCE, steps),
    ]
    rows = lance.dataset(namespace_client=lake, table_id=[writers.TABLE]).to_table()
    assert sorted(zip(rows["id"].to_pylist(), rows["n"].to_pylist(), strict=True)) == expected
    check = [sys.executable, "-m", "lanceway", "lake", "check", "--uri", uri]
    checked = subprocess.run(check, capture_output=True, text=True, check=False, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr
