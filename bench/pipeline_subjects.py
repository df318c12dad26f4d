"""The same steps three times: declared, and written by hand in PySpark with Lance and with Parquet.

Each reads the files, lets the query run, leaves out and counts what is not as expected, refuses keys that come twice,
and writes. Lance tables have an index and a tag then, of which Parquet knows nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lance

import pipeline_records
from lanceway import pipelines
from pipeline_rows import EXPECTED, INDEXED, KEY, SIZE, SQL, TAG, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Taken:
    """Seconds of a whole, of its records, and of its parts by name."""

    whole: float = 0.0
    records: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.parts[name] = time.perf_counter() - began


Subject = Callable[["SparkSession", Place], Taken]


def measured(subject: Subject, spark: SparkSession, place: Place) -> Taken:
    began = time.perf_counter()
    taken = subject(spark, place)
    taken.whole = time.perf_counter() - began
    return taken


def declared(spark: SparkSession, place: Place, *, full: bool = False) -> Taken:
    with pipeline_records.timed() as records:
        report = pipelines.run(place.file, state=place.state, config=place.config, spark=spark, full=full)
    assert report.ok, report.run.error
    taken = Taken(records=sum(records))
    for step in report.steps:
        if step.began_at is not None and step.ended_at is not None:
            taken.parts[step.name] = (step.ended_at - step.began_at) / 1000
    return taken


def anew(spark: SparkSession, place: Place) -> Taken:
    """All of it once more, in place of what the table has."""
    return declared(spark, place, full=True)


def with_lance(spark: SparkSession, place: Place) -> Taken:
    taken, path = Taken(), str(place.by_hand / "rows.lance")
    with taken.part("keys"):
        rows = _rows(spark, place)
    with taken.part("write"):
        rows.write.format("lance").mode("overwrite").option("vector_columns", f'{{"v": {SIZE}}}').save(path)
    with taken.part("index"):
        lance.dataset(path).create_scalar_index(INDEXED, "BTREE")
    with taken.part("tag"):
        written = lance.dataset(path)
        written.tags.create(TAG, written.version)
    return taken


def with_parquet(spark: SparkSession, place: Place) -> Taken:
    taken = Taken()
    with taken.part("keys"):
        rows = _rows(spark, place)
    with taken.part("write"):
        rows.write.mode("overwrite").parquet(str(place.by_hand / "rows.parquet"))
    return taken


def _rows(spark: SparkSession, place: Place) -> DataFrame:
    """What is to be written; no key comes twice in it."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    spark.read.parquet(str(place.raw)).createOrReplaceTempView("raw")
    clean = spark.sql(SQL)
    if not clean.where(EXPECTED).groupBy(KEY).count().where("count > 1").isEmpty():
        raise ValueError("A key comes twice.")
    broken = f.count_if(~f.expr(EXPECTED)).alias("broken")
    return clean.observe(Observation(), f.count(f.lit(1)).alias("rows"), broken).where(EXPECTED)


SUBJECTS: dict[str, Subject] = {
    "pipeline": declared,
    "by hand, Lance": with_lance,
    "by hand, Parquet": with_parquet,
}
