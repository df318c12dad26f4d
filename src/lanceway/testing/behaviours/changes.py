"""Rows that change: merged, updated, deleted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import DeleteFromTableRequest, MergeInsertIntoTableRequest, UpdateTableRequest

from lanceway.errors import ErrorCode
from lanceway.testing.builders import MISSING_COLUMN, code, rows, stream
from lanceway.testing.sandbox import Id, Space
from lanceway.testing.suite import Suite


def merge(space: Space, id_: Id, data: pa.Table, **options: Any) -> Any:
    options = {"on": ["id"], **options}
    return space.catalog.merge_insert_into_table(MergeInsertIntoTableRequest(id=id_, **options), stream(data))


def update(space: Space, id_: Id, column: str, expression: str, predicate: str | None = None) -> Any:
    request = UpdateTableRequest(id=id_, updates=[[column, expression]], predicate=predicate)
    return space.catalog.update_table(request)


def renamed(*ids: int) -> pa.Table:
    """Rows with these ids and another name."""
    return rows(*ids).set_column(1, "name", pa.array(["changed"] * len(ids)))


def names(space: Space, id_: Id) -> dict[int, str]:
    found = space.query(id_)
    return dict(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


class MergeTests(Suite):
    """merge_insert_into_table."""

    def test_matching_rows_are_updated_and_others_inserted(self, space: Space) -> None:
        made = space.table()
        answer = merge(space, made, renamed(3, 4), when_matched_update_all=True, when_not_matched_insert_all=True)
        assert (answer.num_updated_rows, answer.num_inserted_rows) == (1, 1)
        assert names(space, made).items() >= {3: "changed", 4: "changed", 1: "the birch number1"}.items()

    def test_rows_may_only_be_inserted(self, space: Space) -> None:
        made = space.table()
        merge(space, made, renamed(3, 4), when_not_matched_insert_all=True)
        assert names(space, made)[3] != "changed"
        assert space.ids(made) == [1, 2, 3, 4]

    def test_rows_may_only_be_updated(self, space: Space) -> None:
        made = space.table()
        merge(space, made, renamed(3, 4), when_matched_update_all=True)
        assert names(space, made)[3] == "changed"
        assert space.ids(made) == [1, 2, 3]

    def test_an_update_may_have_a_condition(self, space: Space) -> None:
        made = space.table()
        merge(
            space,
            made,
            renamed(1, 2),
            when_matched_update_all=True,
            when_matched_update_all_filt="target.id > 1",
        )
        assert names(space, made)[2] == "changed"
        assert names(space, made)[1] != "changed"

    def test_rows_that_the_data_lacks_may_be_deleted(self, space: Space) -> None:
        made = space.table()
        answer = merge(
            space, made, rows(2, 4), when_not_matched_insert_all=True, when_not_matched_by_source_delete=True
        )
        assert answer.num_deleted_rows == 2
        assert space.ids(made) == [2, 4]

    def test_a_deletion_may_have_a_condition(self, space: Space) -> None:
        made = space.table()
        merge(
            space,
            made,
            rows(2),
            when_matched_update_all=True,
            when_not_matched_by_source_delete=True,
            when_not_matched_by_source_delete_filt="id > 2",
        )
        assert space.ids(made) == [1, 2]

    def test_a_merge_needs_a_column_that_is_there(self, space: Space) -> None:
        made = space.table()
        with code(*MISSING_COLUMN):
            merge(space, made, rows(4), on=["nothing"], when_not_matched_insert_all=True)
        assert space.version(made) == 1

    def test_merged_data_must_fit(self, space: Space) -> None:
        made = space.table()
        data = rows(4).append_column("more", pa.array([1]))
        with code(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
            merge(space, made, data, when_not_matched_insert_all=True)
        assert space.version(made) == 1


class UpdateTests(Suite):
    """update_table."""

    def test_rows_that_match_are_updated(self, space: Space) -> None:
        made = space.table()
        answer = update(space, made, "name", "'changed'", "id >= 2")
        assert (answer.updated_rows, answer.version) == (2, 2)
        assert names(space, made) == {1: "the birch number1", 2: "changed", 3: "changed"}

    def test_all_rows_are_updated_without_a_predicate(self, space: Space) -> None:
        made = space.table()
        assert update(space, made, "id", "id + 10").updated_rows == 3
        assert space.ids(made) == [11, 12, 13]

    def test_a_predicate_that_matches_nothing_updates_nothing(self, space: Space) -> None:
        made = space.table()
        assert update(space, made, "id", "id + 10", "id > 99").updated_rows == 0
        assert space.ids(made) == [1, 2, 3]

    @pytest.mark.parametrize(
        ("column", "expression", "predicate"),
        [("nothing", "1", None), ("id", "nothing + 1", None), ("id", "1", "nothing = 1")],
        ids=["column", "expression", "predicate"],
    )
    def test_updating_by_a_missing_column_changes_nothing(
        self, space: Space, column: str, expression: str, predicate: str | None
    ) -> None:
        made = space.table()
        with code(*MISSING_COLUMN):
            update(space, made, column, expression, predicate)
        assert (space.ids(made), space.version(made)) == ([1, 2, 3], 1)

    def test_an_expression_that_is_no_sql_is_refused(self, space: Space) -> None:
        made = space.table()
        with code(ErrorCode.INVALID_INPUT):
            update(space, made, "id", "id +* 2")
        assert space.version(made) == 1


class DeleteTests(Suite):
    """delete_from_table."""

    def test_rows_that_match_are_deleted(self, space: Space) -> None:
        made = space.table()
        answer = space.catalog.delete_from_table(DeleteFromTableRequest(id=made, predicate="id >= 2"))
        assert answer.version == 2
        assert space.ids(made) == [1]

    def test_a_predicate_that_matches_nothing_deletes_nothing(self, space: Space) -> None:
        made = space.table()
        space.catalog.delete_from_table(DeleteFromTableRequest(id=made, predicate="id > 99"))
        assert space.ids(made) == [1, 2, 3]

    @pytest.mark.parametrize("predicate", ["nothing = 1", "id >*< 1", ""])
    def test_a_bad_predicate_deletes_nothing(self, space: Space, predicate: str) -> None:
        made = space.table()
        with code(*MISSING_COLUMN):
            space.catalog.delete_from_table(DeleteFromTableRequest(id=made, predicate=predicate))
        assert (space.ids(made), space.version(made)) == ([1, 2, 3], 1)
