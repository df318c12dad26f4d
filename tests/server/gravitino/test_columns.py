"""Types of Gravitino and types of Arrow: what one becomes the other, and comes back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lanceway.errors import InvalidInputError
from lanceway.server.gravitino import columns
from lanceway.server.gravitino.columns import ColumnCache
from lanceway.tables.schema import arrow_java, arrow_json
from lanceway.wire.gravitino_requests import GravitinoColumn

LIST = {"type": "list", "elementType": "long", "containsNull": False}
STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "double", "nullable": True, "comment": "c"}]}
TYPES: tuple[tuple[Any, pa.DataType], ...] = (
    ("null", pa.null()),
    ("boolean", pa.bool_()),
    ("byte", pa.int8()),
    ("long unsigned", pa.uint64()),
    ("float", pa.float32()),
    ("string", pa.string()),
    ("binary", pa.binary()),
    ("fixed(16)", pa.binary(16)),
    ("date", pa.date32()),
    ("decimal(10,2)", pa.decimal128(10, 2)),
    ("timestamp(6)", pa.timestamp("us")),
    ("timestamp_tz(3)", pa.timestamp("ms", "UTC")),
    ("time(0)", pa.time32("s")),
    ("time(9)", pa.time64("ns")),
    (LIST, pa.list_(pa.field("item", pa.int64(), nullable=False))),
    (STRUCT, pa.struct([pa.field("x", pa.float64(), metadata={"comment": "c"})])),
    (
        {"type": "map", "keyType": "string", "valueType": LIST, "valueContainsNull": True},
        pa.map_(pa.string(), pa.list_(pa.field("item", pa.int64(), nullable=False))),
    ),
)
# Types that Gravitino has no name for.
OTHERS = (
    pa.list_(pa.float32(), 4),
    pa.large_string(),
    pa.large_binary(),
    pa.large_list(pa.int8()),
    pa.float16(),
    pa.date64(),
    pa.duration("ns"),
    pa.timestamp("us", "Europe/Zurich"),
    pa.decimal256(50, 3),
    pa.list_(pa.struct([("a", pa.map_(pa.string(), pa.large_string()))]), 2),
)


@pytest.mark.parametrize(("gravitino", "arrow"), TYPES, ids=lambda value: str(value)[:30])
def test_types_come_back(gravitino: Any, arrow: pa.DataType) -> None:
    assert columns.to_type(gravitino, "a") == arrow
    assert columns.from_type(arrow, "a") == gravitino


@pytest.mark.parametrize("type_", OTHERS, ids=str)
def test_other_types_are_arrow_fields(type_: pa.DataType) -> None:
    written = columns.from_type(type_, "v")
    assert isinstance(written, dict)
    assert written["type"] == "external"
    assert columns.to_type(written, "v") == type_


@pytest.mark.parametrize("type_", [type_ for _, type_ in TYPES], ids=str)
def test_fields_of_java_come_back(type_: pa.DataType) -> None:
    field = pa.field("v", type_, nullable=type_ == pa.null())
    assert arrow_java.parse_field(arrow_java.field(field)).equals(field)


def test_a_whole_schema() -> None:
    wanted = [GravitinoColumn("id", "long", "the key", nullable=False), GravitinoColumn("tags", LIST)]
    schema = columns.to_schema(wanted)
    told = columns.from_schema(arrow_json.schema(schema))
    assert told == [
        {"name": "id", "type": "long", "comment": "the key", "nullable": False, "autoIncrement": False},
        {"name": "tags", "type": LIST, "nullable": True, "autoIncrement": False},
    ]
    assert columns.from_schema(None) == []


def test_a_type_that_is_nested_too_deeply() -> None:
    type_: Any = "long"
    for _ in range(100):
        type_ = {"type": "list", "elementType": type_}
    with pytest.raises(InvalidInputError, match="levels deep"):
        columns.to_type(type_, "a")


def test_a_type_that_lance_has_not_names_another() -> None:
    with pytest.raises(InvalidInputError, match="Use string instead"):
        columns.to_type("varchar(3)", "a")
    with pytest.raises(InvalidInputError, match="boolean, byte"):
        columns.to_type("bigint", "a")


def test_columns_are_kept_by_state() -> None:
    cache, found = ColumnCache(most=2), [{"name": "a"}]
    cache.keep(None, found)
    assert cache.get(None) is None
    for version in range(3):
        cache.keep((1, version, 0), found)
    assert cache.get((1, 0, 0)) is None
    assert cache.get((1, 2, 0)) is found
