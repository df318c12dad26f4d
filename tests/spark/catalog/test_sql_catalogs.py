"""Statements of Spark SQL that mean the same over every catalog: a folder, a lake, and a server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lanceway.catalogs.connect import connect
from lanceway.spark.catalog import driver
from lanceway.tables.read import ipc
from tests.spark.catalog.sql_helpers import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()
_SETTINGS: dict[str, Mapping[str, str]] = {}
_COLUMNS = "id BIGINT NOT NULL COMMENT 'a number', name STRING, v ARRAY<FLOAT>"
_THREE = "(1, 'a', array(1, 2)), (2, 'b', array(3, 4)), (3, NULL, NULL)"


@pytest.fixture(scope="module", params=["dir", "lake", "rest"])
def registered(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = f"sql_{request.param}"
    folder = tmp_path_factory.mktemp(name)
    settings: Mapping[str, str]
    if request.param == "rest":
        server = request.getfixturevalue("server")
        settings = {"type": "rest", "uri": server.uri, "token": server.token, "at": "lake"}
    elif request.param == "lake":
        settings = {"type": "lake", "uri": f"sqlite:///{folder}/lake.db", "root": f"{folder}/warehouse"}
    else:
        settings = {"type": "dir", "path": str(folder), "layout": "manifest"}
    driver.register(spark, name, settings)
    _SETTINGS[name] = settings
    return name


@pytest.fixture
def sql(spark: SparkSession, registered: str) -> Iterator[Sql]:
    made = Sql(spark, registered, f"space{next(_NUMBERS)}")
    made.run("CREATE NAMESPACE {n}")
    yield made
    made.run("DROP NAMESPACE IF EXISTS {n} CASCADE")


def test_namespaces(sql: Sql) -> None:
    sql.run(
        "CREATE NAMESPACE {n}.sales WITH DBPROPERTIES ('team' = 'blue')",
        "CREATE NAMESPACE IF NOT EXISTS {n}.sales",
        "CREATE NAMESPACE {n}.sales.emea",
    )
    assert sql.rows("SHOW NAMESPACES IN {n}") == [(f"{sql.namespace}.sales",)]
    assert sql.rows("SHOW NAMESPACES IN {n}.sales") == [(f"{sql.namespace}.sales.emea",)]
    assert (sql.namespace,) in sql.rows("SHOW NAMESPACES IN {c}")
    assert "(team,blue)" in str(sql.rows("DESCRIBE NAMESPACE EXTENDED {n}.sales"))
    assert "[SCHEMA_ALREADY_EXISTS]" in sql.refusal("CREATE NAMESPACE {n}.sales")
    assert "[SCHEMA_NOT_EMPTY]" in sql.refusal("DROP NAMESPACE {n}.sales")
    assert "[SCHEMA_NOT_FOUND]" in sql.refusal("DESCRIBE NAMESPACE {n}.nowhere")
    sql.run("DROP NAMESPACE {n}.sales CASCADE")
    assert sql.rows("SHOW NAMESPACES IN {n}") == []
    assert "[SCHEMA_NOT_FOUND]" in sql.refusal("DROP NAMESPACE {n}.sales")


def test_tables(sql: Sql) -> None:
    sql.run(
        f"CREATE TABLE {{n}}.t ({_COLUMNS}) TBLPROPERTIES ('lance.vector.v' = '2', 'team' = 'blue')",
        "CREATE TABLE IF NOT EXISTS {n}.t (other INT)",
    )
    described = sql.rows("DESCRIBE TABLE EXTENDED {n}.t")
    assert described[:3] == [("id", "bigint", "a number"), ("name", "string", None), ("v", "array<float>", None)]
    assert "team=blue" in str(described)
    assert sql.rows("SHOW TABLES IN {n}") == [(sql.namespace, "t", False)]
    assert "[TABLE_OR_VIEW_ALREADY_EXISTS]" in sql.refusal("CREATE TABLE {n}.t (id INT)")
    assert "[SCHEMA_NOT_FOUND]" in sql.refusal("CREATE TABLE {n}.nowhere.t (id INT)")
    sql.run("ALTER TABLE {n}.t RENAME TO {n}.u")
    assert sql.rows("SHOW TABLES IN {n}") == [(sql.namespace, "u", False)]
    sql.run("DROP TABLE {n}.u", "DROP TABLE IF EXISTS {n}.u")
    for gone in ("DROP TABLE {n}.u", "SELECT * FROM {n}.u", "INSERT INTO {n}.u VALUES (1)"):
        assert "[TABLE_OR_VIEW_NOT_FOUND]" in sql.refusal(gone)


def test_rows(sql: Sql) -> None:
    sql.run(
        f"CREATE TABLE {{n}}.t ({_COLUMNS}) TBLPROPERTIES ('lance.vector.v' = '2')",
        f"INSERT INTO {{n}}.t VALUES {_THREE}",
    )
    assert sorted(sql.rows("SELECT * FROM {n}.t")) == [(1, "a", [1.0, 2.0]), (2, "b", [3.0, 4.0]), (3, None, None)]
    assert sql.rows("SELECT count(*) FROM {n}.t") == [(3,)]
    assert sql.rows("SELECT name FROM {n}.t WHERE id > 1 AND name IS NOT NULL") == [("b",)]
    sql.run("DELETE FROM {n}.t WHERE name = 'b' OR id > 10")
    assert sql.column("SELECT id FROM {n}.t") == [1, 3]
    sql.run("INSERT OVERWRITE {n}.t SELECT id + 10, name, v FROM {n}.t")
    assert sql.column("SELECT id FROM {n}.t") == [11, 13]
    assert sql.column("SELECT id FROM {n}.t VERSION AS OF 2") == [1, 2, 3]
    assert sql.column("SELECT id FROM {n}.t TIMESTAMP AS OF current_timestamp()") == [11, 13]
    sql.run("TRUNCATE TABLE {n}.t")
    assert sql.rows("SELECT count(*) FROM {n}.t") == [(0,)]


def test_a_tag_on_a_branch(sql: Sql) -> None:
    """The number of its version is one that the main branch has as well."""
    sql.run("CREATE TABLE {n}.t (id INT)", "INSERT INTO {n}.t VALUES (1)")
    type_, settings = _SETTINGS[sql.catalog]["type"], dict(_SETTINGS[sql.catalog])
    del settings["type"]
    catalog: Any = connect(type_, settings=settings)
    table = {"id": [sql.namespace, "t"]}
    version = catalog.describe_table({**table, "load_detailed_metadata": True}).version
    catalog.create_table_branch({**table, "name": "side"})
    rows = pa.table({"id": pa.array([7], pa.int32())})
    body = b"".join(ipc.stream_chunks(rows.to_reader(), file_format=False))
    catalog.insert_into_table({**table, "branch": "side"}, body)
    sql.run("INSERT INTO {n}.t VALUES (2)")
    for name, branch in (("on_side", "side"), ("on_main", None)):
        catalog.create_table_tag({**table, "tag": name, "version": version + 1, "branch": branch})
    assert sql.column("SELECT id FROM {n}.t VERSION AS OF 'on_side'") == [1, 7]
    assert sql.column("SELECT id FROM {n}.t VERSION AS OF 'on_main'") == [1, 2]
    assert sql.rows("SELECT count(*) FROM {n}.t VERSION AS OF 'on_side' WHERE id = 7") == [(1,)]


def test_tables_made_from_queries(sql: Sql) -> None:
    sql.run("CREATE TABLE {n}.t TBLPROPERTIES ('lance.vector.v' = '2') AS SELECT 1 AS id, array(1.0f, 2.0f) AS v")
    assert sql.rows("SELECT * FROM {n}.t") == [(1, [1.0, 2.0])]
    failing = "AS SELECT raise_error('boom') AS id FROM range(2)"
    for statement in (f"CREATE TABLE {{n}}.u {failing}", f"CREATE OR REPLACE TABLE {{n}}.t {failing}"):
        with pytest.raises(Exception, match="boom"):
            sql.run(statement)
    assert sql.rows("SHOW TABLES IN {n}") == [(sql.namespace, "t", False)]
    assert sql.rows("SELECT * FROM {n}.t") == [(1, [1.0, 2.0])]
    sql.run("CREATE OR REPLACE TABLE {n}.t TBLPROPERTIES ('team' = 'blue') AS SELECT 'x' AS word")
    assert sql.rows("SELECT * FROM {n}.t") == [("x",)]
    assert ("team", "blue") in sql.rows("SHOW TBLPROPERTIES {n}.t")
    assert sql.rows("SELECT id FROM {n}.t VERSION AS OF 2") == [(1,)]


def test_columns_and_properties(sql: Sql) -> None:
    sql.run(
        "CREATE TABLE {n}.t (id INT, name STRING) TBLPROPERTIES ('team' = 'blue')",
        "INSERT INTO {n}.t VALUES (1, 'a')",
        "ALTER TABLE {n}.t SET TBLPROPERTIES ('lance.vector.v' = '2', 'mood' = 'good')",
        "ALTER TABLE {n}.t UNSET TBLPROPERTIES ('team')",
        "ALTER TABLE {n}.t ADD COLUMNS (v ARRAY<FLOAT>, s STRUCT<a: INT>, note STRING COMMENT 'said')",
        "ALTER TABLE {n}.t RENAME COLUMN name TO title",
        "ALTER TABLE {n}.t DROP COLUMN s",
        "ALTER TABLE {n}.t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE {n}.t ALTER COLUMN title COMMENT 'called'",
    )
    assert sql.rows("DESCRIBE {n}.t") == [
        ("id", "bigint", None),
        ("title", "string", "called"),
        ("v", "array<float>", None),
        ("note", "string", "said"),
    ]
    properties = dict(sql.rows("SHOW TBLPROPERTIES {n}.t"))  # type: ignore[arg-type]
    assert properties["mood"] == "good"
    assert "team" not in properties
    sql.run("INSERT INTO {n}.t VALUES (2, 'b', array(1, 2), 'new')")
    assert sorted(sql.rows("SELECT * FROM {n}.t")) == [(1, "a", None, None), (2, "b", [1.0, 2.0], "new")]
