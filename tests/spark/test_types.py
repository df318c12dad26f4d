"""Types between Lance and Spark, and batches brought from one to the other."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from pyspark.sql.types import Row

from lanceway.errors import InvalidInputError, TableSchemaValidationError
from lanceway.spark.types import arrow_schema, spark_schema, to_spark
from lanceway.writes.casting import to_lance
from tests.spark.read.edge_values import array
from tests.spark_fixtures import lance as read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UUID = uuid.UUID(int=7)
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 4)
# Type in the table, value, type in Spark, value in Spark.
TYPES: dict[str, tuple[pa.DataType, Any, str, Any]] = {
    "bool": (pa.bool_(), True, "boolean", True),
    "int8": (pa.int8(), -1, "tinyint", -1),
    "uint8": (pa.uint8(), 255, "smallint", 255),
    "uint16": (pa.uint16(), 65535, "int", 65535),
    "uint32": (pa.uint32(), 2**32 - 1, "bigint", 2**32 - 1),
    "uint64": (pa.uint64(), 2**64 - 1, "decimal(20,0)", Decimal(2**64 - 1)),
    "float16": (pa.float16(), 0.5, "float", 0.5),
    "double": (pa.float64(), 0.1, "double", 0.1),
    "string": (pa.string(), "ü", "string", "ü"),
    "large string": (pa.large_string(), "ü", "string", "ü"),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), "a", "string", "a"),
    "json": (pa.json_(), '{"a":1}', "string", '{"a":1}'),
    "binary": (pa.binary(), b"\0", "binary", bytearray(b"\0")),
    "fixed binary": (pa.binary(2), b"ab", "binary", bytearray(b"ab")),
    "uuid": (pa.uuid(), UUID.bytes, "binary", bytearray(UUID.bytes)),
    "date": (pa.date32(), DAY, "date", DAY),
    "date64": (pa.date64(), DAY, "date", DAY),
    "timestamp": (pa.timestamp("us"), MOMENT, "timestamp_ntz", MOMENT),
    "nanoseconds": (pa.timestamp("ns"), MOMENT, "timestamp_ntz", MOMENT),
    "duration": (pa.duration("ms"), dt.timedelta(days=1, seconds=2), "interval day to second", dt.timedelta(1, 2)),
    "decimal": (pa.decimal128(10, 2), Decimal("-1.50"), "decimal(10,2)", Decimal("-1.50")),
    "decimal256": (pa.decimal256(20, 2), Decimal("1.50"), "decimal(20,2)", Decimal("1.50")),
    "vector": (pa.list_(pa.float32(), 2), [1, 2], "array<float>", [1.0, 2.0]),
    "half vector": (pa.list_(pa.float16(), 2), [1, 2], "array<float>", [1.0, 2.0]),
    "list": (pa.list_(pa.large_string()), ["a", None], "array<string>", ["a", None]),
    "large list": (pa.large_list(pa.uint8()), [1], "array<smallint>", [1]),
    "struct": (
        pa.struct([("a", pa.large_string()), ("b", pa.list_(pa.uint16(), 1))]),
        {"a": "x", "b": [1]},
        "struct<a:string,b:array<int>>",
        Row(a="x", b=[1]),
    ),
    "list of structs": (pa.list_(pa.struct([("a", pa.int8())])), [{"a": 1}], "array<struct<a:tinyint>>", [Row(a=1)]),
    "map": (pa.map_(pa.string(), pa.float16()), [("a", 0.5)], "map<string,float>", {"a": 0.5}),
}


def all_types() -> pa.Table:
    blob = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    fields = [pa.field(name, type_) for name, (type_, *_) in TYPES.items()]
    arrays = [array([value, None], type_) for type_, value, *_ in TYPES.values()]
    return pa.table([*arrays, pa.array([b"large", None], pa.large_binary())], schema=pa.schema([*fields, blob]))


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_every_type_is_read(version: str, spark: SparkSession, tmp_path: Path) -> None:
    table = all_types()
    if version == "2.1":
        table = table.drop_columns("map")  # which that version of the format does not have
    lance.write_dataset(table, tmp_path / "t", data_storage_version=version)
    frame = read(spark, tmp_path / "t")
    expected = {name: (kind, value) for name, (_, _, kind, value) in TYPES.items() if name in table.column_names}
    expected["blob"] = ("binary", bytearray(b"large"))
    assert dict(frame.dtypes) == {name: kind for name, (kind, _) in expected.items()}
    values, nulls = frame.collect()
    assert values.asDict() == {name: value for name, (_, value) in expected.items()}
    assert set(nulls) == {None}


def test_a_moment_of_a_zone_is_the_same_moment(spark: SparkSession, tmp_path: Path) -> None:
    moment = MOMENT.replace(tzinfo=dt.UTC)
    table = pa.table({zone: pa.array([moment], pa.timestamp("us", zone)) for zone in ("UTC", "Europe/Rome", "+02:00")})
    lance.write_dataset(table, tmp_path / "t")
    row = read(spark, tmp_path / "t").selectExpr("*", "CAST(UTC AS STRING) AS text").collect()[0]
    assert row["text"] == "2024-02-29 06:32:03.000004"  # in Kolkata, where the session lives
    assert len({row["UTC"], row["Europe/Rome"], row["+02:00"]}) == 1


@pytest.mark.parametrize("type_", [pa.decimal256(40, 2), pa.month_day_nano_interval()], ids=str)
def test_a_type_that_spark_does_not_have(type_: pa.DataType) -> None:
    with pytest.raises(InvalidInputError, match=r"Spark has no type for the column s\.x, which is"):
        spark_schema(pa.schema([pa.field("s", pa.struct([("x", type_)]))]))


def test_batches_go_to_spark_and_come_back() -> None:
    table = all_types().drop_columns("blob")
    (batch,) = table.to_batches()
    there = to_spark(batch, arrow_schema(spark_schema(table.schema)))
    assert there.schema.equals(arrow_schema(spark_schema(table.schema)))
    back = to_lance(there, table.schema)
    assert back.schema == table.schema
    # Of moments, microseconds are what Spark keeps; this one has no more.
    assert back.to_pylist() == batch.to_pylist()


OWN = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("v", pa.list_(pa.float32(), 2)),
        pa.field("s", pa.struct([("a", pa.int8()), ("b", pa.string())])),
    ]
)


def test_missing_columns_are_null_and_lists_become_vectors() -> None:
    given = pa.record_batch({"v": [[1.0, 2.0], None], "id": pa.array([1, 2], pa.int64())})
    assert to_lance(given, OWN).to_pylist() == [{"id": 1, "v": [1, 2], "s": None}, {"id": 2, "v": None, "s": None}]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"id": [1], "x": [1]}, "the table has no column 'x' (it has id, v, s)"),
        ({"v": [[1.0, 2.0]]}, "the column 'id' is missing, and must not be null"),
        ({"id": ["1"]}, "the column id is string, but must be int32"),
        ({"id": [1], "v": [["a", "b"]]}, "the column v.element is string, but must be float"),
        ({"id": [1], "v": [1.0]}, "the column v is double, but must be fixed_size_list"),
        ({"id": [1], "s": [{"b": "x", "a": 1}]}, "the fields of s are b, a, but must be a, b"),
        ({"id": [1], "v": [[1.0]]}, "A value does not fit the column v, which is fixed_size_list"),
        ({"id": [2**40]}, "A value does not fit the column id, which is int32"),
        ({"id": [1.5]}, "the column id is double, but must be int32"),
        ({"id": pa.array([None], pa.int32())}, "The column id must not be null, but 1 rows are."),
    ],
)
def test_rows_that_do_not_fit(rows: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TableSchemaValidationError) as refused:
        to_lance(pa.record_batch(rows), OWN)
    assert sentence in str(refused.value)
