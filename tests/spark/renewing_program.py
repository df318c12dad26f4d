"""A job on a cluster whose tasks read one table again and again, for longer than a credential lives.

It writes how often the server was asked to describe the table, how many rows each task read and for how long.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

import lanceway.spark
from lanceway.writes.table_ref import TableRef
from tests.spark.cluster_program import CONF

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

DATASETS = 8  # that a task has open at once, as one does that joins a table with itself


def described(address: str) -> int:
    """How many descriptions the server has given."""
    lines = httpx.get(f"{address}/metrics", timeout=60, trust_env=False).text.splitlines()
    counted = [line for line in lines if line.startswith('lanceway_requests_total{operation="describe_table"')]
    return sum(int(float(line.rpartition(" ")[2])) for line in counted)


def read(spark: SparkSession, address: str, token: str, catalog: str, tasks: int, seconds: float) -> dict[str, Any]:
    """Let every task read for some seconds, as the tasks of a job do: through the catalog of its process."""
    ref = TableRef("rest", {"uri": f"{address}/lance", "token": token}, (catalog, "t"))

    def reading(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            pass
        began, lasted = time.monotonic(), 0.0
        opened = [ref.open() for _ in range(DATASETS)]
        while True:
            rows = sum(dataset.to_table().num_rows for dataset in opened)
            lasted = time.monotonic() - began
            if lasted >= seconds:
                break
            time.sleep(0.2)
        yield pa.record_batch({"process": [os.getpid()], "rows": [rows], "seconds": [lasted]})

    reading.__annotations__.clear()  # Spark would read them as a kind of function that it has not
    before = described(address)
    schema = "process bigint, rows bigint, seconds double"
    found = spark.range(0, tasks, numPartitions=tasks).mapInArrow(reading, schema).collect()
    return {
        "described": described(address) - before,
        "processes": len({row.process for row in found}),
        "rows": [row.rows for row in found],
        "seconds": [row.seconds for row in found],
    }


def main(master: str, address: str, token: str, tasks: str, seconds: str, result: str) -> None:
    """Read the catalog `steady` once, and `brief` for longer than its credentials live."""
    spark = lanceway.spark.session(master, conf=CONF)
    steady = read(spark, address, token, "steady", int(tasks), 0)
    brief = read(spark, address, token, "brief", int(tasks), float(seconds))
    Path(result).write_text(json.dumps({"steady": steady, "brief": brief}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
