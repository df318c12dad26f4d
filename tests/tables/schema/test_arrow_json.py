from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace_urllib3_client.models.json_arrow_data_type import JsonArrowDataType

from lanceway.errors import InvalidInputError
from lanceway.tables.schema import arrow_json

TYPES = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.binary(5),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("us"),
    pa.timestamp("us"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("ns", "+05:30"),
    pa.duration("ns"),
    pa.decimal128(10, 2),
    pa.decimal256(40, 3),
    pa.list_(pa.int32()),
    pa.large_list(pa.field("element", pa.string(), nullable=False)),
    pa.list_(pa.float32(), 4),
    pa.struct([pa.field("x", pa.int64(), nullable=False, metadata={"k": "v"}), ("y", pa.list_(pa.string()))]),
    pa.map_(pa.string(), pa.int64()),
    pa.dictionary(pa.int8(), pa.string()),
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_type_survives_json(type_: pa.DataType) -> None:
    assert arrow_json.parse_type(JsonArrowDataType.from_json(arrow_json.data_type(type_).to_json())) == type_


@pytest.mark.parametrize(
    ("type_", "name"),
    [(pa.string(), "utf8"), (pa.float32(), "float32"), (pa.bool_(), "bool"), (pa.timestamp("us"), "timestamp:us")],
)
def test_names_are_those_of_pylance_where_it_keeps_everything(type_: pa.DataType, name: str) -> None:
    assert arrow_json.data_type(type_).type == name


@pytest.mark.parametrize(
    ("name", "type_"),
    [("string", pa.string()), ("FLOAT", pa.float32()), ("double", pa.float64()), ("timestamp", pa.timestamp("us"))],
)
def test_other_names_are_understood(name: str, type_: pa.DataType) -> None:
    assert arrow_json.parse_type({"type": name}) == type_


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "integer"},
        {"type": 4},
        {"type": "list"},
        {"type": "list", "fields": []},
        {"type": "fixed_size_list", "fields": [{"name": "item", "type": {"type": "float32"}}]},
        {"type": "timestamp:fortnight"},
        {"type": "decimal128"},
        {"type": "decimal128", "length": 99000},
        {"type": "struct", "fields": [{"type": {"type": "int8"}}]},
    ],
    ids=str,
)
def test_what_is_no_type_is_bad_input(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="is not a data type"):
        arrow_json.parse_type(value)


def test_a_schema_keeps_names_and_metadata() -> None:
    field = pa.field("a", pa.int64(), nullable=False, metadata={"unit": "m"})
    told = arrow_json.schema(pa.schema([field], metadata={"owner": "me"}))
    assert told.metadata == {"owner": "me"}
    assert (told.fields[0].name, told.fields[0].nullable, told.fields[0].metadata) == ("a", False, {"unit": "m"})
