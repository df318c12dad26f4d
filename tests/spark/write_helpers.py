"""What tests of writing share: options of a table in a catalog, and what lies in storage that no version has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import lance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def append(frame: DataFrame, path: Path | str, **options: str) -> None:
    frame.write.format("lance").mode("append").options(**options).save(str(path))


def ids(path: Path | str) -> list[int]:
    """The column `id` of a table, sorted: so that what is there twice shows."""
    return sorted(lance.dataset(str(path)).to_table(columns=["id"])["id"].to_pylist())


def strays(path: Path) -> set[str]:
    """The files of a table's folder that no version of it has: what a failed write left behind."""
    latest = lance.dataset(str(path))
    known = {".lanceway/managed-by.json"}  # a managed table says which lake manages it
    for version in latest.versions():
        for fragment in latest.checkout_version(version["version"]).get_fragments():
            known |= {f"data/{file.path}" for file in fragment.metadata.files}
            if fragment.metadata.deletion_file is not None:
                known.add(fragment.metadata.deletion_file.path(fragment.fragment_id))
    found = [
        file for folder in ("data", "_deletions", ".lanceway") for file in (path / folder).rglob("*") if file.is_file()
    ]
    return {file.relative_to(path).as_posix() for file in found} - known


def settle(spark: SparkSession) -> None:
    """Wait for tasks that go on although their job has failed."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    for _ in range(600):
        if not any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
            return
        time.sleep(0.1)
    raise AssertionError("a task still runs")
