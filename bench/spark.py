"""Lance beside Parquet in one Spark session: `make bench-spark`.

The same rows are written by Spark to both, each with an id, a number, a word and a vector of 64 floats, and read
back: through `format("lance")` (the data source), through the SQL catalog, and from Parquet. A ratio below 1 means
that Lance takes less time. Each figure is the best of several, in seconds. Then a table of few rows is read at up to
10,000 fragments, to see what planning costs. Smaller: `--rows 200000 --fragments 1 100`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("LANCE_LOG", "error")

import lance
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import lanceway.spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS = 3
SIZE = 64
FRAGMENTS = (1, 10, 100, 1_000, 10_000)
# What is asked of each; `{}` is the table.
QUERIES = {
    "full scan": "SELECT max(hash(*)) FROM {}",
    "one column": "SELECT sum(x) FROM {}",
    "two columns, filter": "SELECT sum(x) FROM {} WHERE word = 'word 7'",
    "point look-up": "SELECT word FROM {} WHERE id = 12345",
    "count": "SELECT count(*) FROM {}",
    "group by": "SELECT word, avg(x) FROM {} GROUP BY word",
}


def rows(spark: SparkSession, count: int) -> DataFrame:
    made = spark.range(count).selectExpr("id", "rand(7) AS x", "concat('word ', id % 100) AS word")
    return made.selectExpr("*", f"transform(sequence(1, {SIZE}), n -> float(x * n)) AS v")


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of the fastest run: what the machine can do when nothing disturbs it."""
    took = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def write(frame: DataFrame, form: str, path: Path) -> float:
    options = {"vector_columns": f'{{"v": {SIZE}}}'} if form == "lance" else {}
    return best(lambda: frame.write.format(form).options(**options).mode("overwrite").save(str(path)), 2)


def compare(spark: SparkSession, home: Path, count: int, console: Console) -> None:
    table = Table("", "data source", "SQL catalog", "Parquet", "ratio", title=f"{count:,} rows, vectors of {SIZE}")
    frame = rows(spark, count)
    warehouse, parquet = home / "warehouse", home / "parquet"
    ours, theirs = write(frame, "lance", warehouse / "t.lance"), write(frame, "parquet", parquet)
    table.add_row("write", f"{ours:.2f}", "", f"{theirs:.2f}", f"{ours / theirs:.2f}")
    spark.read.format("parquet").load(str(parquet)).createOrReplaceTempView("parquet_t")
    measure(spark, warehouse, QUERIES, table)
    lance.dataset(str(warehouse / "t.lance")).create_scalar_index("id", "BTREE")
    measure(spark, warehouse, {"point look-up, index": QUERIES["point look-up"]}, table)
    console.print(table)


def measure(spark: SparkSession, warehouse: Path, queries: dict[str, str], table: Table) -> None:
    spark.read.format("lance").load(str(warehouse / "t.lance")).createOrReplaceTempView("lance_t")
    for name, query in queries.items():
        took = [best(spark.sql(query.format(place)).collect) for place in ("lance_t", "bench.t", "parquet_t")]
        table.add_row(name, *(f"{seconds:.2f}" for seconds in took), f"{min(took[:2]) / took[2]:.2f}")


def grow(spark: SparkSession, home: Path, counts: list[int], console: Console) -> None:
    table = Table("fragments", "planned", "read", title="The same rows in more fragments, seconds")
    for count in counts:
        path = home / f"in_{count}"
        lance.write_dataset(pa.table({"x": range(max(counts))}), path, max_rows_per_file=-(-max(counts) // count))

        def load(path: Path = path) -> DataFrame:
            return spark.read.format("lance").load(str(path))

        planned = best(lambda load=load: load().rdd.getNumPartitions())
        read = best(lambda load=load: load().selectExpr("sum(x)").collect())
        table.add_row(f"{count:,}", f"{planned:.2f}", f"{read:.2f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--fragments", type=int, nargs="*", default=list(FRAGMENTS))
    given = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        catalogs = {"bench": {"type": "dir", "path": str(home / "warehouse")}}
        conf = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        spark = lanceway.spark.session(conf=conf, catalogs=catalogs)
        spark.sparkContext.setLogLevel("ERROR")
        compare(spark, home, given.rows, console)
        grow(spark, home, given.fragments, console)
        spark.stop()


if __name__ == "__main__":
    main()
