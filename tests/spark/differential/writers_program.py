"""Writers of one managed table: what each does, and what is there of it when all are done.

Each adds rows under keys of its own, and changes or deletes some of them. One that is slower than another is refused,
and tries again: were anything left of the refused attempt, rows would be there twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import lanceway.spark
from lanceway.errors import ConcurrentModificationError

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace
    from pyspark.sql import SparkSession

TABLE = "shared"
ROWS = 10
SCHEMA = pa.schema({"id": pa.int64(), "n": pa.int64()})
SAID = ("CONCURRENT_MODIFICATION", "Another writer changed the table at the same time", "conflict")
_ATTEMPTS = 100


def keys(base: int, step: int) -> range:
    return range(base + step * ROWS, base + (step + 1) * ROWS)


def expected_of_spark(base: int, steps: int) -> Iterator[tuple[int, int]]:
    """Yield the rows of a job: each has been added, and those of every step but the last were counted up once."""
    for step in range(steps):
        yield from ((key, int(step < steps - 1)) for key in keys(base, step))


def expected_of_pylance(base: int, steps: int) -> Iterator[tuple[int, int]]:
    """Yield the rows of the writer without Spark, which deletes the first of each step but the last."""
    for step in range(steps):
        yield from ((key, 0) for key in keys(base, step)[int(step < steps - 1) :])


def with_functions(spark: SparkSession, target: dict[str, str], base: int, steps: int) -> None:
    """Add with data frames, and count up with `lanceway.spark.merge`."""
    count_up = {"n": "target.n + 1"}
    for step in range(steps):
        rows = spark.range(keys(base, step).start, keys(base, step).stop, 1, 2).selectExpr("id", "0L AS n")
        persist(rows.write.format("lance").mode("append").options(**target).save)
        if step:
            before = spark.range(keys(base, step - 1).start, keys(base, step - 1).stop, 1, 2)
            persist(lanceway.spark.merge, spark, before, target, on="id", when_matched_update=count_up)


def with_statements(spark: SparkSession, table: str, base: int, steps: int) -> None:
    """Add and count up with statements of SQL."""
    for step in range(steps):
        new, before = keys(base, step), keys(base, step - 1)
        persist(spark.sql, f"INSERT INTO {table} SELECT id, 0L FROM range({new.start}, {new.stop})")
        if step:
            where = f"id >= {before.start} AND id < {before.stop}"
            persist(spark.sql, f"UPDATE {table} SET n = n + 1 WHERE {where}")


def without_spark(lake: LanceNamespace, base: int, steps: int) -> None:
    """Add and delete with pylance."""
    table = {"namespace_client": lake, "table_id": [TABLE]}
    for step in range(steps):
        rows = pa.table({"id": list(keys(base, step)), "n": [0] * ROWS}, schema=SCHEMA)
        persist(lance.write_dataset, rows, mode="append", **table)
        if step:
            persist(lance.dataset(**table).delete, f"id = {keys(base, step - 1).start}")


def persist(write: Callable[..., object], *values: object, **options: object) -> None:
    """Write, and try again for as long as others are faster."""
    for _ in range(_ATTEMPTS):
        try:
            write(*values, **options)
        except ConcurrentModificationError:
            continue
        except (PySparkException, Py4JJavaError, OSError, ValueError, RuntimeError) as error:
            if not any(words in str(error) for words in SAID):
                raise
        else:
            return
    raise RuntimeError(f"others were faster {_ATTEMPTS} times")


def main(kind: str, place: str, uri: str, root: str, base: str, steps: str) -> None:
    """Say that this writer is ready, and begin when all are."""
    if kind == "pylance":
        lake = lanceway.connect("lake", uri=uri, root=root)
        begin(kind, Path(place))
        without_spark(lake, int(base), int(steps))
        return
    conf = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    catalogs = {"lake": {"type": "lake", "uri": uri, "root": root}}
    spark = lanceway.spark.session("local[1]", conf=conf, catalogs=catalogs)
    begin(kind, Path(place))
    with_statements(spark, f"lake.{TABLE}", int(base), int(steps))
    spark.stop()


def begin(kind: str, place: Path) -> None:
    (place / f"{kind} is ready").touch()
    while not (place / "all are ready").exists():
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
