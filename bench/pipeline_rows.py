"""The rows of the benchmark of pipelines: Parquet files that it makes itself, and the pipeline that reads them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.pipelines.runs import store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = 64
FILES = 8
# What is left out: one row in a hundred breaks what is expected of it.
EXPECTED = "x < 0.99"
SQL = "SELECT id, x, k, upper(word) AS word, v FROM raw"
TAG, KEY, INDEXED = "published", "id", "k"
_COLUMNS = ("id", "rand(7) AS x", "CAST(id % 1000 AS int) AS k", "concat('word ', id % 100) AS word")
_VECTOR = ", ".join(f"float(x * {number})" for number in range(1, SIZE + 1))


@dataclass(frozen=True)
class Place:
    """A folder for one number of rows: what is read, and what each subject writes."""

    home: Path
    rows: int

    @property
    def raw(self) -> Path:
        return self.home / "raw"

    @property
    def file(self) -> Path:
        return self.home / "bench.yaml"

    @property
    def config(self) -> Path:
        return self.home / "lanceway.toml"

    @property
    def state(self) -> str:
        return f"sqlite:///{self.home}/state.db"

    @property
    def tables(self) -> Path:
        """The folder that is a catalog for the pipeline."""
        return self.home / "tables"

    @property
    def by_hand(self) -> Path:
        return self.home / "by_hand"

    def prepare(self, spark: SparkSession) -> None:
        self.tables.mkdir(parents=True)
        self.config.write_text(f'[namespaces.bench]\ntype = "dir"\npath = "{self.tables}"\n')
        self.file.write_text(self.declared)
        self.add(spark, 0, self.rows, FILES)

    def add(self, spark: SparkSession, start: int, end: int, files: int) -> None:
        """More files of rows, whose vectors are made by generated code."""
        rows = spark.range(start, end, numPartitions=files).selectExpr(*_COLUMNS)
        rows.selectExpr("*", f"array({_VECTOR}) AS v").write.mode("append").parquet(str(self.raw))

    def clear(self) -> None:
        """What the subjects have written, and all that is known of it, goes; what they read stays."""
        for folder in (self.tables, self.by_hand):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for file in self.home.glob("state.db*"):
            file.unlink()
        with store.open_run_store(self.state):
            pass  # it is made, as that of a user is who has run anything before

    def forget(self) -> None:
        shutil.rmtree(self.home)

    @property
    def declared(self) -> str:
        return f"""\
pipeline: bench
sources:
  raw: {{files: "{self.raw}", format: parquet}}
transforms:
  clean:
    sql: {SQL}
    expect: [{{name: in range, that: {EXPECTED}, otherwise: drop}}]
outputs:
  out:
    from: clean
    table: bench.rows
    keys: {KEY}
    vectors: {{v: {SIZE}}}
    indices: [{{column: {INDEXED}, type: BTREE}}]
    tags: {TAG}
"""
