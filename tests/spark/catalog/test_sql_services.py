"""Spark SQL over services that keep Lance tables beside others: Spark reaches them through Lanceway alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanceway.spark.catalog import driver
from tests.servers import gravitino, polaris
from tests.servers.lanceway import Lanceway
from tests.spark.catalog.sql_helpers import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Registered = tuple[dict[str, str], str]  # the settings of a catalog, and a namespace in which there are no others
Service = Callable[[Lanceway, Path], AbstractContextManager[Registered]]


@contextmanager
def on_gravitino(server: Lanceway, folder: Path) -> Iterator[Registered]:
    with gravitino.catalog_of(server) as place:
        settings = {"endpoint": place.endpoint, "metalake": place.metalake, "root": str(folder)}
        yield {"type": "gravitino", **settings, **place.sign_in}, place.catalog


@contextmanager
def on_polaris(server: Lanceway, folder: Path) -> Iterator[Registered]:
    with polaris.serve() as fake:
        fake.signs_in = True
        credential = f"{polaris.ID}:{polaris.SECRET}"
        settings = {"endpoint": fake.endpoint, "warehouse": polaris.WAREHOUSE, "root": str(folder)}
        yield {"type": "polaris", **settings, "credential": credential}, polaris.WAREHOUSE


@pytest.mark.parametrize("service", [on_gravitino, on_polaris])
def test_namespaces_and_tables(spark: SparkSession, server: Lanceway, tmp_path: Path, service: Service) -> None:
    with service(server, tmp_path) as (settings, above):
        name = f"sql_{settings['type']}"
        driver.register(spark, name, settings)
        sql = Sql(spark, name, f"{above}.team")
        sql.run(
            "CREATE NAMESPACE {n} WITH DBPROPERTIES ('cost' = '7')",
            "CREATE TABLE {n}.t (id INT, name STRING)",
            "INSERT INTO {n}.t VALUES (1, 'a'), (2, 'b')",
        )
        assert "(cost,7)" in str(sql.rows("DESCRIBE NAMESPACE EXTENDED {n}"))
        assert sql.rows("SELECT name FROM {n}.t WHERE id > 1") == [("b",)]
        sql.run("UPDATE {n}.t SET name = 'c' WHERE id = 2", "DELETE FROM {n}.t WHERE id = 1")
        assert sql.rows("SELECT * FROM {n}.t") == [(2, "c")]
        assert "[SCHEMA_NOT_EMPTY]" in sql.refusal("DROP NAMESPACE {n}")
        sql.run("ALTER TABLE {n}.t RENAME TO {n}.u")
        assert [row[1] for row in sql.rows("SHOW TABLES IN {n}")] == ["u"]
        assert sql.column("SELECT id FROM {n}.u") == [2]
        sql.run("DROP TABLE {n}.u", "DROP NAMESPACE {n}")
        assert sql.rows(f"SHOW NAMESPACES IN {{c}}.{above}") == []
        secret = polaris.SECRET if settings["type"] == "polaris" else server.token
        assert secret not in str(spark.conf.getAll)
