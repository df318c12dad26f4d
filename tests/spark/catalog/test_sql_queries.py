"""Queries of Spark SQL: what Lance carries out of them itself, searches, versions, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pytest

from lanceway.spark.catalog import driver
from lanceway.spark.read import scan
from tests.spark.catalog.sql_helpers import Sql
from tests.spark_fixtures import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECRET = "hush-in-sql"


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Sql:
    """A hundred rows in the catalog that the session found in `lanceway.toml`."""
    made = Sql(spark, "warehouse", "queries")
    made.run(
        "CREATE NAMESPACE {n}",
        "CREATE TABLE {n}.t (id BIGINT, word STRING, s STRUCT<a: INT, b: STRING>, v ARRAY<FLOAT>)"
        " TBLPROPERTIES ('lance.vector.v' = '2')",
        "INSERT INTO {n}.t SELECT id, concat('word ', id % 10), named_struct('a', int(id), 'b', string(id)),"
        " array(float(id), 0f) FROM range(0, 100, 1, 2)",
    )
    return made


def test_only_the_columns_of_a_query_are_read(sql: Sql) -> None:
    assert "ReadSchema: struct<id:bigint>" in sql.plan("SELECT id FROM {n}.t")
    assert "ReadSchema: struct<s:struct<a:int>>" in sql.plan("SELECT s.a FROM {n}.t")
    assert sql.rows("SELECT s.a FROM {n}.t WHERE s.b = '7'") == [(7,)]


def test_lance_evaluates_the_filters(sql: Sql) -> None:
    query = "SELECT id FROM {n}.t WHERE (word = 'word 3' OR s.a IN (1, 2)) AND id < 20 AND NOT word LIKE '%1'"
    plan = sql.plan(query)
    assert "Or(EqualTo(word,word 3),In(s.a, [1,2])), LessThan(id,20), Not(StringEndsWith(word,1))]" in plan
    assert "Filter (" not in plan
    assert "ReadSchema: struct<id:bigint>" in plan
    assert sql.column(query) == [2, 3, 13]


def test_a_query_opens_its_table_once_in_the_driver(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading, looking rows up by an index and planning the scan are calls of their own, on one snapshot."""
    sql.run("CREATE TABLE {n}.opened AS SELECT * FROM {n}.t")
    (location,) = (row[1] for row in sql.rows("DESCRIBE EXTENDED {n}.opened") if row[0] == "Location")
    lance.dataset(location).create_scalar_index("id", "BTREE")
    versions: list[int] = []
    open_dataset = lance.dataset

    def counting(*args: Any, **kwargs: Any) -> lance.LanceDataset:
        dataset = open_dataset(*args, **kwargs)
        versions.append(dataset.version)
        return dataset

    monkeypatch.setattr(lance, "dataset", counting)  # in this process, which is the driver; tasks run in others
    monkeypatch.setattr(scan, "_SNAPSHOT_SECONDS", 600.0)
    for query, rows in (("id = 17", 1), ("id = 17 OR word = 'word 3'", 11), ("id >= 0", 100)):
        versions.clear()
        assert len(sql.rows(f"SELECT word FROM {{n}}.opened WHERE {query}")) == rows
        assert len(versions) == 1, query
    versions.clear()
    sql.run("UPDATE {n}.opened SET word = 'other' WHERE id = 17")
    before = versions[0]
    assert versions.count(before) == 1
    # What was kept is one version, and never shown for a later one.
    assert sql.rows("SELECT word FROM {n}.opened WHERE id = 17") == [("other",)]
    monkeypatch.undo()
    sql.run("DROP TABLE {n}.opened")


def test_values_of_every_type_are_pushed_down(sql: Sql) -> None:
    values = {
        "b": "true",
        "i": "1Y",
        "f": "1.5f",
        "d": "2.5d",
        "price": "3.25BD",
        "word": "'it''s'",
        "raw": "X'00FF'",
        "day": "DATE'2024-02-29'",
        "at": "TIMESTAMP'2024-02-29 12:34:56.789'",
        "local": "TIMESTAMP_NTZ'2024-02-29 12:34:56.789'",
    }
    row = ", ".join(f"{value} AS {name}" for name, value in values.items())
    nothing = ", ".join("NULL" for _ in values)
    sql.run(f"CREATE TABLE {{n}}.kinds AS SELECT {row} UNION ALL SELECT {nothing}")
    conditions = [f"{name} = {value}" for name, value in values.items()]
    conditions += ["i <=> 1Y", "i IN (1, 2)", "i != 2", "d > 2", "d <= 3", "word LIKE 'it%'", "day >= DATE'2024-02-29'"]
    query = f"SELECT i FROM {{n}}.kinds WHERE {' AND '.join(conditions)}"
    assert "Filter (" not in sql.plan(query)
    assert sql.rows(query) == [(1,)]
    sql.run("DROP TABLE {n}.kinds")


def test_what_lance_cannot_evaluate_is_left_to_spark(sql: Sql) -> None:
    query = "SELECT id FROM {n}.t WHERE id % 50 = 7 AND id > 10"
    assert "PushedFilters: [IsNotNull(id), GreaterThan(id,10)]" in sql.plan(query)
    assert "Filter (" in sql.plan(query)
    assert sql.rows(query) == [(57,)]


def test_a_time_that_python_does_not_have_is_left_to_spark(sql: Sql) -> None:
    """Spark has years before 1 and after 9999, and Python does not."""
    sql.run(
        "CREATE TABLE {n}.days AS SELECT id, date_add(DATE'2024-01-01', int(id)) AS d,"
        " TIMESTAMP_NTZ'2024-01-01 00:00:00' AS local, TIMESTAMP'2024-01-01 00:00:00' AS t FROM range(3)"
    )
    query = "SELECT id FROM {n}.days WHERE id > 0 AND"
    assert "PushedFilters: [IsNotNull(id), IsNotNull(d), GreaterThan(id,0)]" in sql.plan(
        f"{query} d < DATE'+10000-01-01'"
    )
    assert sql.column(f"{query} d < DATE'+10000-01-01'") == [1, 2]
    assert sql.column(f"{query} local NOT IN (TIMESTAMP_NTZ'0000-01-01 00:00:00', NULL)") == []
    assert sql.column(f"{query} (t > TIMESTAMP'-0044-03-15 12:00:00' OR id = 7)") == [1, 2]
    sql.run(
        "DELETE FROM {n}.days WHERE d < DATE'-0044-03-15' OR id = 1 OR local > TIMESTAMP_NTZ'+12345-01-01 00:00:00'"
    )
    assert sql.column("SELECT id FROM {n}.days TIMESTAMP AS OF '+10000-01-01'") == [0, 2]
    sql.run("DROP TABLE {n}.days")


@pytest.mark.parametrize("condition", ["s = CAST(X'61ff' AS STRING)", "startswith(s, CAST(X'61ff' AS STRING))"])
def test_bytes_that_are_no_text_are_compared_by_spark(sql: Sql, condition: str) -> None:
    """On their way to Lance they become the character U+FFFD, which is another text."""
    sql.run("CREATE OR REPLACE TABLE {n}.texts AS SELECT concat('a', decode(X'efbfbd', 'UTF-8')) AS s")
    assert sql.rows("SELECT hex(s) FROM {n}.texts") == [("61EFBFBD",)]
    assert sql.rows(f"SELECT s FROM {{n}}.texts WHERE {condition}") == []
    sql.run("DROP TABLE {n}.texts")


def test_counting_all_rows_reads_none(sql: Sql) -> None:
    assert "BatchScan" not in sql.plan("SELECT count(*), count(*) + 1 FROM {n}.t")
    assert sql.rows("SELECT count(*), count(*) + 1 FROM {n}.t") == [(100, 101)]
    assert sql.rows("SELECT count(*) FROM {n}.t WHERE id >= 90") == [(10,)]
    assert sql.rows("SELECT count(*) FROM {n}.t WITH (filter = 'id < 5')") == [(5,)]
    assert sql.rows("SELECT count(*) FROM {n}.t VERSION AS OF 1") == [(0,)]


_AGGREGATES = (
    "sum(id), avg(id), count(*)",
    "count(s), min(id), max(id), count(*)",
    "word, sum(id), avg(id), min(id) GROUP BY word",
    "word, count(*) WHERE id < 30 GROUP BY word HAVING count(*) > 2",
    "id, word, max(id) GROUP BY id, word",
    "word, sum(id + 1) GROUP BY word",
    "sum(s.a), count(DISTINCT word)",
    "word, first(word), sum(id) WHERE s.a > 10 GROUP BY word",
)


@pytest.mark.parametrize("query", _AGGREGATES)
def test_aggregates_are_what_spark_finds_in_the_same_rows(sql: Sql, query: str) -> None:
    columns, *rest = query.replace(" GROUP BY", "#GROUP BY").replace(" WHERE", "#WHERE").split("#", 1)
    asked = [f"SELECT {columns} FROM {table} {' '.join(rest).replace('#', ' ')}" for table in ("{n}.t", "copied")]
    sql.spark.table(f"{sql.names['n']}.t").cache().createOrReplaceTempView("copied")
    sql.spark.sql("SELECT count(word) FROM copied").collect()
    with_cache = sorted(sql.rows(asked[1]))
    sql.spark.table("copied").unpersist()
    assert sorted(sql.rows(asked[0])) == with_cache


def test_tasks_compute_aggregates(sql: Sql) -> None:
    assert "PushedAggregates" in sql.plan("SELECT word, sum(id), count(word) FROM {n}.t WHERE id > 3 GROUP BY word")
    for spark_alone in ("sum(id + 1)", "count(DISTINCT id)", "max(word)", "first(id)", "avg(id)"):
        assert "PushedAggregates" not in sql.plan(f"SELECT {spark_alone} FROM {{n}}.t")


def test_a_sum_that_does_not_fit_is_refused_as_spark_does(sql: Sql) -> None:
    from pyspark.errors import ArithmeticException

    sql.run("CREATE TABLE {n}.large AS SELECT 9223372036854775807 AS id FROM range(3)")
    with pytest.raises(ArithmeticException, match="overflow"):
        sql.rows("SELECT sum(id) FROM {n}.large")
    assert sql.rows("SELECT sum(id), count(id) FROM {n}.large WHERE id < 0") == [(None, 0)]
    sql.run("DROP TABLE {n}.large")


def test_rows_that_an_index_finds_need_no_task(sql: Sql) -> None:
    sql.run("CREATE TABLE {n}.indexed AS SELECT * FROM {n}.t")
    (location,) = (row[1] for row in sql.rows("DESCRIBE EXTENDED {n}.indexed") if row[0] == "Location")
    lance.dataset(location).create_scalar_index("id", "BTREE")
    query = "SELECT v, s, word FROM {n}.indexed WHERE id = 17"
    assert "LocalTableScan" in sql.plan(query)
    assert sql.rows(query) == [([17.0, 0.0], (17, "17"), "word 7")]
    assert sql.rows("SELECT word FROM {n}.indexed WHERE id = 170") == []
    assert "LocalTableScan" not in sql.plan("SELECT word FROM {n}.indexed WHERE word = 'word 7'")
    sql.run("DROP TABLE {n}.indexed")


def test_a_limit_is_pushed_down(sql: Sql) -> None:
    assert "PushedLimit: 3" in sql.plan("SELECT id FROM {n}.t WHERE id > 5 LIMIT 3")
    assert len(sql.rows("SELECT id FROM {n}.t WHERE id > 5 LIMIT 3")) == 3


def test_a_small_table_is_broadcast(sql: Sql) -> None:
    query = "SELECT count(*) FROM {n}.t a JOIN {n}.t b ON a.id = b.id"
    assert "BroadcastHashJoin" in sql.plan(query)
    assert sql.rows(query) == [(100,)]


def test_columns_that_are_shown_when_they_are_named(sql: Sql) -> None:
    assert "_rowid" not in sql.spark.table(sql.told("{n}.t")).columns
    found = sql.rows("SELECT id, _rowid, _rowaddr FROM {n}.t WHERE id < 3")
    assert len({row[1] for row in found}) == len({row[2] for row in found}) == 3


def test_a_vector_search(sql: Sql) -> None:
    nearest = """WITH (nearest = '{"column": "v", "vector": [3, 0], "k": 3}')"""
    assert sorted(sql.rows(f"SELECT id, _distance FROM {{n}}.t {nearest}")) == [(2, 1.0), (3, 0.0), (4, 1.0)]
    # The condition is on what was found: three rows were, whatever it says.
    assert sql.rows(f"SELECT id FROM {{n}}.t {nearest} WHERE id > 3") == [(4,)]
    assert sql.rows(f"SELECT count(*) FROM {{n}}.t {nearest}") == [(3,)]
    filtered = nearest.replace(")", ", filter = 'id > 3')")
    assert sql.column(f"SELECT id FROM {{n}}.t {filtered}") == [4, 5, 6]


def test_a_text_search(sql: Sql) -> None:
    sql.run("CREATE TABLE {n}.said AS SELECT id, if(id = 7, 'lucky seven', 'plain') AS body FROM range(20)")
    described = {row[0]: row[1] for row in sql.rows("DESCRIBE TABLE EXTENDED {n}.said")}
    lance.dataset(described["Location"]).create_scalar_index("body", "INVERTED")
    assert sql.rows("SELECT id FROM {n}.said WITH (full_text = 'seven')") == [(7,)]
    assert sql.rows("SELECT id FROM {n}.said WITH (full_text = 'seven') WHERE _score > 0") == [(7,)]
    sql.run("DROP TABLE {n}.said")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM {n}.t VERSION AS OF 99", "[LANCEWAY_TABLE_VERSION_NOT_FOUND] queries.t has no version 99"),
        ("SELECT * FROM {n}.t VERSION AS OF 'gold'", "has no tag 'gold'"),
        ("SELECT * FROM {n}.t TIMESTAMP AS OF '2001-01-01'", "had no version at 2000-12-31T18:30"),
        ("SELECT * FROM {n}.t TIMESTAMP AS OF '-0044-03-15'", "had no version at 0001-01-01T00:00"),
        ("SELECT _distance FROM {n}.t", "has no column '_distance'"),
        ("SELECT id FROM {n}.t WITH (nearst = '1')", "has no setting 'nearst'"),
        ("SELECT id FROM {n}.t WITH (Version = '1')", "Write VERSION AS OF"),
        ("CREATE TABLE {n}.u (id INT) PARTITIONED BY (id)", "Lance tables have no partitions"),
        ("CREATE TABLE {n}.u (id INT) USING parquet", "leave USING parquet out"),
        ("CREATE TABLE {n}.u (id INT) LOCATION '/tmp/u'", "leave LOCATION out"),
        ("CREATE TABLE {n}.u (id INT) TBLPROPERTIES ('lance.vector.id' = '2')", "cannot be a vector"),
        ("CREATE TABLE {n}.u (v ARRAY<INT>) TBLPROPERTIES ('lance.vector.v' = 'x')", "must be the length"),
        ("ALTER TABLE {n}.t ADD COLUMN x INT FIRST", "A new column comes last"),
        ("ALTER TABLE {n}.t ADD COLUMN s.x INT", "is inside another column"),
        ("ALTER TABLE {n}.t ADD COLUMN x INT NOT NULL", "Leave NOT NULL out"),
        ("ALTER NAMESPACE {n} SET PROPERTIES ('a' = 'b')", "no operation that changes them"),
        ("INSERT INTO {n}.t VALUES (1, 'a', NULL)", "INSERT_COLUMN_ARITY_MISMATCH"),
        ("INSERT INTO {n}.t VALUES ('many', 'a', NULL, NULL)", "CANNOT_SAFELY_CAST"),
    ],
)
def test_what_is_refused_changes_nothing(sql: Sql, statement: str, said: str) -> None:
    before = dict(sql.rows("SHOW TBLPROPERTIES {n}.t"))  # type: ignore[arg-type]
    assert said in sql.refusal(statement)
    assert dict(sql.rows("SHOW TBLPROPERTIES {n}.t")) == before  # type: ignore[arg-type]
    assert sql.rows("SHOW TABLES IN {n}") == [("queries", "t", False)]


def test_data_frames_write_to_tables(sql: Sql) -> None:
    name = sql.told("{n}.written")
    sql.spark.range(3).writeTo(name).create()
    sql.spark.range(3, 5).writeTo(name).append()
    sql.spark.range(5, 6).write.insertInto(name)
    assert sql.column("SELECT id FROM {n}.written") == [0, 1, 2, 3, 4, 5]
    sql.spark.range(9, 10).write.format("lance").mode("overwrite").saveAsTable(name)
    assert sql.rows("SELECT id FROM {n}.written") == [(9,)]
    sql.run("DROP TABLE {n}.written")


def test_streams_read_and_write_tables(sql: Sql, folder: Path) -> None:
    sql.run("CREATE TABLE {n}.copied (id BIGINT)")
    reading = sql.spark.readStream.table(sql.told("{n}.t")).select("id").where("id < 3")
    writing = reading.writeStream.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    assert writing.toTable(sql.told("{n}.copied")).awaitTermination(120)
    assert sql.column("SELECT id FROM {n}.copied") == [0, 1, 2]
    sql.run("DROP TABLE {n}.copied")


def test_secrets_of_a_catalog_are_not_shown(sql: Sql, place: Place) -> None:
    spark = sql.spark
    settings = {"type": "dir", "path": str(place.warehouse), "layout": "manifest", "storage.some_key": _SECRET}
    driver.register(spark, "quiet", settings)
    query = "SELECT id FROM quiet.queries.t WHERE id = 1"
    assert spark.sql(query).collect() == [(1,)]
    shown = [spark.sql(f"EXPLAIN {mode} {query}").collect()[0][0] for mode in ("EXTENDED", "FORMATTED")]
    shown += [str(spark.sql(statement).collect()) for statement in ("SET", "DESCRIBE EXTENDED quiet.queries.t")]
    shown += [file.read_text() for file in place.events.rglob("*") if file.is_file()]
    assert any("quiet.queries.t" in text for text in shown)
    assert not any(_SECRET in text for text in shown)
