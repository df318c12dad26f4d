from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import (
    CreateTableBranchRequest,
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableSchemaMetadataRequest,
)

from lanceway.errors import InvalidInputError, TableColumnNotFoundError
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.schema import columns
from lanceway.tables.versions import branches


def update(table: StoredTable, *entries: dict[str, Any], **asked: Any) -> UpdateFieldMetadataResponse:
    return columns.update_fields(table, UpdateFieldMetadataRequest.model_validate({"updates": list(entries), **asked}))


def test_the_schemas_metadata_is_replaced(table: StoredTable) -> None:
    first = columns.update_schema(table, UpdateTableSchemaMetadataRequest(metadata={"a": "1", "b": "2"}))
    assert first.metadata == {"a": "1", "b": "2"}
    second = columns.update_schema(table, UpdateTableSchemaMetadataRequest(metadata={"c": "3"}))
    assert second.metadata == {"c": "3"}
    assert open_at(table).schema.metadata == {b"c": b"3"}


def test_fields_are_merged_replaced_and_cleared_in_one_version(table: StoredTable) -> None:
    update(table, {"path": "id", "metadata": {"a": "1", "b": "2"}}, {"path": "name", "metadata": {"x": "1"}})
    told = update(
        table,
        {"path": "id", "metadata": {"a": None, "c": "3"}},
        {"path": "name", "metadata": {"y": "2"}, "replace": True},
        {"path": "place.`zip.code`", "metadata": {"z": "9"}},
    )
    assert told.version == 3
    assert told.fields == {"id": {"b": "2", "c": "3"}, "name": {"y": "2"}, "place.`zip.code`": {"z": "9"}}
    schema = open_at(table).schema
    assert schema.field("id").metadata == {b"b": b"2", b"c": b"3"}
    assert schema.field("name").metadata == {b"y": b"2"}
    assert schema.field("place").type.field("zip.code").metadata == {b"z": b"9"}


def test_the_same_field_twice_is_changed_twice(table: StoredTable) -> None:
    told = update(table, {"path": "id", "metadata": {"a": "1"}}, {"path": "`id`", "metadata": {"b": "2"}})
    assert told.fields == {"id": {"a": "1", "b": "2"}}


def test_a_missing_field_changes_nothing(table: StoredTable) -> None:
    with pytest.raises(TableColumnNotFoundError, match="no column none"):
        update(table, {"path": "id", "metadata": {"a": "1"}}, {"path": "none", "metadata": {}})
    with pytest.raises(InvalidInputError, match="no field"):
        update(table)
    assert open_at(table).version == 1


def test_a_branch_has_its_own_metadata(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    update(table, {"path": "id", "metadata": {"a": "1"}}, branch="side")
    columns.update_schema(table, UpdateTableSchemaMetadataRequest(metadata={"k": "v"}, branch="side"))
    assert open_at(table).schema.metadata is None
    assert open_at(table, branch="side").schema.metadata == {b"k": b"v"}
    assert open_at(table, branch="side").schema.field("id").metadata == {b"a": b"1"}
