"""Asks the JVM connector and Parquet the same queries, on Spark 3.5: `spark_peer.py` runs it there.

It prints the best seconds of each as JSON, on its last line.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

RUNS = 3


def main(jar: str, asked: dict[str, Any]) -> None:
    builder = SparkSession.builder.master("local[*]").config("spark.jars", jar).config("spark.driver.memory", "3g")
    # Its code lies in the jar alone, which the class path must have before the catalog is looked for.
    builder = builder.config("spark.driver.extraClassPath", jar).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.catalog.peer", "com.lancedb.lance.spark.LanceNamespaceSparkCatalog")
    builder = builder.config("spark.sql.catalog.peer.impl", "dir").config("spark.sql.catalog.peer.root", asked["root"])
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(asked["parquet"]).createOrReplaceTempView("parquet_rows")
    views = (f"peer.default.{asked['table']}", "parquet_rows")
    seconds = {what: [best(spark, query, view) for view in views] for what, query in asked["queries"].items()}
    print(json.dumps({"spark": spark.version, "seconds": seconds}))
    spark.stop()


def best(spark: SparkSession, query: str | None, view: str) -> float:
    found = []
    for _ in range(RUNS):
        began = time.perf_counter()
        if query is None:
            spark.table(view).write.format("noop").mode("overwrite").save()
        else:
            spark.sql(query.format(view)).collect()
        found.append(time.perf_counter() - began)
    return min(found)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
