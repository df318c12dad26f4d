"""UPDATE, MERGE INTO and DELETE in SQL: what changes, what stays as it was, and who is faster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pytest

from tests.spark.catalog.sql_helpers import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MERGE = "MERGE INTO {n}.t t USING {n}.once s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = meddle(t.name)"


@pytest.fixture(scope="module")
def space(spark: SparkSession) -> Sql:
    made = Sql(spark, "warehouse", "changes")
    made.run(
        "CREATE NAMESPACE {n}",
        "CREATE TABLE {n}.once AS SELECT 3 AS id",
        "CREATE TABLE {n}.twice AS SELECT 3 AS id UNION ALL SELECT 3",
    )
    return made


@pytest.fixture
def sql(space: Sql) -> Iterator[Sql]:
    """Ten rows in two fragments: 0 to 4, and 5 to 9."""
    space.run(
        "CREATE TABLE {n}.t TBLPROPERTIES ('lance.vector.v' = '2') AS"
        " SELECT id, concat('n', id) AS name, array(float(id), 0f) AS v FROM range(0, 10, 1, 2)"
    )
    yield space
    space.run("DROP TABLE {n}.t")


def table(sql: Sql) -> lance.LanceDataset:
    described = {row[0]: row[1] for row in sql.rows("DESCRIBE TABLE EXTENDED {n}.t")}
    return lance.dataset(described["Location"])


def fragments(sql: Sql) -> set[int]:
    return {fragment.fragment_id for fragment in table(sql).get_fragments()}


def files_of(sql: Sql) -> list[str]:
    return sorted(path.name for path in Path(table(sql).uri, "data").iterdir())


def test_update_replaces_the_fragments_that_it_concerns(sql: Sql) -> None:
    sql.run("UPDATE {n}.t SET name = concat(upper(name), '!'), id = id + 100 WHERE id = 3")
    assert sql.rows("SELECT name, v FROM {n}.t WHERE id = 103") == [("N3!", [3.0, 0.0])]
    assert sql.column("SELECT id FROM {n}.t") == [0, 1, 2, 4, 5, 6, 7, 8, 9, 103]
    assert fragments(sql) == {1, 2}
    assert table(sql).schema.field("v").type.list_size == 2
    sql.run("UPDATE {n}.t SET name = 'all'")
    assert sql.rows("SELECT DISTINCT name FROM {n}.t") == [("all",)]
    assert sql.rows("SELECT count(*) FROM {n}.t") == [(10,)]


def test_delete_by_any_condition(sql: Sql) -> None:
    sql.run("DELETE FROM {n}.t WHERE id % 2 = 0 AND id < 5")
    assert sql.column("SELECT id FROM {n}.t") == [1, 3, 5, 6, 7, 8, 9]
    assert fragments(sql) == {1, 2}
    sql.run("DELETE FROM {n}.t WHERE id IN (SELECT id + 1 FROM {n}.t)")
    assert sql.column("SELECT id FROM {n}.t") == [1, 3, 5]


def test_merge_updates_deletes_and_inserts(sql: Sql) -> None:
    sql.run(
        "MERGE INTO {n}.t t USING (SELECT * FROM VALUES (1, 'one'), (50, 'fifty'), (5, 'gone') AS s(id, name)) s"
        " ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
        " WHEN NOT MATCHED BY SOURCE AND t.id > 7 THEN DELETE"
    )
    found = sorted(sql.rows("SELECT id, name, v FROM {n}.t"))
    assert [row[0] for row in found] == [0, 1, 2, 3, 4, 6, 7, 50]
    assert found[1] == (1, "one", [1.0, 0.0])
    assert found[-1] == (50, "fifty", None)


def test_what_concerns_no_row_makes_no_version(sql: Sql) -> None:
    before = table(sql).version
    sql.run("UPDATE {n}.t SET name = 'x' WHERE id = 77")
    assert table(sql).version == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {n}.t SET name = raise_error('boom') WHERE id = 3",
        "UPDATE {n}.t SET v = array(1f) WHERE id = 3",
        "MERGE INTO {n}.t t USING {n}.twice s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'twice'",
    ],
)
def test_what_fails_changes_nothing(sql: Sql, statement: str) -> None:
    before, files = table(sql).version, files_of(sql)
    with pytest.raises(Exception, match=r"boom|does not fit|MERGE_CARDINALITY_VIOLATION"):
        sql.run(statement)
    assert table(sql).version == before
    assert files_of(sql) == files


@pytest.mark.parametrize(
    ("statement", "meddling", "left"),
    [
        ("UPDATE {n}.t SET name = meddle(name) WHERE id = 3", "delete", [0, 2, 3, 4]),
        (_MERGE, "delete", [0, 2, 3, 4]),
        ("UPDATE {n}.t SET name = meddle(name) WHERE id = 3", "add", None),
    ],
)
def test_whoever_is_slower_is_refused(sql: Sql, statement: str, meddling: str, left: list[int] | None) -> None:
    """A row that is added meanwhile is in nobody's way."""
    path = table(sql).uri

    def meddle(name: str) -> str:
        import lance
        import pyarrow as pa

        opened = lance.dataset(path)
        if meddling == "delete":
            opened.delete("id = 1")
        elif opened.count_rows("id = 100") == 0:
            lance.write_dataset(pa.table({"id": [100], "name": ["new"]}), path, mode="append")
        return f"{name}!"

    sql.spark.udf.register("meddle", meddle)
    if left is None:
        sql.run(statement)
        assert sql.column("SELECT id FROM {n}.t") == [*range(10), 100]
        assert sql.rows("SELECT name FROM {n}.t WHERE id = 3") == [("n3!",)]
    else:
        with pytest.raises(Exception, match="Another writer changed the table at the same time"):
            sql.run(statement)
        assert sql.column("SELECT id FROM {n}.t WHERE id < 5") == left
