"""Reading in Spark, Lance beside Parquet; and what the time of a scan is made of."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
from rich.console import Console

from lanceway.spark.read import reader
from lanceway.spark.types import arrow_schema, spark_schema, to_spark
from spark_report import Measured, best, show, show_parts
from spark_tables import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_tables import Pair

# What is asked of each, and the largest ratio that is wanted; `{}` is the table.
QUERIES = {
    "one column": ("SELECT sum(x) FROM {}", 2.0),
    "two columns, filter": ("SELECT sum(x) FROM {} WHERE word = 'word 7'", None),
    "count": ("SELECT count(*) FROM {}", 1.0),
    "group by": ("SELECT word, avg(x) FROM {} GROUP BY word", 1.5),
}
_FULL = 2.0


def scan(pair: Pair, console: Console) -> None:
    """Every query over the whole table."""
    views = pair.views()
    full = [best(lambda view=view: _drain(pair.spark.table(view))) for view in views]
    lines = [Measured("full scan", *full, aim=_FULL)]
    for what, (query, aim) in QUERIES.items():
        lines.append(Measured(what, *(_asked(pair.spark, query, view) for view in views), aim=aim))
    show(console, f"Reading {pair.title}", lines)


def lookup(pair: Pair, console: Console) -> None:
    """One row by its id, without an index and with one."""
    query = f"SELECT word FROM {{}} WHERE id = {pair.rows // 3}"
    dataset = lance.dataset(str(pair.lance))
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)
    views = pair.views()
    lines = [Measured("without an index", *(_asked(pair.spark, query, view) for view in views))]
    dataset.create_scalar_index("id", "BTREE")
    views = pair.views()
    lines.append(Measured("with an index", *(_asked(pair.spark, query, view) for view in views), aim=1.0))
    show(console, f"One row of {pair.title}", lines)


def _asked(spark: SparkSession, query: str, view: str) -> float:
    return best(lambda: spark.sql(query.format(view)).collect())


def _drain(frame: DataFrame) -> None:
    """Every row with all its columns, as Spark's own rows, and nowhere to."""
    frame.write.format("noop").mode("overwrite").save()


# -- what it is made of ----------------------------------------------------------------------------


def gaps(pair: Pair, console: Console) -> None:
    """The steps of a scan one by one, outside of Spark, with as many threads as Spark has tasks; then with it."""
    spark, tasks = pair.spark, pair.spark.sparkContext.defaultParallelism
    lance.write_dataset(pa.table({"x": [1.0]}), str(pair.lance.with_name("one.lance")), mode="overwrite")
    smallest = best(lambda: _drain(spark.table(f"{CATALOG}.one")), 5)
    _, catalog, parquet = pair.views()
    for what, columns in (("full scan", None), ("one column", ["x"])):
        decoded = best(lambda columns=columns: _each(pair, columns, tasks, lambda batches: sum(1 for _ in batches)))
        copied = best(lambda columns=columns: _each(pair, columns, tasks, _sent))
        frame = spark.table(catalog) if columns is None else spark.table(catalog).select(*columns)
        whole = best(lambda frame=frame: _drain(frame))
        other = spark.table(parquet) if columns is None else spark.table(parquet).select(*columns)
        parts = {
            "Lance decodes": decoded,
            "brought to Spark's types and written as Arrow IPC": max(0.0, copied - decoded),
            "the smallest query (planning, Python workers, one task)": smallest,
            "the rest: through a socket into the JVM, and there made rows": max(0.0, whole - copied - smallest),
            "in all": whole,
            "Parquet": best(lambda other=other: _drain(other)),
        }
        show_parts(console, f"{what}: {pair.title}", dict(parts))


def _each(
    pair: Pair, columns: list[str] | None, tasks: int, work: Callable[[Iterator[pa.RecordBatch]], object]
) -> None:
    """Do something with the batches of each task's share, all shares at once."""
    dataset = lance.dataset(str(pair.lance))

    def share(ids: tuple[int, ...]) -> None:
        fragments = [dataset.get_fragment(id_) for id_ in ids]
        work(dataset.scanner(columns=columns, fragments=fragments).to_batches())

    with ThreadPoolExecutor(tasks) as pool:
        list(pool.map(share, reader.shares(dataset, None)))


def _sent(batches: Iterator[pa.RecordBatch]) -> None:
    first = next(batches, None)
    if first is None:
        return
    wanted = arrow_schema(spark_schema(first.schema))
    with pa.ipc.new_stream(_Nowhere(), wanted) as sink:
        sink.write_batch(to_spark(first, wanted))
        for batch in batches:
            sink.write_batch(to_spark(batch, wanted))


class _Nowhere(io.RawIOBase):
    """Takes everything, copies it once as a socket would, and keeps nothing."""

    def __init__(self) -> None:
        self._place = bytearray(2**20)

    def writable(self) -> bool:
        return True

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        size = min(len(data), len(self._place))
        self._place[:size] = data[:size]
        return size
