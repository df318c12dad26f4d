"""Types of Spark's: those that a table keeps come back as they were, and every other one is refused with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest

from tests.spark.catalog.parquet_twins import twins
from tests.spark.catalog.sql_helpers import Sql
from tests.spark_fixtures import lance as read

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

# The type, a value of it, the column that is refused, and a part of the sentence.
REFUSED = {
    "collation": (
        "STRING COLLATE UTF8_LCASE",
        "'A' COLLATE UTF8_LCASE",
        "x is STRING COLLATE UTF8_LCASE",
        "COLLATE in",
    ),
    "char": ("CHAR(3)", None, "x is CHAR(3)", "make it STRING"),
    "varchar": ("VARCHAR(3)", None, "x is VARCHAR(3)", "make it STRING"),
    "months": ("INTERVAL YEAR TO MONTH", "INTERVAL '1-2' YEAR TO MONTH", "x is INTERVAL YEAR TO MONTH", "as INT"),
    "years": ("INTERVAL YEAR", "INTERVAL '1' YEAR", "x is INTERVAL YEAR", "as INT"),
    "days": ("INTERVAL DAY", "INTERVAL '1' DAY", "x is INTERVAL DAY", "INTERVAL DAY TO SECOND: make it that"),
    "variant": ("VARIANT", "parse_json('[1]')", "x is VARIANT", "to_json"),
    "geometry": ("GEOMETRY(4326)", None, "x is GEOMETRY(4326)", "ST_AsBinary"),
    "in an array": ("ARRAY<VARCHAR(3)>", None, "x.element is VARCHAR(3)", "make it STRING"),
    "in a struct": (
        "STRUCT<a: STRING COLLATE UNICODE>",
        "named_struct('a', 'A' COLLATE UNICODE)",
        "x.a is STRING COLLATE UNICODE",
        "COLLATE in",
    ),
    "in a map": ("MAP<STRING, VARIANT>", "map('a', parse_json('1'))", "x.value is VARIANT", "to_json"),
}
WITH_VALUES = {name: row for name, row in REFUSED.items() if row[1]}


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Sql:
    made = Sql(spark, "warehouse", "types")
    made.run("CREATE NAMESPACE {n}", "CREATE TABLE {n}.there (id INT, s STRING)")
    return made


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    spark.conf.set(key, value)
    yield
    spark.conf.unset(key)


def refusal(write: Callable[[], object]) -> str:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as refused:
        write()
    return str(refused.value)


@pytest.mark.parametrize("case", REFUSED)
def test_a_type_that_a_table_cannot_keep_is_refused_in_sql(case: str, sql: Sql) -> None:
    type_, _, column, advice = REFUSED[case]
    for statement in (f"CREATE TABLE {{n}}.new (id INT, x {type_})", f"ALTER TABLE {{n}}.there ADD COLUMN x {type_}"):
        sentence = sql.refusal(statement)
        assert f"[LANCEWAY_UNSUPPORTED] The column {column}, which a Lance table cannot keep." in sentence
        assert advice in sentence
    assert sql.column("SHOW TABLES IN {n}") == ["types"]
    assert sql.spark.table("warehouse.types.there").columns == ["id", "s"]


@pytest.mark.parametrize("case", WITH_VALUES)
def test_a_type_that_a_table_cannot_keep_is_refused_when_a_data_frame_is_written(
    case: str, sql: Sql, tmp_path: Path
) -> None:
    _, value, column, advice = REFUSED[case]
    frame = sql.spark.sql(f"SELECT 1 AS id, {value} AS x")
    for write in (
        lambda: frame.writeTo("warehouse.types.new").create(),
        lambda: frame.write.format("lance").saveAsTable("warehouse.types.new"),
        lambda: sql.run(f"CREATE TABLE {{n}}.new AS SELECT 1 AS id, {value} AS x"),
        lambda: frame.write.format("lance").mode("append").save(str(tmp_path / "new")),
        lambda: frame.write.format("lance").mode("overwrite").save(str(tmp_path / "new")),
    ):
        sentence = refusal(write)
        assert f"The column {column}, which a Lance table cannot keep." in sentence
        assert advice in sentence
        assert "Traceback" not in sentence
    assert sql.column("SHOW TABLES IN {n}") == ["types"]
    assert not (tmp_path / "new").exists()


def test_a_default_collation_is_refused(sql: Sql) -> None:
    for statement in (
        "CREATE TABLE {n}.new (s STRING) DEFAULT COLLATION UTF8_LCASE",
        "CREATE TABLE {n}.new (id INT) DEFAULT COLLATION UTF8_LCASE",
        "ALTER TABLE {n}.there DEFAULT COLLATION UTF8_LCASE",
    ):
        assert "the strings of a Lance table have no collation" in sql.refusal(statement)
    assert "have no collation" in sql.refusal("ALTER TABLE {n}.there ALTER COLUMN s TYPE STRING COLLATE UTF8_LCASE")
    sql.run(
        "CREATE TABLE {n}.plain (s STRING COLLATE UTF8_BINARY) DEFAULT COLLATION UTF8_BINARY", "DROP TABLE {n}.plain"
    )


def test_collations_in_queries_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    with twins(spark, "collated", "id INT, s STRING", "(1, 'a'), (2, 'A'), (3, 'b'), (4, NULL)", tmp_path) as tables:
        for condition in (
            "s COLLATE UTF8_LCASE = 'a'",
            "s = 'a' COLLATE UTF8_LCASE",
            "s IN ('a' COLLATE UTF8_LCASE, 'B')",
            "startswith(s COLLATE UTF8_LCASE, 'A')",
            "NOT s < 'B' COLLATE UTF8_LCASE",
        ):
            parquet, catalog, source = tables.answers(f"SELECT id FROM {{t}} WHERE {condition}")
            assert catalog == source == parquet, condition
        grouped = (
            "SELECT lower(min(s)), count(*), max(s COLLATE UTF8_LCASE) = 'A' FROM {t} GROUP BY s COLLATE UTF8_LCASE"
        )
        parquet, catalog, source = tables.answers(grouped)
        assert catalog == source == parquet


def test_a_precision_of_times_that_a_table_cannot_keep_is_refused(sql: Sql) -> None:
    with setting(sql.spark, "spark.sql.timeType.enabled", "true"):
        assert "The column x is TIME(3), which a Lance table" in sql.refusal("CREATE TABLE {n}.new (x TIME(3))")
        assert "make it that" in sql.refusal("ALTER TABLE {n}.there ADD COLUMN x TIME(0)")


def test_a_type_that_pyspark_does_not_know_is_refused(sql: Sql) -> None:
    with setting(sql.spark, "spark.sql.timestampNanosTypes.enabled", "true"):
        for statement in (
            "CREATE TABLE {n}.new (x TIMESTAMP_NTZ(9))",
            "ALTER TABLE {n}.there ADD COLUMN x TIMESTAMP_NTZ(9)",
        ):
            assert "timestamp_ntz(9)" in sql.refusal(statement)


def test_types_that_are_kept_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id INT, span INTERVAL DAY TO SECOND, clock TIME, ntz TIMESTAMP_NTZ, ltz TIMESTAMP, small DECIMAL(3, 1)"
    rows = (
        "(1, INTERVAL '-1 02:03:04.000005' DAY TO SECOND, TIME'12:34:56.123456', TIMESTAMP_NTZ'1900-01-01 00:00:00',"
        " TIMESTAMP'2100-01-01 00:00:00', 1.5), (2, NULL, NULL, NULL, NULL, NULL),"
        " (3, INTERVAL '0 00:00:00' DAY TO SECOND, TIME'00:00:00', TIMESTAMP_NTZ'2024-02-29 23:59:59.999999',"
        " TIMESTAMP'1970-01-01 00:00:00', -99.9)"
    )
    with setting(spark, "spark.sql.timeType.enabled", "true"), twins(spark, "kept", columns, rows, tmp_path) as tables:
        types = spark.table(tables.parquet).dtypes
        assert spark.table(tables.catalog).dtypes == spark.table(tables.source).dtypes == types
        for query in (
            "SELECT * FROM {t}",
            "SELECT id FROM {t} WHERE span < INTERVAL '0 00:00:00' DAY TO SECOND OR clock = TIME'00:00:00'",
            "SELECT min(span), max(span), sum(span), avg(span), min(clock), max(clock), count(clock) FROM {t}",
            "SELECT span, clock, count(*) FROM {t} GROUP BY span, clock",
        ):
            parquet, catalog, source = tables.answers(query)
            assert isinstance(parquet, list), query
            assert catalog == source == parquet, query


def test_a_string_that_was_varchar_elsewhere_is_a_string(sql: Sql, tmp_path: Path) -> None:
    sql.run("CREATE TABLE lengths (v VARCHAR(3), c CHAR(3)) USING parquet", "INSERT INTO lengths VALUES ('a', 'b')")
    sql.spark.table("lengths").write.format("lance").mode("append").save(str(tmp_path / "t"))
    assert lance.dataset(str(tmp_path / "t")).schema == pa.schema({"v": pa.string(), "c": pa.string()})
    assert lance.dataset(str(tmp_path / "t")).schema.field("v").metadata is None
    assert read(sql.spark, tmp_path / "t").collect() == [("a", "b  ")]
    assert "CAST(… AS STRING)" in sql.refusal("CREATE TABLE {n}.new AS SELECT * FROM lengths")
    sql.run(
        "CREATE TABLE {n}.new AS SELECT CAST(v AS STRING) AS v FROM lengths",
        "INSERT INTO {n}.new SELECT c FROM lengths",
    )
    assert sql.column("SELECT v FROM {n}.new") == ["a", "b  "]
    sql.run("DROP TABLE {n}.new", "DROP TABLE lengths")


def test_a_column_with_a_backtick_is_refused_before_it_is_written(sql: Sql, tmp_path: Path) -> None:
    for statement in (
        "CREATE TABLE {n}.new (id INT, `a``b` STRING)",
        "CREATE TABLE {n}.new AS SELECT 1 AS `a``b`",
        "ALTER TABLE {n}.there ADD COLUMN `a``b` STRING",
        "ALTER TABLE {n}.there RENAME COLUMN s TO `a``b`",
    ):
        assert "The column 'a`b' has a backtick in its name" in sql.refusal(statement), statement
    frame = sql.spark.sql("SELECT 1 AS `a``b`")
    assert "has a backtick" in refusal(lambda: frame.write.format("lance").mode("append").save(str(tmp_path / "new")))
    assert not (tmp_path / "new").exists()


def test_a_column_with_a_backtick_can_be_left_out_and_renamed(sql: Sql) -> None:
    sql.run("CREATE TABLE {n}.quoted (id INT)")
    (location,) = (row[1] for row in sql.rows("DESCRIBE EXTENDED {n}.quoted") if row[0] == "Location")
    lance.write_dataset(pa.table({"id": [1], "a`b": ["x"]}), location, mode="overwrite")
    assert sql.rows("SELECT id FROM {n}.quoted") == [(1,)]
    sentence = sql.refusal("SELECT * FROM {n}.quoted")
    assert "Lance cannot read the column 'a`b'" in sentence
    assert "RENAME COLUMN `a``b` TO ab" in sentence
    by_path = read(sql.spark, location)
    assert "Lance cannot read the column 'a`b'" in refusal(by_path.collect)
    assert read(sql.spark, location, columns="id").collect() == [(1,)]
    sql.run("ALTER TABLE {n}.quoted RENAME COLUMN `a``b` TO ab")
    assert sql.rows("SELECT * FROM {n}.quoted") == [(1, "x")]
    sql.run("DROP TABLE {n}.quoted")
