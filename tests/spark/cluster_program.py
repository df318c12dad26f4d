"""A job on a cluster, in a process of its own: two thousand rows in eight tasks, one of which waits in the middle."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import cloudpickle

import lanceway.spark
from lanceway import pipelines
from tests.spark import pausing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS = 8
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.adaptive.enabled": "false",  # which would make one task of so few rows
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.files.maxPartitionBytes": "1k",
    "spark.sql.shuffle.partitions": str(TASKS),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, pausing.ROWS, numPartitions=TASKS)


def append(spark: SparkSession, folder: Path) -> None:
    rows(spark).selectExpr("pausing(id) AS id").write.format("lance").mode("append").save(str(folder / "t"))


def merge(spark: SparkSession, folder: Path) -> None:
    """Every second row is there before."""
    clause = {"id": "source.id", "n": "pausing(source.id)"}
    lanceway.spark.merge(
        spark,
        rows(spark).selectExpr("id"),
        str(folder / "t"),
        on="id",
        when_matched_update={"n": "pausing(source.id)"},
        when_not_matched_insert=clause,
    )


def pipeline(spark: SparkSession, folder: Path) -> None:
    config = folder / "lanceway.toml"
    report = pipelines.run(
        folder / "pipeline.yaml", state=f"sqlite:///{folder}/state.db", config=config, spark=spark, threads=1
    )
    assert report.ok, report


WORKS = {"append": append, "merge": merge, "pipeline": pipeline}


def main(work: str, master: str, folder: str) -> None:
    cloudpickle.register_pickle_by_value(pausing)  # executors have no checkout
    spark = lanceway.spark.session(master, conf=CONF)
    spark.udf.register("pausing", partial(pausing.wait, place=folder), "bigint")
    WORKS[work](spark, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
