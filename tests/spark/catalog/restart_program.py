"""Stops Spark and starts it again, in one process: what tables the catalog shows each time, and what is in one."""

import sys

import lance
import pyarrow as pa

import lanceway.spark

CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}
lance.write_dataset(pa.table({"id": range(300_000)}), f"{sys.argv[1]}/t0.lance")
for number in (1, 2):
    catalogs = {"lake": {"type": "dir", "path": sys.argv[1]}}
    spark = lanceway.spark.session("local[1]", conf=CONF, catalogs=catalogs)
    spark.sql(f"CREATE TABLE lake.t{number} (id INT)")
    print(number, [row[1] for row in spark.sql("SHOW TABLES IN lake").collect()])  # noqa: T201
    print(len(set(spark.sql("SELECT id FROM lake.t0").collect())))  # noqa: T201
    spark.stop()
