"""Sessions: built, or adopted with everything set."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lanceway.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_a_running_session_is_adopted(spark: SparkSession) -> None:
    spark.conf.set(PUSHDOWN, "false")
    adopted = lanceway.spark.session(conf={"spark.sql.shuffle.partitions": "3"})
    try:
        assert adopted is spark or adopted.sparkContext is spark.sparkContext
        assert adopted.conf.get(PUSHDOWN) == "true"
        assert adopted.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert logging.getLogger("SQLQueryContextLogger").disabled


def test_the_namespaces_of_the_configuration_are_catalogs(spark: SparkSession) -> None:
    spark.sql("SHOW NAMESPACES IN warehouse").collect()  # which Spark refuses for a name that is no catalog


def test_importing_the_package_loads_neither_spark_nor_lance() -> None:
    heavy = "{'pyspark', 'lance', 'lance_namespace', 'pyarrow', 'pandas'}"
    code = f"import sys, lanceway.spark; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = lanceway.spark.sesion
