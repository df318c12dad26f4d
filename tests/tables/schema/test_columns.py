from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAlterColumnsRequest,
    AlterTableDropColumnsRequest,
    CreateTableBranchRequest,
)

from lanceway.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedOperationError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.schema import columns
from lanceway.tables.versions import branches
from tests.tables import table_helpers as samples


def add(table: StoredTable, *entries: dict[str, Any], **asked: Any) -> int:
    request = AlterTableAddColumnsRequest.model_validate({"new_columns": list(entries), **asked})
    return columns.add(table, request).version


def alter(table: StoredTable, *entries: dict[str, Any], **asked: Any) -> int:
    request = AlterTableAlterColumnsRequest.model_validate({"alterations": list(entries), **asked})
    return columns.alter(table, request).version


def drop(table: StoredTable, *paths: str, **asked: Any) -> int:
    return columns.drop(table, AlterTableDropColumnsRequest(columns=list(paths), **asked)).version


def schema(table: StoredTable, branch: str | None = None) -> pa.Schema:
    return open_at(table, branch=branch).schema


def test_columns_are_added_from_expressions_in_one_version(table: StoredTable) -> None:
    assert add(table, {"name": "twice", "expression": "id * 2"}, {"name": "town", "expression": "place.city"}) == 2
    assert open_at(table).to_table(columns=["twice", "town"], filter="id = 3").to_pylist() == [
        {"twice": 6, "town": "c3"}
    ]


VIRTUAL = {
    "input_columns": ["id"],
    "outputs": [{"column": "v", "struct_field": "v", "data_type": {"type": "int64"}, "nullable": True}],
    "image": "i",
    "udf": "u",
    "udf_name": "n",
    "udf_version": "1",
}


@pytest.mark.parametrize(
    ("entries", "kind", "words"),
    [
        ([{"name": "id", "expression": "1"}], InvalidInputError, "the name is taken"),
        ([{"name": "x", "expression": "1"}, {"name": "x", "expression": "2"}], InvalidInputError, "is taken"),
        ([{"name": "x", "expression": "none + 1"}], TableColumnNotFoundError, "none"),
        ([{"name": "y", "expression": "1"}, {"name": "x", "expression": "none"}], TableColumnNotFoundError, "none"),
        ([{"name": "x", "expression": "1 +"}], InvalidInputError, "not valid"),
        ([{"name": "x"}], InvalidInputError, "needs an SQL expression"),
        ([{"name": "a.b", "expression": "1"}], TableSchemaValidationError, "cannot contain"),
        ([{"name": "x", "computed": "id + 1"}], UnsupportedOperationError, "needs an engine"),
        ([{"name": "x", "virtual_column": VIRTUAL}], UnsupportedOperationError, "needs an engine"),
        ([], InvalidInputError, "no column"),
    ],
    ids=str,
)
def test_a_column_that_cannot_be_added(
    table: StoredTable, entries: list[dict[str, Any]], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        add(table, *entries)
    assert schema(table) == samples.SCHEMA
    assert open_at(table).version == 1


def test_columns_are_renamed_and_retyped_in_one_version(table: StoredTable) -> None:
    renamed = {"path": "place.`zip.code`", "rename": "zip"}
    assert alter(table, {"path": "id", "data_type": {"type": "int32"}}, renamed) == 2
    assert schema(table).field("id").type == pa.int32()
    assert schema(table).field("place").type.field(1).name == "zip"
    assert alter(table, {"path": "id", "rename": "key", "nullable": False}) == 3
    assert not schema(table).field("key").nullable
    assert open_at(table).count_rows("place.zip = '4'") == 1


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ({"path": "none", "rename": "x"}, TableColumnNotFoundError, "no column none"),
        ({"path": "city", "rename": "x"}, TableColumnNotFoundError, "no column city"),
        ({"path": "id", "rename": "name"}, TableSchemaValidationError, "Duplicate field name"),
        ({"path": "id"}, InvalidInputError, "nothing to alter"),
        ({"path": "name", "data_type": {"type": "int32"}}, InvalidInputError, "Cannot cast"),
        ({"path": "id", "data_type": {"type": "integer"}}, InvalidInputError, "not a data type"),
        ({"path": "id", "virtual_column": {"image": "i"}}, UnsupportedOperationError, "needs an engine"),
    ],
    ids=str,
)
def test_a_column_that_cannot_be_altered(
    table: StoredTable, entry: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        alter(table, {"path": "words", "rename": "w"}, entry)
    assert schema(table) == samples.SCHEMA


def test_columns_are_dropped(table: StoredTable) -> None:
    assert drop(table, "words", "place.city") == 2
    assert schema(table).names == ["id", "name", "place", "vector"]
    assert [field.name for field in schema(table).field("place").type] == ["zip.code"]


def test_a_column_that_cannot_be_dropped(table: StoredTable) -> None:
    with pytest.raises(TableColumnNotFoundError, match="no column none"):
        drop(table, "id", "none")
    with pytest.raises(InvalidInputError, match="Cannot drop all columns"):
        drop(table, *samples.SCHEMA.names)
    with pytest.raises(InvalidInputError, match="no column"):
        drop(table)
    assert schema(table) == samples.SCHEMA


def test_a_branch_has_its_own_columns(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    add(table, {"name": "x", "expression": "1"}, branch="side")
    alter(table, {"path": "x", "rename": "y"}, branch="side")
    drop(table, "words", branch="side")
    assert schema(table) == samples.SCHEMA
    assert schema(table, "side").names == ["id", "name", "place", "vector", "y"]
