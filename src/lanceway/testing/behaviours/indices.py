"""Indices: made, listed, described, dropped."""

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
from lanceway.testing.builders import MISSING_COLUMN, code, rows
from lanceway.testing.sandbox import Id, Sandbox, pages
from lanceway.testing.suite import Suite


def indices(space: Sandbox, id_: Id, limit: int | None = None, **options: Any) -> list[str]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_indices(
            ListTableIndicesRequest(id=id_, page_token=token, limit=limit, **options)
        )

    return [index.index_name for answer in pages(page, limit) for index in answer.indexes]


class IndexTests(Suite):
    """Indices of every kind."""

    @pytest.mark.parametrize("kind", ["BTREE", "BITMAP"])
    def test_a_scalar_index_is_made_and_listed(self, space: Sandbox, kind: str) -> None:
        made = space.table()
        space.index(made, "id", kind, name="by_id")
        (found,) = space.catalog.list_table_indices(ListTableIndicesRequest(id=made)).indexes
        assert (found.index_name, found.columns) == ("by_id", ["id"])
        assert found.index_uuid
        assert found.status
        assert space.ids(made, filter="id = 2") == [2]

    def test_labels_are_indexed(self, space: Sandbox) -> None:
        made = space.table(pa.table({"id": [1, 2], "labels": [["a", "b"], ["b"]]}))
        space.index(made, "labels", "LABEL_LIST", name="by_label")
        assert indices(space, made) == ["by_label"]
        assert space.ids(made, filter="array_has_any(labels, ['a'])") == [1]

    def test_a_text_index_is_made_and_listed(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "name", "FTS", name="by_name")
        assert indices(space, made) == ["by_name"]

    @pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"])
    def test_a_vector_index_is_made_and_described(self, space: Sandbox, kind: str) -> None:
        made = space.table(rows(*range(256)))
        space.index(
            made,
            "vector",
            kind,
            name="by_vector",
            distance_type="cosine",
            num_partitions=1,
            **({"num_sub_vectors": 2} if kind == "IVF_PQ" else {}),
        )
        request = DescribeTableIndexStatsRequest(id=made, index_name="by_vector")
        found = space.catalog.describe_table_index_stats(request)
        assert (found.index_type, found.distance_type) == (kind, "cosine")
        assert (found.num_indexed_rows, found.num_unindexed_rows) == (256, 0)

    def test_an_index_gets_a_name_of_its_own(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "id", "BTREE")
        assert len(indices(space, made)) == 1

    def test_kinds_of_indices_are_named_in_any_case(self, space: Sandbox) -> None:
        made = space.table()
        request = CreateTableIndexRequest(id=made, column="id", index_type="btree", name="by_id")
        space.catalog.create_table_scalar_index(request)
        assert indices(space, made) == ["by_id"]

    def test_statistics_tell_indexed_from_unindexed_rows(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "id", "BTREE", name="by_id")
        space.insert(made, rows(4))
        request = DescribeTableIndexStatsRequest(id=made, index_name="by_id")
        found = space.catalog.describe_table_index_stats(request)
        assert (found.num_indexed_rows, found.num_unindexed_rows) == (3, 1)

    def test_indices_are_listed_in_order_and_in_pages(self, space: Sandbox) -> None:
        made = space.table()
        for name in ("c", "a", "b"):
            space.index(made, "id", "BTREE", name=name)
        assert indices(space, made) == ["a", "b", "c"]
        assert indices(space, made, limit=2) == ["a", "b", "c"]

    def test_indices_are_listed_as_they_were_at_a_version(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "id", "BTREE", name="by_id")
        assert indices(space, made, version=1) == []

    def test_a_dropped_index_is_gone(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "id", "BTREE", name="by_id")
        space.catalog.drop_table_index(DropTableIndexRequest(id=made, index_name="by_id"))
        assert indices(space, made) == []
        assert space.ids(made) == [1, 2, 3]

    def test_dropping_a_missing_index_is_not_found(self, space: Sandbox) -> None:
        made = space.table()
        with code(ErrorCode.TABLE_INDEX_NOT_FOUND):
            space.catalog.drop_table_index(DropTableIndexRequest(id=made, index_name="nothing"))
        assert space.version(made) == 1

    def test_describing_a_missing_index_is_not_found(self, space: Sandbox) -> None:
        request = DescribeTableIndexStatsRequest(id=space.table(), index_name="nothing")
        with code(ErrorCode.TABLE_INDEX_NOT_FOUND):
            space.catalog.describe_table_index_stats(request)

    def test_the_name_of_an_index_is_used_once(self, space: Sandbox) -> None:
        made = space.table()
        space.index(made, "id", "BTREE", name="taken")
        with code(ErrorCode.TABLE_INDEX_ALREADY_EXISTS):
            space.index(made, "name", "BTREE", name="taken")
        (found,) = space.catalog.list_table_indices(ListTableIndicesRequest(id=made)).indexes
        assert found.columns == ["id"]

    @pytest.mark.parametrize("kind", ["BTREE", "FTS", "IVF_FLAT"])
    def test_a_missing_column_cannot_be_indexed(self, space: Sandbox, kind: str) -> None:
        made = space.table()
        with code(*MISSING_COLUMN):
            space.index(made, "nothing", kind)
        assert space.version(made) == 1

    @pytest.mark.parametrize(
        ("column", "kind"), [("name", "IVF_FLAT"), ("id", "FTS"), ("vector", "BTREE"), ("id", "NO_SUCH_KIND")]
    )
    def test_an_index_that_cannot_be_is_refused(self, space: Sandbox, column: str, kind: str) -> None:
        made = space.table()
        with code(ErrorCode.INVALID_INPUT):
            space.index(made, column, kind)
        assert space.version(made) == 1
