"""Background jobs: recorded, and known by their ids. What a worker does with them is not part of the contract."""

from __future__ import annotations

from typing import Any

from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableBackfillColumnsRequest,
    RefreshMaterializedViewRequest,
)
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.sandbox import MISSING_COLUMN, Id, Sandbox, code


def backfill(space: Sandbox, id_: Id, column: str, **fields: Any) -> Any:
    request = AlterTableBackfillColumnsRequest(id=id_, column=column, **fields)
    return space.catalog.alter_table_backfill_columns(request)


def computed(space: Sandbox, id_: Id, name: str, expression: str) -> Any:
    entry = AddColumnsEntry(name=name, computed=expression)
    return space.catalog.alter_table_add_columns(AlterTableAddColumnsRequest(id=id_, new_columns=[entry]))


class BackgroundTests(Suite):
    """alter_table_backfill_columns, refresh_materialized_view, and the columns that a backfill fills."""

    @needs("alter_table_backfill_columns")
    def test_a_computed_column_is_empty_and_its_backfill_has_an_id(self, space: Sandbox) -> None:
        table = space.table()
        assert computed(space, table, "twice", "id * 2").version == 2
        result = space.query(table)
        assert (str(result.schema.field("twice").type), result["twice"].to_pylist()) == ("int64", [None] * 3)
        assert backfill(space, table, "twice", where="id > 1").job_id

    @needs("alter_table_backfill_columns")
    def test_a_computed_column_that_cannot_be_adds_nothing(self, space: Sandbox) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            computed(space, table, "more", "nothing * 2")
        assert space.version(table) == 1

    @needs("alter_table_backfill_columns")
    def test_a_backfill_of_a_column_that_nothing_computes_is_refused(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            backfill(space, table, "name")
        with code(*MISSING_COLUMN):
            backfill(space, table, "nothing")

    @needs("alter_table_backfill_columns")
    def test_a_backfill_of_a_missing_table_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            backfill(space, space.id("missing"), "x")

    @needs("refresh_materialized_view")
    def test_a_refresh_of_a_plain_table_is_refused(self, space: Sandbox) -> None:
        with code(ErrorCode.INVALID_TABLE_STATE, ErrorCode.INVALID_INPUT):
            space.catalog.refresh_materialized_view(RefreshMaterializedViewRequest(id=space.table()))
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.refresh_materialized_view(RefreshMaterializedViewRequest(id=space.id("missing")))
