"""Indices: created, listed, described, dropped."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    CreateTableIndexRequest,
    DescribeTableIndexStatsRequest,
    DropTableIndexRequest,
    ListTableIndicesRequest,
)

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite
from lanceway.testing.sandbox import MISSING_COLUMN, Id, Sandbox, code, pages, rows


def indices(space: Sandbox, id_: Id, limit: int | None = None, **options: Any) -> list[str]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_indices(
            ListTableIndicesRequest(id=id_, page_token=token, limit=limit, **options)
        )

    return [index.index_name for response in pages(page, limit) for index in response.indexes]


class IndexTests(Suite):
    """Indices of every kind."""

    @pytest.mark.parametrize("kind", ["BTREE", "BITMAP"])
    def test_a_scalar_index_is_made_and_listed(self, space: Sandbox, kind: str) -> None:
        table = space.table()
        space.index(table, "id", kind, name="by_id")
        (index,) = space.catalog.list_table_indices(ListTableIndicesRequest(id=table)).indexes
        assert (index.index_name, index.columns) == ("by_id", ["id"])
        assert index.index_uuid
        assert index.status
        assert space.ids(table, filter="id = 2") == [2]

    def test_labels_are_indexed(self, space: Sandbox) -> None:
        table = space.table(pa.table({"id": [1, 2], "labels": [["a", "b"], ["b"]]}))
        space.index(table, "labels", "LABEL_LIST", name="by_label")
        assert indices(space, table) == ["by_label"]
        assert space.ids(table, filter="array_has_any(labels, ['a'])") == [1]

    def test_a_text_index_is_made_and_listed(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "name", "FTS", name="by_name")
        assert indices(space, table) == ["by_name"]

    @pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"])
    def test_a_vector_index_is_made_and_described(self, space: Sandbox, kind: str) -> None:
        table = space.table(rows(*range(256)))
        space.index(
            table,
            "vector",
            kind,
            name="by_vector",
            distance_type="cosine",
            num_partitions=1,
            **({"num_sub_vectors": 2} if kind == "IVF_PQ" else {}),
        )
        request = DescribeTableIndexStatsRequest(id=table, index_name="by_vector")
        statistics = space.catalog.describe_table_index_stats(request)
        assert (statistics.index_type, statistics.distance_type) == (kind, "cosine")
        assert (statistics.num_indexed_rows, statistics.num_unindexed_rows) == (256, 0)

    def test_an_index_gets_a_name_of_its_own(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "id", "BTREE")
        assert len(indices(space, table)) == 1

    def test_kinds_of_indices_are_named_in_any_case(self, space: Sandbox) -> None:
        table = space.table()
        request = CreateTableIndexRequest(id=table, column="id", index_type="btree", name="by_id")
        space.catalog.create_table_scalar_index(request)
        assert indices(space, table) == ["by_id"]

    def test_statistics_tell_indexed_from_unindexed_rows(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "id", "BTREE", name="by_id")
        space.insert(table, rows(4))
        request = DescribeTableIndexStatsRequest(id=table, index_name="by_id")
        statistics = space.catalog.describe_table_index_stats(request)
        assert (statistics.num_indexed_rows, statistics.num_unindexed_rows) == (3, 1)

    def test_indices_are_listed_in_order_and_in_pages(self, space: Sandbox) -> None:
        table = space.table()
        for name in ("c", "a", "b"):
            space.index(table, "id", "BTREE", name=name)
        assert indices(space, table) == ["a", "b", "c"]
        assert indices(space, table, limit=2) == ["a", "b", "c"]

    def test_indices_are_listed_as_they_were_at_a_version(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "id", "BTREE", name="by_id")
        assert indices(space, table, version=1) == []

    def test_a_dropped_index_is_gone(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "id", "BTREE", name="by_id")
        space.catalog.drop_table_index(DropTableIndexRequest(id=table, index_name="by_id"))
        assert indices(space, table) == []
        assert space.ids(table) == [1, 2, 3]

    def test_dropping_a_missing_index_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_INDEX_NOT_FOUND):
            space.catalog.drop_table_index(DropTableIndexRequest(id=table, index_name="nothing"))
        assert space.version(table) == 1

    def test_describing_a_missing_index_is_not_found(self, space: Sandbox) -> None:
        request = DescribeTableIndexStatsRequest(id=space.table(), index_name="nothing")
        with code(ErrorCode.TABLE_INDEX_NOT_FOUND):
            space.catalog.describe_table_index_stats(request)

    def test_the_name_of_an_index_is_used_once(self, space: Sandbox) -> None:
        table = space.table()
        space.index(table, "id", "BTREE", name="taken")
        with code(ErrorCode.TABLE_INDEX_ALREADY_EXISTS):
            space.index(table, "name", "BTREE", name="taken")
        (index,) = space.catalog.list_table_indices(ListTableIndicesRequest(id=table)).indexes
        assert index.columns == ["id"]

    @pytest.mark.parametrize("kind", ["BTREE", "FTS", "IVF_FLAT"])
    def test_a_missing_column_cannot_be_indexed(self, space: Sandbox, kind: str) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            space.index(table, "nothing", kind)
        assert space.version(table) == 1

    @pytest.mark.parametrize(
        ("column", "kind"), [("name", "IVF_FLAT"), ("id", "FTS"), ("vector", "BTREE"), ("id", "NO_SUCH_KIND")]
    )
    def test_an_index_that_cannot_be_is_refused(self, space: Sandbox, column: str, kind: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            space.index(table, column, kind)
        assert space.version(table) == 1
