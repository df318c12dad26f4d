"""query_table in all its kinds, and the plans behind it."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import AnalyzeTableQueryPlanRequest, ExplainTableQueryPlanRequest
from lance_namespace_urllib3_client.models.boolean_query import BooleanQuery
from lance_namespace_urllib3_client.models.fts_query import FtsQuery
from lance_namespace_urllib3_client.models.match_query import MatchQuery
from lance_namespace_urllib3_client.models.phrase_query import PhraseQuery
from lance_namespace_urllib3_client.models.query_table_request_columns import QueryTableRequestColumns
from lance_namespace_urllib3_client.models.query_table_request_full_text_query import QueryTableRequestFullTextQuery
from lance_namespace_urllib3_client.models.query_table_request_vector import QueryTableRequestVector
from lance_namespace_urllib3_client.models.string_fts_query import StringFtsQuery
from lance_namespace_urllib3_client.models.structured_fts_query import StructuredFtsQuery

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite
from lanceway.testing.sandbox import MISSING_COLUMN, Id, Sandbox, code, query, rows, vector

THIRTY = range(30)


def thirty(space: Sandbox) -> Id:
    return space.table(rows(*THIRTY))


def searchable(space: Sandbox) -> Id:
    """Create a table of thirty rows with a full text index; the words repeat every eight rows."""
    table = thirty(space)
    space.index(table, "name", "FTS", with_position=True, remove_stop_words=False)
    return table


def text(words: str) -> QueryTableRequestFullTextQuery:
    return QueryTableRequestFullTextQuery(string_query=StringFtsQuery(query=words))


def structured(**kind: Any) -> QueryTableRequestFullTextQuery:
    return QueryTableRequestFullTextQuery(structured_query=StructuredFtsQuery(query=FtsQuery(**kind)))


def columns(*names: str) -> QueryTableRequestColumns:
    return QueryTableRequestColumns(column_names=list(names))


class ScanTests(Suite):
    """Filter, projection, offset and limit."""

    def test_a_filter_chooses_rows(self, space: Sandbox) -> None:
        assert space.ids(thirty(space), filter="id >= 10 AND id < 13") == [10, 11, 12]

    def test_an_answer_without_rows_has_its_columns(self, space: Sandbox) -> None:
        result = space.query(thirty(space), filter="id > 99")
        assert (result.num_rows, result.schema.names) == (0, ["id", "name", "vector"])

    def test_columns_may_be_chosen(self, space: Sandbox) -> None:
        result = space.query(space.table(), columns=columns("name", "id"))
        assert result.schema.names == ["name", "id"]

    def test_columns_may_have_aliases(self, space: Sandbox) -> None:
        aliases = QueryTableRequestColumns(column_aliases={"number": "id"})
        result = space.query(space.table(), columns=aliases)
        assert result.schema.names == ["number"]
        assert sorted(result["number"].to_pylist()) == [1, 2, 3]

    def test_k_limits_the_rows(self, space: Sandbox) -> None:
        assert space.ids_in_order(thirty(space), k=4) == [0, 1, 2, 3]

    def test_an_offset_skips_rows(self, space: Sandbox) -> None:
        table = thirty(space)
        assert space.ids_in_order(table, k=3, offset=10) == [10, 11, 12]
        assert space.ids_in_order(table, k=3, offset=2, filter="id > 20") == [23, 24, 25]

    def test_row_ids_are_given_when_asked_for(self, space: Sandbox) -> None:
        table = space.table()
        assert len(set(space.query(table, with_row_id=True)["_rowid"].to_pylist())) == 3
        assert "_rowid" not in space.query(table).schema.names

    def test_an_older_version_is_queried(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        assert space.ids(table, version=1) == [1, 2, 3]

    def test_querying_a_missing_version_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.query(space.table(), version=99)

    def test_a_missing_column_in_a_projection_is_refused(self, space: Sandbox) -> None:
        with code(*MISSING_COLUMN):
            space.query(space.table(), columns=columns("nothing"))

    @pytest.mark.parametrize("bad", ["nothing = 1", "id >*< 1"])
    def test_a_bad_filter_is_refused(self, space: Sandbox, bad: str) -> None:
        with code(*MISSING_COLUMN):
            space.query(space.table(), filter=bad)


class VectorQueryTests(Suite):
    """Nearest neighbours."""

    def test_the_nearest_rows_come_first(self, space: Sandbox) -> None:
        result = space.query(thirty(space), near=vector(12), k=3, vector_column="vector")
        assert result["id"].to_pylist()[0] == 12
        assert set(result["id"].to_pylist()) == {11, 12, 13}
        distances = result["_distance"].to_pylist()
        assert distances == sorted(distances)
        assert distances[0] == pytest.approx(0.0)

    def test_the_column_named_vector_is_searched_unless_another_is_named(self, space: Sandbox) -> None:
        assert space.ids_in_order(thirty(space), near=vector(5), k=1) == [5]

    @pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
    def test_the_distance_may_be_chosen(self, space: Sandbox, metric: str) -> None:
        table = thirty(space)
        result = space.query(table, near=vector(12), k=30, distance_type=metric)
        nearest = result["id"].to_pylist()[0]
        assert nearest == (29 if metric == "dot" else nearest)
        assert result["_distance"].to_pylist() == sorted(result["_distance"].to_pylist())
        assert metric != "l2" or nearest == 12

    def test_a_filter_before_the_search_leaves_k_rows(self, space: Sandbox) -> None:
        ids = space.ids_in_order(thirty(space), near=vector(12), k=3, filter="id >= 20", prefilter=True)
        assert ids == [20, 21, 22]

    def test_a_filter_after_the_search_leaves_fewer(self, space: Sandbox) -> None:
        ids = space.ids_in_order(thirty(space), near=vector(12), k=3, filter="id >= 13", prefilter=False)
        assert ids == [13]

    def test_bounds_limit_the_distance(self, space: Sandbox) -> None:
        ids = space.ids_in_order(thirty(space), near=vector(12), k=30, upper_bound=4.5)
        assert set(ids) == {10, 11, 12, 13, 14}
        far = space.ids_in_order(thirty(space), near=vector(12), k=30, lower_bound=4.5)
        assert not {11, 12, 13} & set(far)

    def test_an_offset_skips_the_nearest(self, space: Sandbox) -> None:
        assert 12 not in space.ids_in_order(thirty(space), near=vector(12), k=2, offset=1)

    def test_several_vectors_are_searched_at_once(self, space: Sandbox) -> None:
        both = QueryTableRequestVector(multi_vector=[vector(3), vector(20)])
        result = space.query(thirty(space), vector=both, k=2)
        assert {3, 20} <= set(result["id"].to_pylist())

    def test_columns_may_be_chosen_in_a_search(self, space: Sandbox) -> None:
        result = space.query(thirty(space), near=vector(12), k=1, columns=columns("name"))
        assert set(result.schema.names) == {"name", "_distance"}

    def test_an_index_is_searched_with_probes_and_refinement(self, space: Sandbox) -> None:
        table = space.table(rows(*range(256)))
        space.index(table, "vector", "IVF_FLAT", num_partitions=4, distance_type="l2")
        assert space.ids_in_order(table, near=vector(120), k=1, nprobes=4, refine_factor=2) == [120]
        assert space.ids_in_order(table, near=vector(120), k=1, bypass_vector_index=True) == [120]
        assert space.ids_in_order(table, near=vector(120), k=1, minimum_nprobes=1, maximum_nprobes=4) == [120]

    def test_a_fast_search_sees_indexed_rows_alone(self, space: Sandbox) -> None:
        table = space.table(rows(*range(256)))
        space.index(table, "vector", "IVF_FLAT", num_partitions=1, distance_type="l2")
        space.insert(table, rows(1000))
        assert space.ids_in_order(table, near=vector(1000), k=1) == [1000]
        assert space.ids_in_order(table, near=vector(1000), k=1, fast_search=True) == [255]

    @pytest.mark.parametrize(
        ("column", "near"),
        [("nothing", vector(1)), ("name", vector(1)), ("vector", [1.0, 2.0])],
        ids=["missing column", "no vector column", "wrong size"],
    )
    def test_a_search_that_cannot_be_is_refused(self, space: Sandbox, column: str, near: list[float]) -> None:
        with code(*MISSING_COLUMN):
            space.query(space.table(), near=near, vector_column=column)

    def test_an_unknown_distance_is_refused(self, space: Sandbox) -> None:
        with code(ErrorCode.INVALID_INPUT):
            space.query(space.table(), near=vector(1), distance_type="miles")


class TextQueryTests(Suite):
    """Full text and hybrid search."""

    def test_words_are_found(self, space: Sandbox) -> None:
        assert space.ids(searchable(space), full_text_query=text("cedar")) == [2, 10, 18, 26]

    def test_any_of_several_words_is_found(self, space: Sandbox) -> None:
        assert space.ids(searchable(space), full_text_query=text("number3 number4")) == [3, 4]

    def test_a_column_may_be_named(self, space: Sandbox) -> None:
        named = QueryTableRequestFullTextQuery(string_query=StringFtsQuery(query="number7", columns=["name"]))
        assert space.ids(searchable(space), full_text_query=named) == [7]

    def test_all_of_several_words_may_be_required(self, space: Sandbox) -> None:
        match = MatchQuery(terms="cedar number10", operator="And", column="name")
        assert space.ids(searchable(space), full_text_query=structured(match=match)) == [10]

    def test_a_phrase_is_found_in_its_order(self, space: Sandbox) -> None:
        table = searchable(space)
        right = structured(phrase=PhraseQuery(terms="cedar number10", column="name"))
        wrong = structured(phrase=PhraseQuery(terms="number10 cedar", column="name"))
        assert space.ids(table, full_text_query=right) == [10]
        assert space.ids(table, full_text_query=wrong) == []

    def test_words_may_be_ruled_out(self, space: Sandbox) -> None:
        def one(terms: str) -> FtsQuery:
            return FtsQuery(match=MatchQuery(terms=terms, column="name"))

        query = BooleanQuery(must=[one("cedar")], must_not=[one("number10")], should=[])
        assert space.ids(searchable(space), full_text_query=structured(boolean=query)) == [2, 18, 26]

    def test_a_text_search_may_have_a_filter(self, space: Sandbox) -> None:
        ids = space.ids(searchable(space), full_text_query=text("cedar"), filter="id > 10", prefilter=True)
        assert ids == [18, 26]

    def test_text_and_vector_are_searched_together(self, space: Sandbox) -> None:
        ids = space.ids_in_order(searchable(space), full_text_query=text("cedar"), near=vector(18), k=2)
        assert 18 in ids
        assert len(ids) == 2

    def test_a_text_search_without_an_index_is_refused(self, space: Sandbox) -> None:
        with code(ErrorCode.INVALID_INPUT, ErrorCode.TABLE_INDEX_NOT_FOUND):
            space.query(thirty(space), full_text_query=text("cedar"))


class PlanTests(Suite):
    """explain_table_query_plan and analyze_table_query_plan."""

    def test_a_plan_tells_how_a_query_would_run(self, space: Sandbox) -> None:
        table = space.table()
        plan = space.catalog.explain_table_query_plan(
            ExplainTableQueryPlanRequest(id=table, query=query(table, filter="id > 1"))
        )
        assert isinstance(plan, str)
        assert "LanceRead" in plan

    def test_a_verbose_plan_tells_more(self, space: Sandbox) -> None:
        table = space.table()
        request = query(table, near=vector(1), k=2)
        plans = [
            space.catalog.explain_table_query_plan(
                ExplainTableQueryPlanRequest(id=table, query=request, verbose=verbose)
            )
            for verbose in (False, True)
        ]
        assert all("KNN" in plan for plan in plans)
        assert len(plans[1]) >= len(plans[0])

    def test_an_analysis_tells_how_a_query_ran(self, space: Sandbox) -> None:
        table = space.table()
        options = query(table, filter="id > 1").model_dump(exclude_none=True)
        plan = space.catalog.analyze_table_query_plan(AnalyzeTableQueryPlanRequest(**options))
        assert "output_rows=2" in plan

    def test_the_plan_of_a_bad_query_is_refused(self, space: Sandbox) -> None:
        table = space.table()
        with code(*MISSING_COLUMN):
            space.catalog.explain_table_query_plan(
                ExplainTableQueryPlanRequest(id=table, query=query(table, filter="nothing = 1"))
            )
