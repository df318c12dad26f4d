"""A job on a cluster, in a process of its own: two thousand rows in eight tasks that take their time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import lanceway.spark

ROWS, TASKS = 2_000, 8


def slowly(batches: Iterator[object]) -> Iterator[object]:
    for batch in batches:
        time.sleep(1)
        yield batch


def main(master: str, table: str) -> None:
    conf = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = lanceway.spark.session(master, conf=conf)
    rows = spark.range(0, ROWS, numPartitions=TASKS).mapInArrow(slowly, "id bigint")
    rows.write.format("lance").mode("append").save(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
