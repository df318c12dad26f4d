from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from lanceway.tables.dataset import StoredTable
from lanceway.tables.schema import fields
from tests.tables.table_helpers import SCHEMA

TABLE = StoredTable("things", "/nowhere")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.`b``c`", ("a", "b`c")),
        ("`plain`", ("plain",)),
        ("with space", ("with space",)),
    ],
)
def test_paths_are_parsed(path: str, names: tuple[str, ...]) -> None:
    assert fields.parse(path) == names


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "`a", "a`b", "`a`b", "``", "`a`.`"])
def test_malformed_paths_are_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match="not a valid field path"):
        fields.parse(path)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_formatting_is_reversible(names: list[str]) -> None:
    assert fields.parse(fields.format_(names)) == tuple(names)


def test_fields_are_found_at_any_depth() -> None:
    assert fields.require(TABLE, SCHEMA, "place.`zip.code`", "x").type == pa.string()
    assert fields.find(SCHEMA, "words.item") is not None
    assert fields.find(SCHEMA, "city") is None
    assert fields.find(SCHEMA, "ID") is None


def test_a_missing_field_is_told_with_those_there_are() -> None:
    with pytest.raises(TableColumnNotFoundError, match=r"no column zip.*place\.city, place\.`zip\.code`"):
        fields.require(TABLE, SCHEMA, "zip", "query_table")


def test_a_whole_column_is_asked_for_where_lance_needs_one() -> None:
    assert fields.require_top(TABLE, SCHEMA, "`id`", "x") == "id"
    with pytest.raises(InvalidInputError, match=r"Name place"):
        fields.require_top(TABLE, SCHEMA, "place.city", "x")
