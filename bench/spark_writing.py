"""Writing in Spark, Lance beside Parquet: whole tables, many small appends, a merge, a stream."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import lance
from rich.console import Console

import lanceway.spark
from spark_report import Measured, best, show, show_parts, took
from spark_tables import CATALOG, Pair

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Writes with vectors are to take two thirds of Parquet's time at most.
_FASTER = 1 / 1.5
_BATCH = 100
# One key in a hundred changes.
_CHANGED = 100


def write(pair: Pair, console: Console) -> None:
    """All rows, with all columns, as a new table."""
    places = pair.home / "written.lance", pair.home / "written.parquet"
    lines = [
        Measured("making the rows alone", None, None, best(lambda: _nowhere(pair.made()), 2)),
        Measured(
            "write",
            best(lambda: pair.write_lance(places[0]), 2),
            None,
            best(lambda: pair.write_parquet(places[1]), 2),
            aim=_FASTER if pair.wide else None,
        ),
    ]
    show(console, f"Writing {pair.title}", lines)
    lance.dataset(str(places[0])).cleanup_old_versions(timedelta(0))  # each time was a version
    sizes = [sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 2**20 for place in places]
    console.print(f"Written: {sizes[0]:,.0f} MiB as Lance, {sizes[1]:,.0f} MiB as Parquet.")
    _remove(*places)


def _nowhere(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def append(pair: Pair, console: Console, count: int) -> None:
    """Small batches, each a write of its own; the first and the last tenth tell whether it slows down."""
    places = pair.home / "appended.lance", pair.home / "appended.parquet"
    _remove(*places)

    def lance_batch(number: int) -> None:
        pair.write_lance(places[0], _batch(pair, number), "append" if number else "overwrite")

    def parquet_batch(number: int) -> None:
        pair.write_parquet(places[1], _batch(pair, number), "append")

    ours, theirs = _repeated(lance_batch, count), _repeated(parquet_batch, count)
    tenth = max(1, count // 10)
    lines = [
        Measured(f"all {count:,}", sum(ours), None, sum(theirs)),
        Measured(f"the first {tenth:,}", sum(ours[:tenth]), None, sum(theirs[:tenth])),
        Measured(f"the last {tenth:,}", sum(ours[-tenth:]), None, sum(theirs[-tenth:])),
        Measured(
            "count all rows then",
            best(lambda: pair.spark.read.format("lance").load(str(places[0])).count()),
            None,
            best(lambda: pair.spark.read.parquet(str(places[1])).count()),
        ),
    ]
    show(console, f"Appending {count:,} batches of {_BATCH} rows", lines)
    _remove(*places)


def _batch(pair: Pair, number: int) -> DataFrame:
    return pair.made(number * _BATCH, (number + 1) * _BATCH).coalesce(1)


def _repeated(work: Callable[[int], None], count: int) -> list[float]:
    return [took(lambda number=number: work(number)) for number in range(count)]


def merge(pair: Pair, console: Console) -> None:
    """One key in a hundred changed. Parquet cannot change rows: it is joined and written anew as a whole."""
    from pyspark.sql import functions

    spark = pair.spark
    version = lance.dataset(str(pair.lance)).version
    place, changed = pair.home / "merged.parquet", pair.home / "changed.parquet"
    # Kept in a file: MERGE INTO refuses rows that are made by chance.
    pair.write_parquet(changed, pair.made().where(f"id % {_CHANGED} = 7").withColumn("x", functions.lit(0.0)))
    changes = spark.read.parquet(str(changed))

    def of_python() -> None:
        lanceway.spark.merge(spark, changes, pair.lance, on="id", when_matched_update=True)

    def of_sql() -> None:
        changes.createOrReplaceTempView("changes")
        spark.sql(
            f"MERGE INTO {CATALOG}.{pair.name} AS t USING changes AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
        )

    def rewritten() -> None:
        rows = spark.read.parquet(str(pair.parquet))
        kept = rows.join(changes.select("id"), "id", "left_anti").select(*rows.columns)
        pair.write_parquet(place, kept.unionByName(changes))

    line = Measured("merge", took(of_python), None, took(rewritten))
    sql = took(of_sql)
    show(console, f"Merging 1 % changed keys into {pair.title}", [line, Measured("MERGE INTO", None, sql, None)])
    lance.dataset(str(pair.lance), version=version).restore()
    _remove(place, changed)


def stream(pair: Pair, console: Console) -> None:
    """Everything that is there, through a stream, into a table of its own."""
    rates = {}
    for form, source in (("lance", pair.lance), ("parquet", pair.parquet)):
        sink, checkpoint = pair.home / f"streamed.{form}", pair.home / "checkpoint"
        _remove(sink, checkpoint)
        reader = pair.spark.readStream.format(form)
        rows = (reader if form == "lance" else reader.schema(pair.spark.read.parquet(str(source)).schema)).load(
            str(source)
        )
        began = time.perf_counter()
        query = rows.writeStream.format(form).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query.start(str(sink)).awaitTermination()
        seconds = time.perf_counter() - began
        rates[form] = seconds
        _remove(sink, checkpoint)
    show(console, f"Streaming {pair.title}", [Measured("stream", rates["lance"], None, rates["parquet"])])
    show_parts(console, "", {form: f"{pair.rows / seconds:,.0f} rows/s" for form, seconds in rates.items()})


def _remove(*places: Path) -> None:
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
