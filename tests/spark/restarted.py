"""Stops Spark and starts it again, in one process: what tables the catalog shows each time."""

import sys

import lanceway.spark

CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}
for number in (1, 2):
    catalogs = {"lake": {"type": "dir", "path": sys.argv[1]}}
    spark = lanceway.spark.session("local[1]", conf=CONF, catalogs=catalogs)
    spark.sql(f"CREATE TABLE lake.t{number} (id INT)")
    print(number, [tuple(row)[:2] for row in spark.sql("SHOW TABLES IN lake").collect()])  # noqa: T201
    spark.stop()
