"""A declared pipeline beside the same steps written by hand, in one Spark session: `make bench-pipeline`.

Parquet files with vectors of 64 floats → a query → an expectation that leaves rows out → a table with a key, an index
and a tag. By hand it is written to Parquet, which has neither index nor tag, and with `format("lance")`, beside which
stands what bookkeeping costs: the pipeline's records, and all that it takes more or less, with next to no rows as well.
Then a hundredth of rows is added, and an incremental run stands beside a full one.

`--rows 1000000 10000000` are the sizes; `--runs` says how often each is measured, of which the median is shown: three
times up to a million rows, else once. Files lie below `--home`, the system's temporary folder unless told, and go.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("LANCE_LOG", "error")

from rich.console import Console

import lanceway.spark
import pipeline_report as report
from pipeline_rows import Place
from pipeline_subjects import SUBJECTS, Subject, Taken, anew, declared, measured
from sheet import Sheet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = (1_000_000, 10_000_000)
FEW = 1_000  # rows that cost nothing: what is left is what each subject costs by itself
_MEDIAN_OF, _LARGE = 3, 1_000_000
_NEW = 100  # one row in so many


def main() -> None:
    given = arguments()
    console = Sheet(width=120)
    conf = {"spark.driver.memory": "4g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    spark = lanceway.spark.session(conf=conf)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(prefix="lanceway-bench-", dir=given.home) as folder:
        measure(spark, Path(folder), console, given.rows, given.runs)
    spark.stop()


def measure(spark: SparkSession, folder: Path, console: Console, sizes: list[int], given: int | None) -> None:
    """All of it, for each number of rows; so often as is given, unless that is left to their number."""
    few = Place(folder / "few", FEW)
    few.prepare(spark)
    beside(spark, few, 1)  # to warm up, as the next
    incremental(spark, few, 1)
    fixed = beside(spark, few, given or _MEDIAN_OF)
    for rows in sizes:
        place = Place(folder / str(rows), rows)
        place.prepare(spark)
        runs = given or (_MEDIAN_OF if rows <= _LARGE else 1)
        report.show(console, rows, runs, beside(spark, place, runs), fixed)
        report.show_incremental(console, rows, runs, incremental(spark, place, runs))
        place.forget()


def beside(spark: SparkSession, place: Place, runs: int) -> dict[str, list[Taken]]:
    """Each subject so often, by turns, so that all have their share of what else the machine does."""
    taken: dict[str, list[Taken]] = {name: [] for name in SUBJECTS}
    for _ in range(runs):
        for name, subject in SUBJECTS.items():
            place.clear()
            taken[name].append(measured(subject, spark, place))
    return taken


def incremental(spark: SparkSession, place: Place, runs: int) -> dict[str, list[Taken]]:
    """Runs after a hundredth of rows has come, and as many that read everything again."""
    ways: dict[str, Subject] = {"incremental": declared, "full": anew}
    taken: dict[str, list[Taken]] = {name: [] for name in ways}
    place.clear()
    declared(spark, place)
    rows, new = place.rows, max(1, place.rows // _NEW)
    for _ in range(runs):
        place.add(spark, rows, rows + new, 1)
        rows += new
        for name, way in ways.items():
            taken[name].append(measured(way, spark, place))
    return taken


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--home", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
