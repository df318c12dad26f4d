"""Spark SQL over a Hive Metastore, which Spark reaches through Lanceway like any other catalog."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.spark.catalog import driver
from tests.catalogs.hive.hive_helpers import seen_by_hive
from tests.servers.hive import Hive
from tests.spark.catalog.sql_helpers import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_databases_and_tables(spark: SparkSession, hive: Hive, tmp_path: Path) -> None:
    driver.register(spark, "metastore", {"type": "hive", "uri": hive.uri, "root": str(tmp_path)})
    database = f"d{uuid.uuid4().hex[:12]}"
    sql = Sql(spark, "metastore", f"hive.{database}")
    sql.run(
        "CREATE NAMESPACE {n} WITH DBPROPERTIES ('database.owner' = 'ada')",
        "CREATE TABLE {n}.t (id INT, name STRING)",
        "INSERT INTO {n}.t VALUES (1, 'a'), (2, 'b')",
    )
    assert "(database.owner,ada)" in str(sql.rows("DESCRIBE NAMESPACE EXTENDED {n}"))
    assert seen_by_hive(hive, ["hive", database, "t"]).parameters["table_type"] == "lance"
    assert sql.rows("SELECT name FROM {n}.t WHERE id > 1") == [("b",)]
    assert "[SCHEMA_NOT_EMPTY]" in sql.refusal("DROP NAMESPACE {n}")
    sql.run("ALTER TABLE {n}.t RENAME TO {n}.u")
    assert [row[1] for row in sql.rows("SHOW TABLES IN {n}")] == ["u"]
    sql.run("DROP TABLE {n}.u", "DROP NAMESPACE {n}")
    assert database not in sql.column("SHOW NAMESPACES IN {c}.hive")
