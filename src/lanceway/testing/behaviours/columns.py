"""Columns and metadata: added, altered, dropped, annotated."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import (
    AlterTableAlterColumnsRequest,
    AlterTableDropColumnsRequest,
    UpdateFieldMetadataRequest,
    UpdateTableSchemaMetadataRequest,
)
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry
from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import MISSING_COLUMN, Id, Sandbox, code


def alter(space: Sandbox, id_: Id, path: str, **change: Any) -> Any:
    entry = AlterColumnsEntry(path=path, **change)
    return space.catalog.alter_table_alter_columns(AlterTableAlterColumnsRequest(id=id_, alterations=[entry]))


def drop(space: Sandbox, id_: Id, *names: str) -> Any:
    return space.catalog.alter_table_drop_columns(AlterTableDropColumnsRequest(id=id_, columns=list(names)))


def annotate(space: Sandbox, id_: Id, path: str, metadata: dict[str, str | None], **options: Any) -> Any:
    entry = UpdateFieldMetadataEntry(path=path, metadata=metadata, **options)
    return space.catalog.update_field_metadata(UpdateFieldMetadataRequest(id=id_, updates=[entry]))


class ColumnTests(Suite):
    """alter_table_add_columns, alter_table_alter_columns, alter_table_drop_columns."""

    def test_a_column_is_added_by_an_expression(self, space: Sandbox) -> None:
        table = space.table()
        assert space.add_column(table, "twice", "id * 2").version == 2
        assert sorted(space.query(table)["twice"].to_pylist()) == [2, 4, 6]

    @pytest.mark.parametrize("expression", ["nothing + 1", "id +* 2"])
    def test_a_bad_expression_adds_nothing(self, space: Sandbox, expression: str) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            space.add_column(table, "more", expression)
        assert space.version(table) == 1

    def test_a_column_that_is_there_cannot_be_added(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT, ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
            space.add_column(table, "name", "id")
        assert space.version(table) == 1

    def test_a_column_is_renamed(self, space: Sandbox) -> None:
        table = space.table()
        assert alter(space, table, "name", rename="title").version == 2
        assert space.columns(table) == ["id", "title", "vector"]
        assert space.query(table)["title"].to_pylist()[0] == "the birch number1"

    def test_a_column_changes_its_type(self, space: Sandbox) -> None:
        table = space.table()
        alter(space, table, "id", data_type={"type": "int32"})
        result = space.query(table)
        assert str(result.schema.field("id").type) == "int32"
        assert result["id"].to_pylist() == [1, 2, 3]

    def test_altering_a_missing_column_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_COLUMN_NOT_FOUND):
            alter(space, table, "nothing", rename="something")
        assert space.version(table) == 1

    def test_a_column_cannot_take_the_name_of_another(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT, ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
            alter(space, table, "name", rename="id")
        assert space.columns(table) == ["id", "name", "vector"]

    def test_columns_are_dropped(self, space: Sandbox) -> None:
        table = space.table()
        assert drop(space, table, "name", "vector").version == 2
        assert space.columns(table) == ["id"]
        assert space.ids(table) == [1, 2, 3]

    def test_dropping_a_missing_column_drops_none(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_COLUMN_NOT_FOUND):
            drop(space, table, "name", "nothing")
        assert space.columns(table) == ["id", "name", "vector"]

    def test_the_last_column_cannot_be_dropped(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            drop(space, table, "id", "name", "vector")
        assert space.columns(table) == ["id", "name", "vector"]


class MetadataTests(Suite):
    """update_table_schema_metadata and update_field_metadata."""

    def test_metadata_of_the_schema_is_answered(self, space: Sandbox) -> None:
        request = UpdateTableSchemaMetadataRequest(id=space.table(), metadata={"team": "red", "note": ""})
        metadata = space.catalog.update_table_schema_metadata(request).metadata or {}
        assert metadata.items() >= {"team": "red", "note": ""}.items()

    @needs("storage_access")
    def test_metadata_of_the_schema_is_kept_with_the_table(self, space: Sandbox, raw: Raw) -> None:
        table = space.table()
        request = UpdateTableSchemaMetadataRequest(id=table, metadata={"team": "red"})
        space.catalog.update_table_schema_metadata(request)
        assert (raw.place(table).open().schema.metadata or {})[b"team"] == b"red"

    @needs("update_field_metadata")
    def test_metadata_of_a_field_is_answered_and_described(self, space: Sandbox) -> None:
        table = space.table()
        response = annotate(space, table, "name", {"unit": "words"})
        assert response.version == 2
        assert response.fields == {"name": {"unit": "words"}}
        schema = space.describe(table, load_detailed_metadata=True).var_schema
        assert schema is not None
        assert schema.fields[1].metadata == {"unit": "words"}

    @needs("update_field_metadata")
    def test_metadata_of_a_field_is_merged_unless_replaced(self, space: Sandbox) -> None:
        table = space.table()
        annotate(space, table, "name", {"a": "1", "b": "2"})
        merged = annotate(space, table, "name", {"b": None, "c": "3"})
        assert merged.fields == {"name": {"a": "1", "c": "3"}}
        replaced = annotate(space, table, "name", {"d": "4"}, replace=True)
        assert replaced.fields == {"name": {"d": "4"}}

    @needs("update_field_metadata")
    def test_metadata_of_a_missing_field_is_refused(self, space: Sandbox) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            annotate(space, table, "nothing", {"a": "1"})
        assert space.version(table) == 1
