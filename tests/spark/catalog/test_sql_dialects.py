"""One table through three clients: made by Gravitino REST, filled by LanceDB, read and renamed in Spark SQL."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import lancedb
import pyarrow as pa

from lanceway.spark.catalog import driver
from tests.servers.lanceway import Lanceway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]


def test_a_table_of_gravitino_and_lancedb_is_one_of_spark(spark: SparkSession, server: Lanceway) -> None:
    team = f"n{uuid.uuid4().hex[:8]}"
    schemas = "/api/metalakes/lanceway/catalogs/lake/schemas"
    tables = f"{schemas}/{team}%3Afruit/tables"
    properties = {"uri": server.uri, "header.Authorization": f"Bearer {server.token}"}
    driver.register(spark, "dialects", {"type": "rest", "uri": server.uri, "token": server.token, "at": "lake"})
    with server.client() as client:
        client.post(schemas, json={"name": f"{team}:fruit"}).raise_for_status()
        client.post(tables, json={"name": "t", "columns": COLUMNS}).raise_for_status()
        table = lancedb.connect_namespace("rest", properties).open_table("t", namespace_path=["lake", team, "fruit"])
        table.add(pa.table({"id": [1, 2], "name": ["apple", "pear"]}))
        rows = spark.sql(f"SELECT name FROM dialects.{team}.fruit.t WHERE id > 1").collect()
        assert [row["name"] for row in rows] == ["pear"]
        spark.sql(f"ALTER TABLE dialects.{team}.fruit.t RENAME TO dialects.{team}.fruit.u")
        listed = client.get(tables).raise_for_status().json()["identifiers"]
        assert [each["name"] for each in listed] == ["u"]
        renamed = {"updates": [{"@type": "rename", "newName": "v"}]}
        client.put(f"{tables}/u", json=renamed).raise_for_status()
    assert [row["tableName"] for row in spark.sql(f"SHOW TABLES IN dialects.{team}.fruit").collect()] == ["v"]
    assert spark.sql(f"SELECT count(*) FROM dialects.{team}.fruit.v").collect()[0][0] == 2
