"""Arrow schemas as Unity's columns, and back: every type that a table can hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs.unity import columns as unity_columns
from lanceway.tables.schema import arrow_json
from tests.catalogs.unity.unity_helpers import Home, create, describe

ITEM = pa.field("item", pa.float32())
# The type, what Unity calls it, what SQL calls it, and what Spark does.
PLAIN: list[tuple[pa.DataType, str, str, Any]] = [
    (pa.null(), "NULL", "void", "void"),
    (pa.bool_(), "BOOLEAN", "boolean", "boolean"),
    (pa.int8(), "BYTE", "tinyint", "byte"),
    (pa.int16(), "SHORT", "smallint", "short"),
    (pa.int32(), "INT", "int", "integer"),
    (pa.int64(), "LONG", "bigint", "long"),
    (pa.uint8(), "SHORT", "smallint", "short"),
    (pa.uint16(), "INT", "int", "integer"),
    (pa.uint32(), "LONG", "bigint", "long"),
    (pa.uint64(), "DECIMAL", "decimal(20,0)", "decimal(20,0)"),
    (pa.float16(), "FLOAT", "float", "float"),
    (pa.float32(), "FLOAT", "float", "float"),
    (pa.float64(), "DOUBLE", "double", "double"),
    (pa.decimal32(5, 2), "DECIMAL", "decimal(5,2)", "decimal(5,2)"),
    (pa.decimal128(38, 10), "DECIMAL", "decimal(38,10)", "decimal(38,10)"),
    (pa.decimal256(50, 5), "STRING", "string", "string"),
    (pa.decimal128(5, -2), "STRING", "string", "string"),
    (pa.string(), "STRING", "string", "string"),
    (pa.large_string(), "STRING", "string", "string"),
    (pa.string_view(), "STRING", "string", "string"),
    (pa.dictionary(pa.int8(), pa.string()), "STRING", "string", "string"),
    (pa.json_(), "STRING", "string", "string"),
    (pa.binary(), "BINARY", "binary", "binary"),
    (pa.large_binary(), "BINARY", "binary", "binary"),
    (pa.binary(16), "BINARY", "binary", "binary"),
    (pa.uuid(), "BINARY", "binary", "binary"),
    (pa.date32(), "DATE", "date", "date"),
    (pa.date64(), "DATE", "date", "date"),
    (pa.timestamp("us", "UTC"), "TIMESTAMP", "timestamp", "timestamp"),
    (pa.timestamp("ns", "Europe/Berlin"), "TIMESTAMP", "timestamp", "timestamp"),
    (pa.timestamp("us"), "TIMESTAMP_NTZ", "timestamp_ntz", "timestamp_ntz"),
    (pa.time64("us"), "STRING", "string", "string"),
    (pa.duration("us"), "INTERVAL", "interval day to second", "interval day to second"),
    (pa.month_day_nano_interval(), "STRING", "string", "string"),
    (pa.dense_union([pa.field("a", pa.int8())]), "STRING", "string", "string"),
    (pa.run_end_encoded(pa.int32(), pa.string()), "STRING", "string", "string"),
]
FLOATS = {"type": "array", "elementType": "float", "containsNull": True}
NESTED: list[tuple[pa.DataType, str, str, Any]] = [
    (pa.list_(pa.float32()), "ARRAY", "array<float>", FLOATS),
    (pa.large_list(pa.float32()), "ARRAY", "array<float>", FLOATS),
    (pa.list_view(pa.float32()), "ARRAY", "array<float>", FLOATS),
    (pa.list_(pa.float32(), 4), "ARRAY", "array<float>", FLOATS),
    (pa.fixed_shape_tensor(pa.float32(), [2, 2]), "ARRAY", "array<float>", FLOATS),
    (pa.list_(pa.field("item", pa.int64(), nullable=False)), "ARRAY", "array<bigint>",
     {"type": "array", "elementType": "long", "containsNull": False}),
    (pa.map_(pa.string(), pa.int32()), "MAP", "map<string,int>",
     {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}),
    (pa.struct([pa.field("a b", pa.int8(), nullable=False), pa.field("v", pa.list_(pa.float32(), 2))]), "STRUCT",
     "struct<`a b`:tinyint,v:array<float>>",
     {"type": "struct", "fields": [
         {"name": "a b", "type": "byte", "nullable": False, "metadata": {}},
         {"name": "v", "type": FLOATS, "nullable": True, "metadata": {unity_columns.VECTOR_SIZE: 2}},
     ]}),
]  # fmt: skip


def column(field: pa.Field) -> dict[str, Any]:
    (shown,) = unity_columns.to_columns(pa.schema([field]))
    return shown


@pytest.mark.parametrize(("type_", "name", "text", "spark"), [*PLAIN, *NESTED], ids=lambda value: str(value)[:40])
def test_every_type_has_unitys_words_and_comes_back(type_: pa.DataType, name: str, text: str, spark: Any) -> None:
    shown = column(pa.field("c", type_))
    spark_field = json.loads(shown["type_json"])
    assert (shown["type_name"], shown["type_text"], spark_field["type"]) == (name, text, spark)
    assert set(spark_field) == {"name", "type", "nullable", "metadata"}
    back = unity_columns.to_schema([shown])
    assert back is not None
    # The contract's own form of the field, whichever way it came.
    assert back.fields[0].type == arrow_json.data_type(type_)


def test_position_nullability_precision_and_scale_are_told() -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("price", pa.decimal128(9, 2))])
    first, second = unity_columns.to_columns(schema)
    assert (first["position"], first["nullable"], json.loads(first["type_json"])["nullable"]) == (0, False, False)
    assert "type_precision" not in first
    assert (second["position"], second["nullable"]) == (1, True)
    assert (second["type_precision"], second["type_scale"]) == (9, 2)


def test_a_vector_has_the_size_that_spark_looks_for() -> None:
    spark_field = json.loads(column(pa.field("v", pa.list_(pa.float32(), 128)))["type_json"])
    assert spark_field["metadata"] == {"arrow.fixed-size-list.size": 128}


def test_a_blob_is_binary_and_says_so() -> None:
    old = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    new = lance.blob_field("b")
    for field in (old, new):
        assert column(field)["type_name"] == "BINARY"
    assert json.loads(column(old)["type_json"])["metadata"]["lance-encoding:blob"] == "true"
    back = unity_columns.to_schema([column(old), column(new)])
    assert back is not None
    assert back.fields[0].metadata == {"lance-encoding:blob": "true"}
    assert back.fields[1].metadata == {"ARROW:extension:name": "lance.blob.v2", "ARROW:extension:metadata": ""}


def test_metadata_comes_back() -> None:
    field = pa.field("c", pa.uint64(), metadata={"unit": "m", b"raw": b"\xff"})
    back = unity_columns.to_schema([column(field)])
    assert back is not None
    assert back.fields[0].metadata == {"unit": "m", "raw": "\ufffd"}


def test_a_type_that_unity_has_a_word_for_needs_no_note() -> None:
    for type_ in (pa.int64(), pa.string(), pa.list_(pa.float32(), 8), pa.timestamp("us", "UTC"), pa.decimal128(9, 2)):
        assert unity_columns.ARROW not in column(pa.field("c", type_))["type_json"]
    assert unity_columns.ARROW in column(pa.field("c", pa.uint8()))["type_json"]


def test_columns_are_read_by_their_positions() -> None:
    columns = unity_columns.to_columns(pa.schema({"a": pa.int8(), "b": pa.int16()}))
    back = unity_columns.to_schema(columns[::-1])
    assert back is not None
    assert [field.name for field in back.fields] == ["a", "b"]


@pytest.mark.parametrize(
    "type_json",
    [
        None,
        "{{{",
        '{"type":"long"}',
        '"long"',
        '{"name":"c","type":"variant"}',
        '{"name":"c","type":{"type":"array"}}',
        '{"name":"c","type":"long","metadata":{"lanceway.arrow-field":"{"}}',
        '{"name":"c","type":"long","metadata":{"lanceway.arrow-field":"{}"}}',
        '{"name":"c","type":"decimal(99,1)"}',
    ],
)
def test_columns_that_cannot_be_read_give_no_schema(type_json: str | None) -> None:
    good = column(pa.field("a", pa.int8()))
    assert unity_columns.to_schema([good, {"name": "c", "position": 1, "type_json": type_json}]) is None
    assert unity_columns.to_schema([]) is None


@pytest.mark.parametrize("word", ["char(5)", "varchar(9)"])
def test_columns_of_others_are_read(word: str) -> None:
    back = unity_columns.to_schema([{"name": "c", "position": 0, "type_json": json.dumps({"name": "c", "type": word})}])
    assert back is not None
    assert back.fields[0].type.type == "utf8"


def test_the_server_takes_and_gives_back_what_a_table_has(unity: Home, tmp_path: Path) -> None:
    """Through the server's own check of columns, and out again by a plain description, which opens no table."""
    data = pa.table(
        {
            "id": pa.array([1], pa.uint64()),
            "vector": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
            "inner": pa.array([{"a": [1]}], pa.struct({"a": pa.list_(pa.int16())})),
            "when": pa.array([1], pa.timestamp("ns", "Europe/Berlin")),
            "time": pa.array([1], pa.time64("us")),
            "name with blanks": pa.array(["x"], pa.large_string()),
        }
    )
    catalog = unity.connect(tmp_path)
    table = create(catalog, [*unity.schema(), "t"], data)
    stored = unity.stored(table)["columns"]
    assert [row["name"] for row in stored] == data.column_names
    plain, detailed = describe(catalog, table), describe(catalog, table, load_detailed_metadata=True)
    assert (plain.version, plain.stats) == (None, None)
    assert [(field.name, field.type) for field in plain.var_schema.fields] == [
        (field.name, field.type) for field in detailed.var_schema.fields
    ]
