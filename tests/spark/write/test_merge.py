"""Merge, update, delete and the changes between versions: each one transaction, computed by tasks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import lanceway.spark
from lanceway.errors import InvalidInputError, LanceNamespaceError, TableNotFoundError
from lanceway.spark.sessions import beside
from lanceway.spark.write.rewrite import Changed
from tests.spark.write_helpers import ids, settle, strays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def make(path: Path, *, stable: bool = False) -> None:
    """Forty rows in four fragments."""
    rows = pa.table({"id": range(40), "name": ["old"] * 40, "n": [1] * 40})
    lance.write_dataset(rows, path, max_rows_per_file=10, enable_stable_row_ids=stable)


def source(spark: SparkSession, start: int, end: int, name: str = "new") -> DataFrame:
    return spark.range(start, end, numPartitions=2).selectExpr("id", f"'{name}' AS name", "2L AS n")


def rows(path: Path, **options: Any) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in lance.dataset(path).to_table(**options).to_pylist()}


@pytest.mark.parametrize("stable", [False, True])
def test_a_merge_updates_and_inserts_in_one_version(spark: SparkSession, folder: Path, stable: bool) -> None:
    make(folder / "t", stable=stable)
    before = rows(folder / "t", with_row_id=True)
    done = lanceway.spark.merge(
        spark,
        source(spark, 30, 50),
        folder / "t",
        on="id",
        when_matched_update=True,
        when_not_matched_insert=True,
    )
    assert (done.version, done.inserted, done.updated, done.deleted) == (2, 10, 10, 0)
    assert ids(folder / "t") == list(range(50))
    after = rows(folder / "t", with_row_id=True)
    assert {row["name"] for key, row in after.items() if key >= 30} == {"new"}
    assert {row["name"] for key, row in after.items() if key < 30} == {"old"}
    if stable:
        assert all(after[key]["_rowid"] == before[key]["_rowid"] for key in before)
        assert len({row["_rowid"] for row in after.values()}) == 50
    assert strays(folder / "t") == set()


def test_a_table_in_a_catalog_of_the_session_is_meant_by_its_name(spark: SparkSession, folder: Path) -> None:
    make(folder / "t")
    settings = {"type": "dir", "path": str(folder), "layout": "plain"}
    session = beside(spark, catalogs={"shelf": settings})
    options: dict[str, Any] = {"on": "id", "when_matched_update": True, "when_not_matched_insert": True}
    done = lanceway.spark.merge(session, source(session, 30, 50), "shelf.t", **options)
    assert (done.version, done.inserted, done.updated) == (2, 10, 10)
    assert lanceway.spark.update(session, "shelf.t", {"n": "n + 1"}, where="id = 0").version == 3
    assert lanceway.spark.delete(session, "shelf.t", where="id = 49").version == 4
    assert session.table("shelf.t").count() == 49
    assert lanceway.spark.read_changes(session, "shelf.t", 3).count() == 1
    with pytest.raises(InvalidInputError, match="No namespace is called 'shelf'"):
        lanceway.spark.delete(spark, "shelf.t", where="true")


def test_a_merge_deletes_by_condition_and_updates_columns_by_expressions(spark: SparkSession, folder: Path) -> None:
    make(folder / "t")
    done = lanceway.spark.merge(
        spark,
        spark.range(0, 10),
        str(folder / "t"),
        on=["id"],
        when_matched_delete="target.id % 2 = 0",
        when_matched_update={"n": "target.n + source.id"},
        when_not_matched_insert=False,
    )
    assert (done.inserted, done.updated, done.deleted) == (0, 5, 5)
    found = rows(folder / "t")
    assert sorted(found) == [1, 3, 5, 7, *range(9, 40)]
    assert found[7] == {"id": 7, "name": "old", "n": 8}


def test_a_null_key_matches_nothing(spark: SparkSession, folder: Path) -> None:
    lance.write_dataset(pa.table({"id": pa.array([1, None], pa.int64()), "name": ["one", "none"]}), folder / "t")
    twice_null = spark.sql("SELECT CAST(null AS bigint) AS id, 'new' AS name FROM range(2)")
    done = lanceway.spark.merge(
        spark, twice_null, folder / "t", on="id", when_matched_update=True, when_not_matched_insert=True
    )
    assert (done.inserted, done.updated) == (2, 0)
    assert lance.dataset(folder / "t").count_rows("id IS NULL") == 3


def test_keys_given_twice_are_refused_and_leave_nothing(spark: SparkSession, folder: Path) -> None:
    make(folder / "t", stable=True)
    for start, key in ((38, "id = 38"), (60, "id = 60")):  # once in the table, once to insert
        twice = source(spark, start, start + 2).union(source(spark, start, start + 1))
        with pytest.raises(InvalidInputError, match=f"have the same keys \\({key}\\)"):
            lanceway.spark.merge(
                spark, twice, folder / "t", on="id", when_matched_update=True, when_not_matched_insert=True
            )
    assert lance.dataset(folder / "t").version == 1
    assert strays(folder / "t") == set()


def test_a_merge_whose_job_fails_leaves_nothing(spark: SparkSession, folder: Path) -> None:
    make(folder / "t")
    broken = "if(source.id = 45, raise_error('a row that cannot be made'), 'new')"
    with pytest.raises(PySparkException, match="a row that cannot be made"):
        lanceway.spark.merge(
            spark,
            source(spark, 30, 50),
            folder / "t",
            on="id",
            when_matched_update={"n": "source.n"},
            when_not_matched_insert={"id": "source.id", "name": broken, "n": "source.n"},
        )
    settle(spark)
    assert lance.dataset(folder / "t").version == 1
    assert strays(folder / "t") == set()


def test_a_merge_that_cannot_be_is_refused_before_it_begins(spark: SparkSession, folder: Path) -> None:
    make(folder / "t")
    one = source(spark, 0, 1)
    with pytest.raises(InvalidInputError, match="nothing to do"):
        lanceway.spark.merge(spark, one, folder / "t", on="id")
    with pytest.raises(InvalidInputError, match="no column 'key' to match by in the data frame"):
        lanceway.spark.merge(spark, one, folder / "t", on="key", when_matched_update=True)
    with pytest.raises(InvalidInputError, match="has no column 'other'"):
        lanceway.spark.merge(spark, one, folder / "t", on="id", when_matched_update={"other": "1"})
    with pytest.raises(InvalidInputError, match="names no table"):
        lanceway.spark.merge(spark, one, "orders", on="id", when_matched_update=True)
    missing = {"namespace.type": "dir", "namespace.path": str(folder), "table": "missing"}
    with pytest.raises(TableNotFoundError, match="There is no table missing"):
        lanceway.spark.delete(spark, missing, where="true")


def test_two_merges_at_once_insert_no_key_twice(spark: SparkSession, folder: Path, rounds: int) -> None:
    """Into an empty table and into one that holds rows: the later one looks again, and updates."""
    for number in range(max(1, rounds // 5)):
        path = folder / str(number)
        empty = pa.schema({"id": pa.int64(), "name": pa.string(), "n": pa.int64()}).empty_table()
        lance.write_dataset(empty, path)
        for start in (0, 100):
            _at_once(spark, path, start)
            assert ids(path)[-10:] == list(range(start, start + 10))
            assert len(set(ids(path))) == len(ids(path))


def _at_once(spark: SparkSession, path: Path, start: int) -> None:
    failures: list[LanceNamespaceError] = []

    def job(name: str) -> None:
        try:
            lanceway.spark.merge(
                spark,
                source(spark, start, start + 10, name),
                path,
                on="id",
                when_matched_update=True,
                when_not_matched_insert=True,
            )
        except LanceNamespaceError as error:
            failures.append(error)

    threads = [threading.Thread(target=job, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_update_and_delete_by_condition(spark: SparkSession, folder: Path) -> None:
    make(folder / "t", stable=True)
    updated = lanceway.spark.update(spark, folder / "t", {"name": "upper(name)", "n": "n + 1"}, where="id < 5")
    deleted = lanceway.spark.delete(spark, folder / "t", where="id >= 20 AND id < 35")
    none = lanceway.spark.delete(spark, folder / "t", where="id > 1000")
    assert (updated.updated, deleted.deleted, none) == (5, 15, Changed(deleted.version))
    found = rows(folder / "t")
    assert sorted(found) == [*range(20), *range(35, 40)]
    assert (found[4]["name"], found[4]["n"], found[5]["name"], found[5]["n"]) == ("OLD", 2, "old", 1)
    assert strays(folder / "t") == set()
