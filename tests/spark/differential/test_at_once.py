"""Two Spark jobs and a writer without Spark on one managed table: no row is lost, none is there twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pytest

import lanceway
from tests.spark.differential import writers_program as writers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTIONS, STATEMENTS, PYLANCE = 1_000_000, 2_000_000, 3_000_000
# How much more the writer without Spark does in the same time.
QUICKER = 3


def start(folder: Path, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", writers.__name__, kind, str(folder), *arguments]
    with (folder / kind).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def check_running(folder: Path, programs: Mapping[str, subprocess.Popen[bytes]]) -> None:
    for kind, program in programs.items():
        assert program.poll() is None, (folder / kind).read_text()[-3000:]


@pytest.mark.timeout(0)
def test_writers_at_once_lose_and_double_nothing(spark: SparkSession, rounds: int, folder: Path) -> None:
    """One job is this session's, the other has a driver of its own."""
    uri, root, steps = f"sqlite:///{folder}/lake.db", f"{folder}/lake", max(2, rounds // 40)
    lake = lanceway.connect("lake", uri=uri, root=root)
    lake.create_table_stream({"id": [writers.TABLE]}, writers.SCHEMA.empty_table().to_reader())
    target = {"namespace.type": "lake", "namespace.uri": uri, "namespace.root": root, "table": writers.TABLE}
    both = {
        kind: start(folder, kind, uri, root, str(base), str(count))
        for kind, base, count in (("spark", STATEMENTS, steps), ("pylance", PYLANCE, steps * QUICKER))
    }
    try:
        while not all((folder / f"{kind} is ready").exists() for kind in both):
            check_running(folder, both)
            time.sleep(0.05)
        (folder / "all are ready").touch()
        writers.with_functions(spark, target, FUNCTIONS, steps)
        for kind, program in both.items():
            assert program.wait() == 0, (folder / kind).read_text()[-3000:]
    finally:
        for program in both.values():
            program.kill()
            program.wait()
    expected = [
        *writers.expected_of_spark(FUNCTIONS, steps),
        *writers.expected_of_spark(STATEMENTS, steps),
        *writers.expected_of_pylance(PYLANCE, steps * QUICKER),
    ]
    rows = lance.dataset(namespace_client=lake, table_id=[writers.TABLE]).to_table()
    assert sorted(zip(rows["id"].to_pylist(), rows["n"].to_pylist(), strict=True)) == expected
    check = [sys.executable, "-m", "lanceway", "lake", "check", "--uri", uri]
    checked = subprocess.run(check, capture_output=True, text=True, check=False, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr
