"""Sessions: built, or adopted with everything set."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lanceway.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_a_running_session_is_adopted(spark: SparkSession) -> None:
    adopted = lanceway.spark.session(conf={"spark.sql.shuffle.partitions": "3"})
    try:
        assert adopted is spark or adopted.sparkContext is spark.sparkContext
        assert adopted.conf.get(PUSHDOWN) == "false"  # which is a danger to other sources in Python
        assert adopted.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert logging.getLogger("SQLQueryContextLogger").disabled


def test_the_namespaces_of_the_configuration_are_catalogs(spark: SparkSession) -> None:
    spark.sql("SHOW NAMESPACES IN warehouse").collect()  # which Spark refuses for a name that is no catalog


def test_workers_are_forked_by_a_daemon_that_has_imported_the_contract(spark: SparkSession) -> None:
    def parent(_: int) -> tuple[str, int]:
        of = Path("/proc") / str(os.getppid())
        return (of / "cmdline").read_text(), len(list((of / "task").iterdir()))

    (command, threads), *_ = spark.sparkContext.range(1).map(parent).collect()
    assert "lanceway.spark.daemon" in command
    assert threads == 1  # or a fork would not be safe


def test_importing_the_package_loads_neither_spark_nor_lance() -> None:
    heavy = "{'pyspark', 'lance', 'lance_namespace', 'pyarrow', 'pandas'}"
    code = f"import sys, lanceway.spark; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = lanceway.spark.sesion
