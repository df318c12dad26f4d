"""Reading Lance tables through `format("lance")`."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, StringType, StructType

from lanceway.errors import LanceNamespaceError, TableNotFoundError, TableVersionNotFoundError
from pyspark_lanceway import DefaultSource
from tests.spark_fixtures import Place
from tests.spark_fixtures import lance as read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PEOPLE = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "name": [f"name {at}" for at in range(100)],
        "v": pa.array([[at, at + 1] for at in range(100)], pa.list_(pa.float32(), 2)),
    }
)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    """A hundred rows in ten fragments, with a text index."""
    path = tmp_path_factory.mktemp("people") / "people.lance"
    made = lance.write_dataset(PEOPLE, path, max_rows_per_file=10)
    made.create_scalar_index("name", "INVERTED")
    return made


def ids(frame: DataFrame) -> list[int]:
    return [row["id"] for row in frame.select("id").collect()]


# -- which table -----------------------------------------------------------------------------------


def test_a_table_is_found_by_its_identifier(spark: SparkSession, place: Place) -> None:
    lance.write_dataset(PEOPLE, place.warehouse / "people.lance")
    by_settings = {"namespace.type": "dir", "namespace.path": str(place.warehouse)}
    for options in (
        {"table": "people", **by_settings},
        {"table": '["people"]', "namespace": "warehouse"},  # a name in lanceway.toml
        {"table": "people", "delimiter": "$", "namespace": "warehouse", "namespace.layout": "lance"},
    ):
        assert spark.read.format("lance").options(**options).load().count() == 100


# -- what is read of it ----------------------------------------------------------------------------


def test_rows_come_in_the_tables_order_and_types(spark: SparkSession, people: lance.LanceDataset) -> None:
    frame = read(spark, people.uri)
    assert frame.schema.simpleString() == "struct<id:bigint,name:string,v:array<float>>"
    assert [row.asDict() for row in frame.collect()] == PEOPLE.to_pylist()


def test_some_columns_with_row_ids_and_addresses(spark: SparkSession, people: lance.LanceDataset) -> None:
    frame = read(spark, people.uri, columns="name", with_row_id=True, with_row_address=True, filter="id IN (5, 17)")
    assert [tuple(row) for row in frame.collect()] == [("name 5", 5, 5), ("name 17", 2**32 + 7, 2**32 + 7)]
    assert frame.where("_rowid = 5").count() == 1
    assert read(spark, people.uri, columns='["v", "id"]').columns == ["v", "id"]


def test_a_limit_is_one_for_the_whole_table_and_comes_before_spark_filters(
    spark: SparkSession, people: lance.LanceDataset
) -> None:
    assert ids(read(spark, people.uri, limit=3, filter="id > 20")) == [21, 22, 23]
    assert ids(read(spark, people.uri, limit=3).where("id > 1")) == [2]
    assert read(spark, people.uri, limit=0).count() == 0
    assert ids(read(spark, people.uri, partition_limit=1, partitions=2)) == [0, 50]


def test_fragments_are_shared_out_among_as_many_tasks_as_asked_for(
    spark: SparkSession, people: lance.LanceDataset
) -> None:
    frame = read(spark, people.uri, partitions=4)
    assert frame.rdd.getNumPartitions() == 4
    assert ids(frame) == list(range(100))
    assert read(spark, people.uri).rdd.getNumPartitions() == 1  # for so little, one task is enough


def test_an_empty_table_has_no_rows(spark: SparkSession, folder: Path) -> None:
    lance.write_dataset(PEOPLE.slice(0, 0), folder / "t")
    assert read(spark, folder / "t").collect() == []
    assert read(spark, folder / "t").where("id > 1").count() == 0


def test_names_that_need_quoting(spark: SparkSession, folder: Path) -> None:
    inner = pa.array([{"p.q": 1, "sel ect": "x"}], pa.struct([("p.q", pa.int32()), ("sel ect", pa.string())]))
    table = pa.table({'d"q': [2], "it's": [3], "é ü": [4], "select": [5], "st": inner})
    lance.write_dataset(table, folder / "t")
    frame = read(spark, folder / "t")
    assert frame.columns == table.column_names
    for name, value in (('d"q', 2), ("it's", 3), ("é ü", 4), ("select", 5)):
        assert frame.where(f"`{name}` = {value}").select(f"`{name}`").collect() == [(value,)]
    assert frame.where("st.`p.q` = 1 AND st.`sel ect` LIKE 'x%'").count() == 1


def test_columns_that_differ_in_case_alone(spark: SparkSession, folder: Path) -> None:
    lance.write_dataset(pa.table({"a": [1], "A": [2]}), folder / "t")
    assert read(spark, folder / "t", columns="A").collect() == [(2,)]
    assert read(spark, folder / "t", columns="a").where("A = 1").collect() == [(1,)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert read(spark, folder / "t").where("A = 2 AND a = 1").collect() == [(1, 2)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


# -- versions --------------------------------------------------------------------------------------


def test_time_travel(spark: SparkSession, folder: Path) -> None:
    made = lance.write_dataset(PEOPLE.slice(0, 1), folder / "t")
    made.tags.create("first", 1)
    time.sleep(0.01)
    between = dt.datetime.now(dt.UTC)
    time.sleep(0.01)
    lance.write_dataset(PEOPLE.slice(1, 2), folder / "t", mode="append")
    branch = lance.dataset(folder / "t").create_branch("side", 1)
    lance.write_dataset(PEOPLE.slice(50, 1), branch, mode="append")
    branch.tags.create("aside", ("side", None))
    for options, expected in (
        ({}, [0, 1, 2]),
        ({"version": 1}, [0]),
        ({"tag": "first"}, [0]),
        ({"asof": between.isoformat()}, [0]),
        ({"asof": round(between.timestamp() * 1000)}, [0]),
        ({"branch": "side"}, [0, 50]),
        ({"tag": "aside"}, [0, 50]),
    ):
        assert ids(read(spark, folder / "t", **options)) == expected, options


def test_a_frame_stays_at_the_version_that_it_was_loaded_at(spark: SparkSession, folder: Path) -> None:
    lance.write_dataset(PEOPLE.slice(0, 1), folder / "t")
    frame = read(spark, folder / "t")
    lance.write_dataset(PEOPLE.slice(1, 1).drop_columns("name"), folder / "t", mode="overwrite")
    assert [row["name"] for row in frame.collect()] == ["name 0"]
    assert read(spark, folder / "t").columns == ["id", "v"]


# -- searches --------------------------------------------------------------------------------------


def test_vector_search(spark: SparkSession, people: lance.LanceDataset) -> None:
    nearest = json.dumps({"column": "v", "vector": [7, 8], "k": 3, "metric": "l2"})
    found = read(spark, people.uri, nearest=nearest, columns='["id", "_distance"]', filter="id <> 7")
    assert {tuple(row) for row in found.collect()} == {(6, 2.0), (8, 2.0), (5, 8.0)}
    assert ids(found.where("_distance > 2")) == [5]  # what Spark filters are the rows that were found


def test_text_and_hybrid_search(spark: SparkSession, people: lance.LanceDataset) -> None:
    found = read(spark, people.uri, full_text="42", with_row_id=True)
    assert [(row["id"], row["_rowid"]) for row in found.collect()] == [(42, 4 * 2**32 + 2)]
    words = {"query": "42 43", "columns": ["name"]}
    assert set(ids(read(spark, people.uri, full_text=json.dumps(words)))) == {42, 43}
    phrase = {"phrase": {"terms": "name 44", "column": "name"}}
    assert "_score" in read(spark, people.uri, full_text=json.dumps({"match": {**phrase["phrase"]}})).columns
    both = read(spark, people.uri, full_text="42", nearest=json.dumps({"vector": [42, 43]}), limit=1)
    assert ids(both) == [42]


# -- what is refused -------------------------------------------------------------------------------

REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "no column": ({"columns": "id,gone"}, "has no column 'gone'. It has: id, name, v."),
    "bad filter": ({"filter": "gone = 1"}, "No field named gone"),
    "filter on vectors": ({"filter": "v = 1"}, "The option filter on"),
    "unknown option": ({"colums": "id"}, "Did you mean 'columns'?"),
    "no version": ({"version": 99}, "has no version 99"),
    "no tag": ({"tag": "gone"}, "has no tag 'gone'"),
    "too early": ({"asof": "2001-01-01"}, "had no version at 2001-01-01T00:00:00+00:00. Its first is of 20"),
    "no time": ({"asof": "yesterday"}, "asof is 'yesterday', but must be a time such as"),
    "two versions": ({"version": 1, "tag": "a"}, "give one of version and tag, not both"),
    "wrong vector": ({"nearest": '{"vector": [1]}'}, "the query vector has 1 number, but those in the column v"),
    "no JSON": ({"nearest": "{"}, "nearest is '{', which is not valid JSON"),
    "no such search": ({"nearest": '{"q": [1]}'}, "nearest has no 'q'. It takes: "),
    "no number": ({"limit": "many"}, "limit is 'many', but must be a whole number."),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_read_is_refused_when_it_is_loaded(
    options: dict[str, Any], sentence: str, people: lance.LanceDataset
) -> None:
    source = DefaultSource({"path": people.uri, **{key: str(value) for key, value in options.items()}})
    with pytest.raises(LanceNamespaceError) as refused:
        source.schema()
    assert sentence in str(refused.value)


def refusal(act: Callable[[], object]) -> str:
    """What Spark says of something that is refused: its own introduction, and one sentence."""
    with pytest.raises(PySparkException) as refused:
        act()
    said = str(refused.value).replace("SQLSTATE: 38000", "").strip()
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 2
    return said


def test_places_without_a_table(spark: SparkSession, folder: Path) -> None:
    (folder / "file").write_text("nothing of Lance")
    assert f"There is no Lance table at {folder}." in refusal(lambda: read(spark, folder))
    with pytest.raises(TableNotFoundError, match="There is no table gone in"):
        DefaultSource({"table": "gone", "namespace.type": "dir", "namespace.path": str(folder)}).schema()


def test_a_schema_that_is_not_the_tables(spark: SparkSession, people: lance.LanceDataset) -> None:
    given = spark.read.format("lance").schema("name string, id long").load(people.uri)
    assert given.where("id = 1").collect() == [("name 1", 1)]
    for schema, sentence in (
        (StructType().add("gone", IntegerType()), "has no column 'gone'"),
        (StructType().add("id", StringType()), "is bigint, but string was asked for"),
    ):
        with pytest.raises(LanceNamespaceError, match=sentence):
            DefaultSource({"path": people.uri}).reader(schema).partitions()


def test_a_table_that_is_dropped_or_cleaned_up_after_it_was_loaded(folder: Path) -> None:
    lance.write_dataset(PEOPLE, folder / "t")
    source = DefaultSource({"path": str(folder / "t")})
    schema = source.schema()
    later = lance.write_dataset(PEOPLE, folder / "t", mode="overwrite")
    later.cleanup_old_versions(dt.timedelta(0))
    with pytest.raises(TableVersionNotFoundError, match="has no version 1"):
        source.reader(schema).partitions()
    shutil.rmtree(folder / "t")
    with pytest.raises(TableNotFoundError, match="There is no Lance table at"):
        source.reader(schema).partitions()


def test_a_table_that_is_dropped_while_it_is_read(spark: SparkSession, folder: Path) -> None:
    lance.write_dataset(PEOPLE, folder / "t")
    planned = read(spark, folder / "t").rdd
    planned.getNumPartitions()  # which plans the tasks, and runs none
    shutil.rmtree(folder / "t")
    assert f"{folder}/t was dropped while it was read." in refusal(planned.collect)
