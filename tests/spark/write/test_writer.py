"""Writing from Spark: what arrives, under which mode, and what a failure leaves."""

from __future__ import annotations

import json
import pickle
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance_namespace import DeclareTableRequest, LanceNamespace, ListTablesRequest, ListTableVersionsRequest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, LongType, StructType

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.lake import repair
from lanceway.errors import ConcurrentModificationError, TableAlreadyExistsError
from lanceway.lake.versions import checks
from lanceway.spark.write.writer import BatchWriter, StreamWriter
from tests.spark.write_helpers import append, ids, settle, strays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.servers.lanceway import Lanceway


@f.udf(LongType())
def breaking(number):  # Spark would read annotations as a kind of function that it has not
    """Fails in the last task at once, while the first still has something to write."""
    import time

    if number >= 15:
        raise ValueError("a row that cannot be made")
    if number == 0:
        time.sleep(1)
    return number


def numbers(spark: SparkSession, start: int = 0, end: int = 20) -> DataFrame:
    return spark.range(start, end, numPartitions=2)


# -- modes ---------------------------------------------------------------------------------------


def test_an_append_makes_the_table_and_then_one_version_each(spark: SparkSession, folder: Path) -> None:
    append(numbers(spark), folder / "t")
    append(numbers(spark, 20, 30), folder / "t")
    assert ids(folder / "t") == list(range(30))
    assert lance.dataset(folder / "t").version == 2


def test_an_overwrite_keeps_the_types_of_rows_that_fit_and_takes_new_columns_else(
    spark: SparkSession, folder: Path
) -> None:
    path = str(folder / "t")
    vector = pa.list_(pa.float32(), 2)
    lance.write_dataset(pa.table({"id": pa.array([1], pa.int64()), "v": pa.array([[1.0, 2.0]], vector)}), path)
    fitting = spark.sql("SELECT 7L AS id, array(3f, 4f) AS v")
    fitting.write.format("lance").mode("overwrite").save(path)
    after = lance.dataset(path)
    assert after.schema.field("v").type == vector
    assert after.to_table().to_pylist() == [{"id": 7, "v": [3.0, 4.0]}]
    spark.sql("SELECT 'x' AS other").write.format("lance").mode("overwrite").save(path)
    assert lance.dataset(path).to_table().to_pylist() == [{"other": "x"}]


def test_error_refuses_and_ignore_leaves_a_table_that_is_there(spark: SparkSession, folder: Path) -> None:
    append(numbers(spark), folder / "t", mode="error")
    append(numbers(spark, 20, 30), folder / "t", mode="ignore")
    with pytest.raises(PySparkException, match="cannot be created: it already exists"):
        append(numbers(spark, 20, 30), folder / "t", mode="errorifexists")
    assert ids(folder / "t") == list(range(20))


def test_an_unknown_mode_is_refused_with_the_known_ones(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(PySparkException, match="'upsert', but must be one of append, overwrite, error"):
        append(numbers(spark), folder / "t", mode="upsert")
    assert not (folder / "t").exists()


def test_no_rows_make_an_empty_table_and_then_no_version(spark: SparkSession, folder: Path) -> None:
    append(numbers(spark, 0, 0), folder / "t")
    append(numbers(spark, 0, 0), folder / "t")
    assert lance.dataset(folder / "t").version == 1
    assert lance.dataset(folder / "t").schema == pa.schema({"id": pa.int64()})


# -- types ---------------------------------------------------------------------------------------

EVERYTHING = """
SELECT id, array(1f, CAST(id AS float)) AS v, CAST(concat('blob', id) AS binary) AS b, map('a', id) AS m,
       named_struct('x', id, 'y', array('z')) AS s, CAST(id AS decimal(20, 4)) AS d, CAST(null AS string) AS n,
       TIMESTAMP '2026-01-02 03:04:05.678901 UTC' AS ts, TIMESTAMP_NTZ '2026-01-02 03:04:05' AS tn,
       DATE '2026-01-02' AS dt
FROM range(0, 6, 1, 2)
"""


def test_every_type_comes_back_as_it_was(spark: SparkSession, folder: Path) -> None:
    frame = spark.sql(EVERYTHING)
    for _ in range(2):
        append(frame, folder / "t", vector_columns='{"v": 2}', blob_columns="b", max_rows_per_file="2")
    schema = lance.dataset(folder / "t").schema
    assert schema.field("v").type == pa.list_(pa.float32(), 2)
    assert str(schema.field("b").type).startswith("extension<lance.blob")
    back = spark.read.format("lance").load(str(folder / "t"))
    assert sorted(map(str, back.collect())) == sorted(2 * [str(row) for row in frame.collect()])
    assert len(lance.dataset(folder / "t").get_fragments()) == 8


def test_rows_that_do_not_fit_are_refused_with_each_difference(spark: SparkSession, folder: Path) -> None:
    append(numbers(spark), folder / "t")
    wrong = spark.sql("SELECT 'one' AS id, 2 AS other")
    with pytest.raises(PySparkException, match=r"no column 'other' .*; the column id is string, but must be int64"):
        append(wrong, folder / "t")
    assert ids(folder / "t") == list(range(20))
    assert strays(folder / "t") == set()


def test_a_vector_of_another_size_is_refused(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(PySparkException, match="does not fit the column v"):
        append(spark.sql("SELECT array(1f, 2f, 3f) AS v"), folder / "t", vector_columns='{"v": 2}')
    assert not (folder / "t").exists()


# -- failures ------------------------------------------------------------------------------------


def test_a_job_that_fails_leaves_neither_rows_nor_files(spark: SparkSession, folder: Path) -> None:
    append(numbers(spark), folder / "t")
    with pytest.raises(PySparkException, match="a row that cannot be made"):
        append(numbers(spark).select(breaking("id").alias("id")), folder / "t")
    with pytest.raises(PySparkException, match="a row that cannot be made"):
        append(numbers(spark).select(breaking("id").alias("id")), folder / "new")
    settle(spark)
    assert lance.dataset(folder / "t").version == 1
    assert strays(folder / "t") == set()
    assert not (folder / "new").exists()


def test_nothing_is_visible_before_the_commit(spark: SparkSession, folder: Path) -> None:
    seen = folder / "seen"
    path = str(folder / "t")
    append(numbers(spark), path)

    @f.udf(LongType())
    def looking(number):
        import lance

        seen.with_name(f"seen-{number}").write_text(str(lance.dataset(path).count_rows()))
        return number

    append(numbers(spark, 20, 40).select(looking("id").alias("id")), path)
    assert {file.read_text() for file in folder.glob("seen-*")} == {"20"}
    assert ids(path) == list(range(40))


# -- catalogs ------------------------------------------------------------------------------------


def catalogs(folder: Path) -> dict[str, dict[str, str]]:
    return {
        "dir": {"namespace.type": "dir", "namespace.path": str(folder / "warehouse")},
        "lake": {
            "namespace.type": "lake",
            "namespace.uri": f"sqlite:///{folder}/lake.db",
            "namespace.root": str(folder / "warehouse"),
        },
    }


@pytest.mark.parametrize("type_", ["dir", "lake"])
def test_a_table_of_a_catalog_is_made_through_it_or_not_at_all(spark: SparkSession, folder: Path, type_: str) -> None:
    (folder / "warehouse").mkdir()
    options = {**catalogs(folder)[type_], "table": "orders"}
    catalog = connect(catalogs(folder)[type_])
    write = numbers(spark).write.format("lance").mode("append").options(**options)
    failing = numbers(spark).select(breaking("id").alias("id")).write.format("lance").mode("append").options(**options)
    with pytest.raises(PySparkException, match="a row that cannot be made"):
        failing.save()
    settle(spark)
    assert not list((folder / "warehouse").rglob("*.lance"))
    assert catalog.list_tables(ListTablesRequest(id=[])).tables == []
    write.save()
    write.save()
    table = lance.dataset(namespace_client=catalog, table_id=["orders"])
    assert sorted(table.to_table()["id"].to_pylist()) == sorted(2 * list(range(20)))
    assert table.version == 2


@pytest.mark.parametrize("through", ["lake", "server"])
def test_a_managed_table_has_each_of_many_jobs_versions_claimed(
    spark: SparkSession, folder: Path, server: Lanceway, through: str
) -> None:
    """Fifty tasks make one version, and of jobs at once each makes its own: none is lost, none is there twice."""
    name, options = ["orders"], catalogs(folder)["lake"]
    if through == "server":
        name = ["lake", f"orders_{uuid.uuid4().hex}"]
        options = {"namespace.type": "rest", "namespace.uri": server.uri, "namespace.token": server.token}
    catalog = connect(options)
    catalog.declare_table(DeclareTableRequest(id=name))
    options = {**options, "table": json.dumps(name)}
    spark.range(0, 50, numPartitions=50).write.format("lance").mode("append").options(**options).save()
    failures: list[BaseException] = []

    def job(start: int) -> None:
        try:
            # Made so, it also makes the session the thread's own, without which Spark finds no data source in Python.
            rows = spark.createDataFrame([(number,) for number in range(start, start + 10)], "id bigint")
            rows.write.format("lance").mode("append").options(**options).save()
        except PySparkException as error:
            failures.append(error)

    threads = [threading.Thread(target=job, args=(50 + 10 * number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    table = lance.dataset(namespace_client=catalog, table_id=name)
    assert sorted(table.to_table()["id"].to_pylist()) == list(range(80))
    claimed = catalog.list_table_versions(ListTableVersionsRequest(id=name))
    assert sorted(version.version for version in claimed.versions) == [1, 2, 3, 4]
    assert len(table.checkout_version(1).get_fragments()) == 50
    assert len({job_of(table, version) for version in range(1, 5)}) == 4
    assert strays(Path(table.uri)) == set()
    if through == "lake":
        assert isinstance(catalog, LakeCatalog)
        found = [*catalog._lake.snapshot(checks.check), *repair.check(catalog._lake, {}, None)]
        assert [finding for finding in found if finding.wrong] == []


def job_of(table: lance.LanceDataset, version: int) -> str:
    transaction = table.read_transaction(version)
    assert transaction is not None
    assert transaction.transaction_properties is not None
    return transaction.transaction_properties["lanceway.spark.job"]


def connect(options: dict[str, str]) -> LanceNamespace:
    return lanceway.connect(**{key.removeprefix("namespace."): value for key, value in options.items()})


# -- attempts, without Spark ---------------------------------------------------------------------

SCHEMA = StructType().add("id", LongType())


def writer(path: Path, **options: str) -> BatchWriter:
    """What Spark makes in one process and uses in others."""
    made: BatchWriter = pickle.loads(pickle.dumps(BatchWriter({"path": str(path), **options}, SCHEMA, overwrite=False)))
    return made


def rows(start: int, end: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"id": pa.array(range(start, end), pa.int64())})


def test_only_the_attempt_that_spark_reports_counts(folder: Path) -> None:
    job = writer(folder / "t")
    lost, told, other = (job.write(rows(*span)) for span in ((0, 5), (0, 5), (5, 10)))
    job.commit([told, other, None])
    assert ids(folder / "t") == list(range(10))
    assert lost.fragments
    assert strays(folder / "t") == set()


def test_large_blobs_go_with_the_file_that_they_belong_to(folder: Path) -> None:
    schema = StructType().add("b", BinaryType())
    options = {"path": str(folder / "t"), "blob_columns": "b", "data_storage_version": "2.2"}
    job = BatchWriter(options, schema, overwrite=False)
    rows = pa.record_batch({"b": [b"x" * 200_000]})
    told, _ = job.write(iter([rows])), job.write(iter([rows]))
    assert len(list(folder.rglob("*.blob"))) == 2
    job.commit([told])
    assert len(list(folder.rglob("*.blob"))) == 1
    assert lance.dataset(folder / "t").count_rows() == 1


@pytest.mark.parametrize("has_table", [False, True])
def test_a_task_that_ends_after_its_job_leaves_nothing(folder: Path, has_table: bool) -> None:
    if has_table:
        first = writer(folder / "t")
        first.commit([first.write(rows(0, 5))])
    given_up = writer(folder / "t")
    told = given_up.write(rows(5, 10))
    given_up.abort([None])  # the driver does not know of it yet
    with pytest.raises(ConcurrentModificationError, match="has ended while this task still wrote for it"):
        given_up.write(rows(5, 10))
    assert told.fragments
    if not has_table:
        assert not (folder / "t").exists()
        return
    done = writer(folder / "t")
    done.commit([done.write(rows(5, 10))])
    with pytest.raises(ConcurrentModificationError, match="what it wrote was removed"):
        done.write(rows(5, 10))
    assert ids(folder / "t") == list(range(10))
    assert strays(folder / "t") == set()


def test_an_abort_after_a_commit_that_went_through_removes_nothing(folder: Path) -> None:
    for span in ((0, 5), (5, 10)):  # of a new table, and of one that is there
        job = writer(folder / "t")
        told = job.write(rows(*span))
        job.commit([told])
        job.abort([told])
    assert ids(folder / "t") == list(range(10))


def test_of_two_jobs_that_make_a_table_one_succeeds_and_the_other_leaves_nothing(folder: Path) -> None:
    first, second = writer(folder / "t"), writer(folder / "t")
    told, lost = first.write(rows(0, 5)), second.write(rows(5, 10))
    first.commit([told])
    with pytest.raises(TableAlreadyExistsError, match="another writer has just written its first version"):
        second.commit([lost])
    second.abort([lost])
    assert ids(folder / "t") == list(range(5))
    assert strays(folder / "t") == set()


def test_a_batch_is_recognised_however_many_versions_came_after_it(folder: Path) -> None:
    options = {"path": str(folder / "t"), "checkpointlocation": "/checkpoints/orders"}
    for batch, span in ((0, (0, 5)), (1, (5, 10)), (1, (5, 10))):
        if batch and lance.dataset(folder / "t").version == 2:
            for _ in range(35):
                lance.dataset(folder / "t").delete("false")
        job = StreamWriter(options, SCHEMA, overwrite=False)
        job.commit([job.write(rows(*span))], batch)
    assert ids(folder / "t") == list(range(10))
    assert strays(folder / "t") == set()
