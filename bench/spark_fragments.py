"""The same rows in more and more fragments: what planning and reading cost then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from spark_report import best
from spark_tables import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fragments(spark: SparkSession, home: Path, counts: list[int], console: Console) -> None:
    rows = max(counts)
    table = Table("fragments", title=f"{rows:,} rows in more fragments, seconds")
    for column in ("planned", "count, data source", "count, SQL", "scanned, data source", "scanned, SQL"):
        table.add_column(column, justify="right")
    for number in counts:
        name = f"in_{number}"
        path = home / "warehouse" / f"{name}.lance"
        if not path.is_dir():
            lance.write_dataset(pa.table({"x": range(rows)}), str(path), max_rows_per_file=-(-rows // number))
        measured = _measured(spark, path, f"{CATALOG}.{name}")
        table.add_row(f"{number:,}", *(f"{seconds:.2f}" for seconds in measured))
    console.print(table)


def _measured(spark: SparkSession, path: Path, name: str) -> list[float]:
    def asked(query: str) -> float:
        return best(lambda: spark.sql(query).collect())

    spark.read.format("lance").load(str(path)).createOrReplaceTempView("loaded")
    return [
        best(lambda: spark.read.format("lance").load(str(path)).rdd.getNumPartitions()),
        asked("SELECT count(*) FROM loaded"),
        asked(f"SELECT count(*) FROM {name}"),
        asked("SELECT sum(x) FROM loaded"),
        asked(f"SELECT sum(x) FROM {name}"),
    ]
