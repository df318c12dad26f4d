"""A table's rows: created, inserted, counted, merged, updated, deleted."""

from __future__ import annotations

import datetime as dt
from typing import Any

import lance_namespace as ln
import pyarrow as pa
import pytest

from lanceway.errors import ErrorCode
from lanceway.testing.behaviours.namespaces import CREATE, EXIST_OK, OVERWRITE
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.sandbox import MISSING_COLUMN, SCHEMA, Id, Sandbox, code, rows, stream


class CreatedTableTests(Suite):
    """create_table and its modes."""

    def test_a_created_table_has_its_rows(self, space: Sandbox) -> None:
        table = space.id()
        response = space.catalog.create_table(ln.CreateTableRequest(id=table), stream(rows(1, 2)))
        assert response.version == 1
        assert response.location
        assert space.query(table).sort_by("id").equals(rows(1, 2))

    def test_a_table_may_be_created_without_rows(self, space: Sandbox) -> None:
        table = space.table(SCHEMA.empty_table())
        assert space.count(table) == 0
        assert space.query(table).schema.names == ["id", "name", "vector"]
        assert space.describe(table, check_declared=True).is_only_declared is False

    def test_a_table_keeps_every_type_and_null(self, space: Sandbox) -> None:
        data = pa.table(
            {
                "id": pa.array([1, None, 3], pa.int32()),
                "truth": [True, None, False],
                "number": pa.array([0.5, None, -1.5], pa.float64()),
                "bytes": [b"\x00\xff", None, b""],
                "day": pa.array([dt.date(2024, 2, 29), None, None], pa.date32()),
                "moment": pa.array([0, None, 10**15], pa.timestamp("us", "UTC")),
                "list": [["a", None], None, []],
                "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
            }
        )
        assert space.query(space.table(data)).equals(data)

    @CREATE
    def test_creating_a_table_twice_is_a_conflict(self, space: Sandbox, mode: str | None) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.table(rows(9), id=table, mode=mode)
        assert space.ids(table) == [1, 2, 3]

    @EXIST_OK
    def test_an_existing_table_is_kept(self, space: Sandbox, mode: str) -> None:
        table = space.table()
        space.table(rows(9), id=table, mode=mode)
        assert space.ids(table) == [1, 2, 3]
        assert space.version(table) == 1

    @OVERWRITE
    def test_an_overwritten_table_has_the_new_rows_and_schema(self, space: Sandbox, mode: str) -> None:
        table = space.table()
        space.table(rows(9).select(["id"]), id=table, mode=mode)
        assert space.ids(table) == [9]
        assert space.columns(table) == ["id"]

    @pytest.mark.parametrize("mode", ["exist_ok", "overwrite"])
    def test_every_mode_creates_a_table_that_is_missing(self, space: Sandbox, mode: str) -> None:
        assert space.ids(space.table(mode=mode)) == [1, 2, 3]

    @pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
    def test_every_mode_fills_a_declared_table(self, space: Sandbox, mode: str) -> None:
        table = space.declare()
        space.table(id=table, mode=mode)
        assert space.ids(table) == [1, 2, 3]

    @pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
    def test_creating_in_a_missing_namespace_is_not_found(self, space: Sandbox, mode: str) -> None:
        missing = space.id()
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.table(id=space.id(inside=missing), mode=mode)
        assert missing[-1] not in space.tables()
        assert not space.has_namespace(missing)

    @needs("namespaces")
    def test_a_table_is_created_in_its_namespace(self, space: Sandbox) -> None:
        inside = space.namespace()
        table = space.table(id=space.id(inside=inside))
        assert space.ids(table) == [1, 2, 3]


class InsertTests(Suite):
    """insert_into_table."""

    @pytest.mark.parametrize("mode", [None, "Append", "append", "APPEND"])
    def test_inserted_rows_are_added(self, space: Sandbox, mode: str | None) -> None:
        table = space.table()
        response = space.insert(table, rows(4, 5), mode=mode)
        assert response.version == 2
        assert space.ids(table) == [1, 2, 3, 4, 5]

    def test_an_insert_answers_how_many_rows_it_added(self, space: Sandbox) -> None:
        assert space.insert(space.table(), rows(4, 5)).num_inserted_rows == 2

    @OVERWRITE
    def test_an_overwriting_insert_replaces_all_rows(self, space: Sandbox, mode: str) -> None:
        table = space.table()
        space.insert(table, rows(9), mode=mode)
        assert space.ids(table) == [9]
        assert space.count(table, version=1) == 3

    def test_no_rows_may_be_inserted(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, SCHEMA.empty_table())
        assert space.ids(table) == [1, 2, 3]

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(pa.table({"other": [1]}), id="another column"),
            pytest.param(rows(4).append_column("more", pa.array([1])), id="a column too many"),
            pytest.param(rows(4).set_column(0, "id", pa.array(["four"])), id="another type"),
        ],
    )
    def test_data_that_does_not_fit_is_refused(self, space: Sandbox, data: pa.Table) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
            space.insert(table, data)
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)


class CountTests(Suite):
    """count_table_rows and get_table_stats."""

    def test_rows_are_counted(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        assert space.count(table) == 4
        assert space.count(table, predicate="id > 2") == 2
        assert space.count(table, version=1) == 3

    @pytest.mark.parametrize("predicate", ["nothing = 1", "id >*< 1"])
    def test_counting_by_a_bad_predicate_is_refused(self, space: Sandbox, predicate: str) -> None:
        with code(*MISSING_COLUMN):
            space.count(space.table(), predicate=predicate)

    def test_counting_a_missing_version_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.count(space.table(), version=99)

    def test_statistics_tell_rows_bytes_fragments_and_indices(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        space.index(table, "id", "BTREE")
        statistics = space.catalog.get_table_stats(ln.GetTableStatsRequest(id=table))
        assert (statistics.num_rows, statistics.num_indices) == (4, 1)
        assert statistics.total_bytes > 0
        assert statistics.fragment_stats.num_fragments == 2
        assert (statistics.fragment_stats.lengths.min, statistics.fragment_stats.lengths.max) == (1, 3)


def merge(space: Sandbox, id_: Id, data: pa.Table, **options: Any) -> Any:
    options = {"on": ["id"], **options}
    return space.catalog.merge_insert_into_table(ln.MergeInsertIntoTableRequest(id=id_, **options), stream(data))


def update(space: Sandbox, id_: Id, column: str, expression: str, predicate: str | None = None) -> Any:
    request = ln.UpdateTableRequest(id=id_, updates=[[column, expression]], predicate=predicate)
    return space.catalog.update_table(request)


def renamed(*ids: int) -> pa.Table:
    """Return rows with these ids and another name."""
    return rows(*ids).set_column(1, "name", pa.array(["changed"] * len(ids)))


def names(space: Sandbox, id_: Id) -> dict[int, str]:
    result = space.query(id_)
    return dict(zip(result["id"].to_pylist(), result["name"].to_pylist(), strict=True))


class MergeTests(Suite):
    """merge_insert_into_table."""

    def test_matching_rows_are_updated_and_others_inserted(self, space: Sandbox) -> None:
        table = space.table()
        response = merge(space, table, renamed(3, 4), when_matched_update_all=True, when_not_matched_insert_all=True)
        assert (response.num_updated_rows, response.num_inserted_rows) == (1, 1)
        assert names(space, table).items() >= {3: "changed", 4: "changed", 1: "the birch number1"}.items()

    def test_rows_may_only_be_inserted(self, space: Sandbox) -> None:
        table = space.table()
        merge(space, table, renamed(3, 4), when_not_matched_insert_all=True)
        assert names(space, table)[3] != "changed"
        assert space.ids(table) == [1, 2, 3, 4]

    def test_rows_may_only_be_updated(self, space: Sandbox) -> None:
        table = space.table()
        merge(space, table, renamed(3, 4), when_matched_update_all=True)
        assert names(space, table)[3] == "changed"
        assert space.ids(table) == [1, 2, 3]

    def test_an_update_may_have_a_condition(self, space: Sandbox) -> None:
        table = space.table()
        merge(
            space,
            table,
            renamed(1, 2),
            when_matched_update_all=True,
            when_matched_update_all_filt="target.id > 1",
        )
        assert names(space, table)[2] == "changed"
        assert names(space, table)[1] != "changed"

    def test_rows_that_the_data_lacks_may_be_deleted(self, space: Sandbox) -> None:
        table = space.table()
        response = merge(
            space, table, rows(2, 4), when_not_matched_insert_all=True, when_not_matched_by_source_delete=True
        )
        assert response.num_deleted_rows == 2
        assert space.ids(table) == [2, 4]

    def test_a_deletion_may_have_a_condition(self, space: Sandbox) -> None:
        table = space.table()
        merge(
            space,
            table,
            rows(2),
            when_matched_update_all=True,
            when_not_matched_by_source_delete=True,
            when_not_matched_by_source_delete_filt="id > 2",
        )
        assert space.ids(table) == [1, 2]

    def test_a_merge_needs_a_column_that_is_there(self, space: Sandbox) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            merge(space, table, rows(4), on=["nothing"], when_not_matched_insert_all=True)
        assert space.version(table) == 1

    def test_merged_data_must_fit(self, space: Sandbox) -> None:
        table = space.table()
        data = rows(4).append_column("more", pa.array([1]))
        with code(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
            merge(space, table, data, when_not_matched_insert_all=True)
        assert space.version(table) == 1


class UpdateTests(Suite):
    """update_table."""

    def test_rows_that_match_are_updated(self, space: Sandbox) -> None:
        table = space.table()
        response = update(space, table, "name", "'changed'", "id >= 2")
        assert (response.updated_rows, response.version) == (2, 2)
        assert names(space, table) == {1: "the birch number1", 2: "changed", 3: "changed"}

    def test_all_rows_are_updated_without_a_predicate(self, space: Sandbox) -> None:
        table = space.table()
        assert update(space, table, "id", "id + 10").updated_rows == 3
        assert space.ids(table) == [11, 12, 13]

    def test_a_predicate_that_matches_nothing_updates_nothing(self, space: Sandbox) -> None:
        table = space.table()
        assert update(space, table, "id", "id + 10", "id > 99").updated_rows == 0
        assert space.ids(table) == [1, 2, 3]

    @pytest.mark.parametrize(
        ("column", "expression", "predicate"),
        [("nothing", "1", None), ("id", "nothing + 1", None), ("id", "1", "nothing = 1")],
        ids=["column", "expression", "predicate"],
    )
    def test_updating_by_a_missing_column_changes_nothing(
        self, space: Sandbox, column: str, expression: str, predicate: str | None
    ) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            update(space, table, column, expression, predicate)
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)

    def test_an_expression_that_is_no_sql_is_refused(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            update(space, table, "id", "id +* 2")
        assert space.version(table) == 1


class DeleteTests(Suite):
    """delete_from_table."""

    def test_rows_that_match_are_deleted(self, space: Sandbox) -> None:
        table = space.table()
        response = space.catalog.delete_from_table(ln.DeleteFromTableRequest(id=table, predicate="id >= 2"))
        assert response.version == 2
        assert space.ids(table) == [1]

    def test_a_predicate_that_matches_nothing_deletes_nothing(self, space: Sandbox) -> None:
        table = space.table()
        space.catalog.delete_from_table(ln.DeleteFromTableRequest(id=table, predicate="id > 99"))
        assert space.ids(table) == [1, 2, 3]

    @pytest.mark.parametrize("predicate", ["nothing = 1", "id >*< 1", ""])
    def test_a_bad_predicate_deletes_nothing(self, space: Sandbox, predicate: str) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            space.catalog.delete_from_table(ln.DeleteFromTableRequest(id=table, predicate=predicate))
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)
