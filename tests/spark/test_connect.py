"""Spark Connect: a client without a JVM reads and writes Lance tables through a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# In a process of its own: one process cannot have a classic session and the server of another.
CLIENT = """
import sys
from pyspark.sql import SparkSession
import lanceway.spark

spark = SparkSession.builder.remote("local[2]").getOrCreate()
lanceway.spark.install(spark)
path = sys.argv[1]
spark.range(10).selectExpr("id", "CAST(id AS STRING) AS text").write.format("lance").mode("append").save(path)
found = spark.read.format("lance").load(path).where("id > 6 AND text <> '8'").orderBy("id")
print([tuple(row) for row in found.collect()])
try:
    spark.read.format("lance").load(path + "-gone").collect()
except Exception as error:
    print(str(error).splitlines()[0])
spark.stop()
"""


def test_a_connect_client_reads_and_writes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path / "t")],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows, refusal = done.stdout.splitlines()
    assert rows == "[(7, '7'), (9, '9')]"
    assert f"There is no Lance table at {tmp_path}/t-gone." in refusal
