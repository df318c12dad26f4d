"""What SQL can do with an Iceberg catalog, one scenario after the other; run by the environment with Spark 4.0.

Reads JSON from its input: `uri`, `warehouse`, `token` and `jars`. The last line of its output is JSON: each scenario,
and why it failed, if it did.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

REFUSALS = (PySparkException, Py4JError)
Rows = list[tuple[Any, ...]]


class Judge:
    """A session whose catalog `ice` is the server."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.session.sql(statement).collect()

    def rows(self, query: str) -> Rows:
        return [tuple(row) for row in self.session.sql(query).collect()]

    def expect(self, query: str, wanted: Rows) -> None:
        rows = self.rows(query)
        assert rows == wanted, f"{query}: {rows}, not {wanted}"

    def refuse(self, statement: str, words: str) -> None:
        answer = "done"
        try:
            self.session.sql(statement).collect()
        except REFUSALS as error:
            answer = str(error)
        assert words in answer, f"{statement}: {answer}"


def nested_namespaces(judge: Judge) -> None:
    judge.run(
        "CREATE NAMESPACE ice.top",
        "CREATE NAMESPACE ice.top.middle COMMENT 'in between'",
        "CREATE NAMESPACE ice.top.middle.deep WITH DBPROPERTIES ('purpose' = 'test')",
        "CREATE NAMESPACE ice.top.beside",
        "CREATE TABLE ice.top.middle.deep.t (id BIGINT)",
    )
    assert sorted(judge.rows("SHOW NAMESPACES IN ice.top")) == [("top.beside",), ("top.middle",)]
    judge.expect("SHOW NAMESPACES IN ice.top.middle", [("top.middle.deep",)])
    described = dict(judge.rows("DESCRIBE NAMESPACE EXTENDED ice.top.middle.deep"))
    assert "purpose" in described["Properties"], described
    judge.run("ALTER NAMESPACE ice.top.middle.deep SET PROPERTIES ('purpose' = 'more')")
    assert "more" in dict(judge.rows("DESCRIBE NAMESPACE EXTENDED ice.top.middle.deep"))["Properties"]
    judge.refuse("DROP NAMESPACE ice.top.middle", "NamespaceNotEmptyException")
    judge.refuse("DROP NAMESPACE ice.top.middle.deep", "NamespaceNotEmptyException")
    judge.run("DROP TABLE ice.top.middle.deep.t", "DROP NAMESPACE ice.top.middle.deep", "DROP NAMESPACE ice.top.middle")
    judge.expect("SHOW NAMESPACES IN ice.top", [("top.beside",)])


def create_and_insert(judge: Judge) -> None:
    judge.run(
        "CREATE TABLE ice.sql.made (id BIGINT NOT NULL, name STRING COMMENT 'what it is called', price DECIMAL(9, 2), "
        "day DATE) USING iceberg PARTITIONED BY (days(day), bucket(4, id)) TBLPROPERTIES ('owner.team' = 'shop')",
        "INSERT INTO ice.sql.made VALUES (1, 'apple', 1.50, DATE '2026-01-01'), (2, 'pear', 2.25, DATE '2026-01-02')",
        "INSERT INTO ice.sql.made SELECT id + 2, upper(name), price, day FROM ice.sql.made",
    )
    judge.expect("SELECT count(*), sum(price) FROM ice.sql.made", [(4, judge.rows("SELECT 7.50BD")[0][0])])
    judge.expect("SELECT name FROM ice.sql.made WHERE day = DATE '2026-01-02' ORDER BY id", [("pear",), ("PEAR",)])
    judge.expect("SELECT count(*) FROM ice.sql.made.snapshots", [(2,)])
    judge.expect("SELECT sum(record_count) FROM ice.sql.made.files", [(4,)])
    properties = dict(judge.rows("SHOW TBLPROPERTIES ice.sql.made"))
    assert properties["owner.team"] == "shop", properties
    judge.refuse("CREATE TABLE ice.sql.made (id BIGINT)", "ALREADY_EXISTS")
    judge.refuse("SELECT * FROM ice.sql.missing", "TABLE_OR_VIEW_NOT_FOUND")


def create_as_select(judge: Judge) -> None:
    judge.run("CREATE TABLE ice.sql.copied AS SELECT id, id * id AS square FROM range(10)")
    judge.expect("SELECT sum(square) FROM ice.sql.copied", [(285,)])
    judge.run("CREATE OR REPLACE TABLE ice.sql.copied AS SELECT id, id * 2 AS double FROM range(5)")
    judge.expect("SELECT sum(double) FROM ice.sql.copied", [(20,)])
    judge.expect("SELECT count(*) FROM ice.sql.copied.snapshots", [(2,)])
    judge.run("INSERT OVERWRITE ice.sql.copied SELECT id, 0L FROM range(3)")
    judge.expect("SELECT count(*), sum(double) FROM ice.sql.copied", [(3, 0)])


def update_merge_delete(judge: Judge) -> None:
    for mode in ("copy-on-write", "merge-on-read"):
        table = f"ice.sql.{mode.replace('-', '_')}"
        keys = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
        judge.run(
            f"CREATE TABLE {table} (id BIGINT, name STRING) TBLPROPERTIES ('format-version' = '2', {keys})",
            f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            f"UPDATE {table} SET name = 'changed' WHERE id = 2",
            f"DELETE FROM {table} WHERE id = 3",
            f"MERGE INTO {table} t USING (SELECT 4L AS id, 'merged' AS name UNION ALL SELECT 5L, 'new') s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        )
        judge.expect(f"SELECT * FROM {table} ORDER BY id", [(1, "a"), (2, "changed"), (4, "merged"), (5, "new")])


def time_travel(judge: Judge) -> None:
    judge.run("CREATE TABLE ice.sql.travelled (id BIGINT)")
    for number in (1, 2, 3):
        judge.run(f"INSERT INTO ice.sql.travelled VALUES ({number})")
    snapshots = [
        row[0] for row in judge.rows("SELECT snapshot_id FROM ice.sql.travelled.snapshots ORDER BY committed_at")
    ]
    judge.expect(f"SELECT count(*) FROM ice.sql.travelled VERSION AS OF {snapshots[0]}", [(1,)])
    times = judge.rows("SELECT CAST(committed_at AS STRING) FROM ice.sql.travelled.snapshots ORDER BY committed_at")
    judge.expect(f"SELECT count(*) FROM ice.sql.travelled TIMESTAMP AS OF '{times[1][0]}'", [(2,)])
    judge.run(f"CALL ice.system.rollback_to_snapshot('sql.travelled', {snapshots[1]})")
    judge.expect("SELECT max(id) FROM ice.sql.travelled", [(2,)])


def branches_and_tags(judge: Judge) -> None:
    judge.run(
        "CREATE TABLE ice.sql.branched (id BIGINT)",
        "INSERT INTO ice.sql.branched VALUES (1)",
        "ALTER TABLE ice.sql.branched CREATE TAG first",
        "ALTER TABLE ice.sql.branched CREATE BRANCH work",
        "INSERT INTO ice.sql.branched.branch_work VALUES (2), (3)",
    )
    judge.expect("SELECT count(*) FROM ice.sql.branched", [(1,)])
    judge.expect("SELECT count(*) FROM ice.sql.branched VERSION AS OF 'work'", [(3,)])
    judge.run("CALL ice.system.fast_forward('sql.branched', 'main', 'work')")
    judge.expect("SELECT count(*) FROM ice.sql.branched", [(3,)])
    judge.expect("SELECT count(*) FROM ice.sql.branched VERSION AS OF 'first'", [(1,)])
    judge.run("ALTER TABLE ice.sql.branched DROP BRANCH work", "ALTER TABLE ice.sql.branched DROP TAG first")
    judge.expect("SELECT name FROM ice.sql.branched.refs", [("main",)])


def schema_evolution(judge: Judge) -> None:
    table = "ice.sql.evolved"
    judge.run(
        f"CREATE TABLE {table} (id INT, name STRING, place STRUCT<street: STRING>)",
        f"INSERT INTO {table} VALUES (1, 'a', named_struct('street', 'x'))",
        f"ALTER TABLE {table} ADD COLUMNS (price DOUBLE COMMENT 'in euros' AFTER id, place.city STRING)",
        f"ALTER TABLE {table} RENAME COLUMN name TO title",
        f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT",
        f"INSERT INTO {table} VALUES (5000000000, 2.5, 'b', named_struct('street', 'y', 'city', 'z'))",
    )
    judge.expect(
        f"SELECT id, price, title, place.city FROM {table} ORDER BY id",
        [(1, None, "a", None), (5000000000, 2.5, "b", "z")],
    )
    judge.run(f"ALTER TABLE {table} DROP COLUMN title", f"ALTER TABLE {table} SET TBLPROPERTIES ('a.b' = 'c')")
    assert [row[0] for row in judge.rows(f"DESCRIBE {table}")][:3] == ["id", "price", "place"]
    judge.run(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('a.b')")
    assert "a.b" not in dict(judge.rows(f"SHOW TBLPROPERTIES {table}"))


def partition_evolution(judge: Judge) -> None:
    table = "ice.sql.partitioned"
    judge.run(
        f"CREATE TABLE {table} (id BIGINT, kind STRING)",
        f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')",
        f"ALTER TABLE {table} ADD PARTITION FIELD kind",
        f"INSERT INTO {table} VALUES (3, 'a')",
        f"ALTER TABLE {table} REPLACE PARTITION FIELD kind WITH bucket(2, id) AS shard",
        f"ALTER TABLE {table} WRITE ORDERED BY kind, id",
        f"INSERT INTO {table} VALUES (4, 'b')",
    )
    judge.expect(f"SELECT id FROM {table} WHERE kind = 'a' ORDER BY id", [(1,), (3,)])
    judge.expect(f"SELECT count(DISTINCT spec_id) FROM {table}.files", [(3,)])
    judge.run(f"ALTER TABLE {table} DROP PARTITION FIELD shard")


def maintenance(judge: Judge) -> None:
    judge.run("CREATE TABLE ice.sql.kept (id BIGINT)", *(f"INSERT INTO ice.sql.kept VALUES ({i})" for i in range(4)))
    judge.run("CALL ice.system.rewrite_data_files(table => 'sql.kept', options => map('min-input-files', '2'))")
    judge.expect("SELECT count(*) FROM ice.sql.kept.files", [(1,)])
    judge.run("CALL ice.system.rewrite_manifests('sql.kept')")
    judge.run("CALL ice.system.expire_snapshots(table => 'sql.kept', older_than => now(), retain_last => 1)")
    judge.expect("SELECT count(*) FROM ice.sql.kept.snapshots", [(1,)])
    judge.expect("SELECT sum(id) FROM ice.sql.kept", [(6,)])


def views(judge: Judge) -> None:
    judge.run(
        "CREATE TABLE ice.sql.viewed (id BIGINT, name STRING)",
        "INSERT INTO ice.sql.viewed VALUES (1, 'a'), (2, 'b')",
        "CREATE VIEW ice.sql.seen (number COMMENT 'its id', upper) TBLPROPERTIES ('k' = 'v') "
        "AS SELECT id, upper(name) FROM ice.sql.viewed WHERE id > 1",
    )
    judge.expect("SELECT number, upper FROM ice.sql.seen", [(2, "B")])
    judge.run("CREATE OR REPLACE VIEW ice.sql.seen AS SELECT count(*) AS n FROM ice.sql.viewed")
    judge.expect("SELECT * FROM ice.sql.seen", [(2,)])
    judge.run("ALTER VIEW ice.sql.seen SET TBLPROPERTIES ('k' = 'w')")
    assert ("k", "w") in judge.rows("SHOW TBLPROPERTIES ice.sql.seen")
    judge.refuse("CREATE VIEW ice.sql.seen AS SELECT 1", "ALREADY_EXISTS")
    judge.refuse("CREATE TABLE ice.sql.seen (id BIGINT)", "ALREADY_EXISTS")
    assert [row[1] for row in judge.rows("SHOW VIEWS IN ice.sql")] == ["seen"]
    assert "seen" not in [row[1] for row in judge.rows("SHOW TABLES IN ice.sql")]
    judge.run("ALTER VIEW ice.sql.seen RENAME TO ice.sql.seen_again")
    judge.expect("SELECT * FROM ice.sql.seen_again", [(2,)])
    judge.run("DROP VIEW ice.sql.seen_again")
    judge.expect("SHOW VIEWS IN ice.sql", [])


def rename_and_drop(judge: Judge) -> None:
    judge.run(
        "CREATE NAMESPACE ice.sql.inside",
        "CREATE TABLE ice.sql.old (id BIGINT)",
        "INSERT INTO ice.sql.old VALUES (7)",
        "ALTER TABLE ice.sql.old RENAME TO sql.inside.new",
    )
    judge.expect("SELECT id FROM ice.sql.inside.new", [(7,)])
    judge.refuse("SELECT * FROM ice.sql.old", "TABLE_OR_VIEW_NOT_FOUND")
    judge.run("DROP TABLE ice.sql.inside.new PURGE")
    judge.expect("SHOW TABLES IN ice.sql.inside", [])
    judge.run("DROP TABLE IF EXISTS ice.sql.inside.new", "DROP NAMESPACE ice.sql.inside")


SCENARIOS: tuple[Callable[[Judge], None], ...] = (
    nested_namespaces,
    create_and_insert,
    create_as_select,
    update_merge_delete,
    time_travel,
    branches_and_tags,
    schema_evolution,
    partition_evolution,
    maintenance,
    views,
    rename_and_drop,
)


def session(told: dict[str, Any]) -> SparkSession:
    settings = {
        "spark.jars": ",".join(told["jars"]),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "rest",
        "spark.sql.catalog.ice.uri": told["uri"],
        "spark.sql.catalog.ice.warehouse": told["warehouse"],
        "spark.sql.catalog.ice.cache-enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    if told["token"]:
        settings["spark.sql.catalog.ice.token"] = told["token"]
    builder = SparkSession.builder.master("local[2]").appName("judge")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    judge = Judge(session(json.load(sys.stdin)))
    judge.run("CREATE NAMESPACE ice.sql")
    results: dict[str, str | None] = {}
    for scenario in SCENARIOS:
        try:
            scenario(judge)
        except (AssertionError, *REFUSALS) as error:
            results[scenario.__name__] = " ".join(str(error).split())[:600] or traceback.format_exc()[-600:]
        else:
            results[scenario.__name__] = None
    sys.stdout.write(f"\n{json.dumps(results)}\n")


if __name__ == "__main__":
    main()
