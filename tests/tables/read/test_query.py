from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    AnalyzeTableQueryPlanRequest,
    CountTableRowsRequest,
    CreateTableBranchRequest,
    CreateTableIndexRequest,
    ExplainTableQueryPlanRequest,
    QueryTableRequest,
)

from lanceway.errors import (
    InvalidInputError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables import indices
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.read import query
from lanceway.tables.versions import branches
from tests.tables import table_helpers as samples

NO_VECTOR: dict[str, Any] = {"single_vector": []}


def near(value: float) -> dict[str, list[float]]:
    return {"single_vector": [value, 1.0, 0.0, 0.0]}


def text(words: str, *columns: str) -> dict[str, Any]:
    return {"string_query": {"query": words, "columns": list(columns) or None}}


def tree(**node: Any) -> dict[str, Any]:
    return {"structured_query": {"query": node}}


def request(**asked: Any) -> QueryTableRequest:
    return QueryTableRequest.model_validate({"k": 0, "vector": NO_VECTOR, **asked})


def ask(table: StoredTable, **asked: Any) -> pa.Table:
    return query.run(table, request(**asked)).read_all()


def ids(table: StoredTable, **asked: Any) -> list[int]:
    return list(ask(table, **asked)["id"].to_pylist())


# -- rows ----------------------------------------------------------------------------------------


def test_k_is_how_many_rows_and_zero_is_all(table: StoredTable) -> None:
    assert ids(table) == list(range(10))
    assert ids(table, k=3) == [0, 1, 2]
    assert ids(table, k=3, offset=8) == [8, 9]
    assert ids(table, offset=8) == [8, 9]
    assert ids(table, k=2**31) == list(range(10))


def test_rows_are_filtered(table: StoredTable) -> None:
    assert ids(table, filter="id > 7") == [8, 9]
    assert ids(table, filter="place.city = 'c3'") == [3]
    assert ids(table, filter="place.`zip.code` = '4'") == [4]
    assert ids(table, filter="") == list(range(10))


def test_columns_are_chosen(table: StoredTable) -> None:
    assert ask(table, columns={"column_names": ["name", "id"]}).schema.names == ["name", "id"]
    nested = ask(table, k=1, columns={"column_names": ["place.city", "place.`zip.code`"]})
    assert nested.to_pylist() == [{"place.city": "c0", "place.`zip.code`": "0"}]
    renamed = ask(table, k=1, columns={"column_aliases": {"town": "place.city", "twice": "id * 2"}})
    assert renamed.to_pylist() == [{"town": "c0", "twice": 0}]
    assert ask(table, columns={"column_names": []}).schema.names == samples.SCHEMA.names


def test_row_ids_are_given_if_asked_for(table: StoredTable) -> None:
    assert ask(table, k=1, with_row_id=True, columns={"column_names": ["id"]}).schema.names == ["id", "_rowid"]
    assert ask(table, k=1, columns={"column_names": ["_rowid"]}).schema.names == ["_rowid"]


def test_versions_and_branches_are_read(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    open_at(table).insert(samples.rows(10))
    open_at(table, branch="side").delete("id < 8")
    assert len(ids(table)) == 20
    assert len(ids(table, version=1)) == 10
    assert ids(table, branch="side") == [8, 9]
    with pytest.raises(TableVersionNotFoundError):
        ask(table, version=9)
    with pytest.raises(TableBranchNotFoundError):
        ask(table, branch="none")


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"filter": "none = 1"}, TableColumnNotFoundError),
        ({"filter": "id = = 1"}, InvalidInputError),
        ({"filter": "id + 1"}, InvalidInputError),
        ({"columns": {"column_names": ["none"]}}, TableColumnNotFoundError),
        ({"columns": {"column_names": ["place.none"]}}, TableColumnNotFoundError),
        ({"columns": {"column_names": ["place..city"]}}, InvalidInputError),
        ({"columns": {"column_aliases": {"x": "none"}}}, TableColumnNotFoundError),
        ({"columns": {"column_names": ["id"], "column_aliases": {"x": "id"}}}, InvalidInputError),
        ({"offset": 2**64}, InvalidInputError),
    ],
    ids=str,
)
def test_a_query_that_cannot_be(table: StoredTable, asked: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        ask(table, **asked)


def test_an_error_that_comes_while_reading_is_ours_too(table: StoredTable) -> None:
    reader = query.run(table, request(columns={"column_aliases": {"x": "CAST(name AS INT)"}}))
    with pytest.raises(InvalidInputError, match="Cannot cast string 'amber lamp'"):
        reader.read_all()


def test_the_answer_streams(tmp_path: Path) -> None:
    table = samples.make(tmp_path, pa.table({"id": pa.array(range(2_000_000), pa.int64())}))
    base = pa.total_allocated_bytes()
    rows = 0
    for batch in query.run(table, request()):
        rows += batch.num_rows
        assert pa.total_allocated_bytes() - base < 2_000_000 * 8 / 4
    assert rows == 2_000_000


# -- vectors -------------------------------------------------------------------------------------


def test_the_nearest_come_first(table: StoredTable) -> None:
    found = ask(table, k=3, vector=near(7.1))
    assert found["id"].to_pylist() == [7, 8, 6]
    assert found["_distance"].to_pylist() == pytest.approx([0.01, 0.81, 1.21], abs=1e-5)


def test_an_offset_skips_neighbours(table: StoredTable) -> None:
    assert ids(table, k=2, vector=near(7.1), offset=1) == [8, 6]


def test_a_filter_comes_before_the_search_unless_told_otherwise(table: StoredTable) -> None:
    assert ids(table, k=2, vector=near(9), filter="id < 5") == [4, 3]
    assert ids(table, k=2, vector=near(9), filter="id < 5", prefilter=False) == []


def test_distances_are_of_the_type_asked_for_and_within_bounds(table: StoredTable) -> None:
    assert ask(table, k=1, vector=near(3), distance_type="Cosine")["id"].to_pylist() == [3]
    assert ask(table, k=1, vector=near(1), distance_type="dot")["id"].to_pylist() == [9]
    assert ids(table, k=10, vector=near(5), lower_bound=1, upper_bound=4) == [4, 6]
    assert ids(table, k=10, vector=near(5), upper_bound=1) == [5]


def test_several_vectors_are_several_searches(table: StoredTable) -> None:
    vectors = {"multi_vector": [near(2.1)["single_vector"], near(8.1)["single_vector"]]}
    found = ask(table, k=2, vector=vectors, columns={"column_names": ["id"]})
    assert found.select(["query_index", "id"]).to_pydict() == {"query_index": [0, 0, 1, 1], "id": [2, 3, 8, 9]}
    with pytest.raises(InvalidInputError, match="offset"):
        ask(table, k=2, vector=vectors, offset=1)


def test_an_index_is_used_with_every_knob(tmp_path: Path) -> None:
    table = samples.make(tmp_path, samples.rows(count=600))
    indices.create(
        table, CreateTableIndexRequest(column="vector", index_type="IVF_HNSW_SQ", num_partitions=4, name="near")
    )
    knobs: list[dict[str, Any]] = [
        {"nprobes": 4},
        {"minimum_nprobes": 1, "maximum_nprobes": 4, "nprobes": 0},
        {"refine_factor": 4, "ef": 64},
        {"bypass_vector_index": True},
        {"fast_search": True},
    ]
    for knob in knobs:
        assert 300 in ids(table, k=5, vector=near(300), **knob), knob
    plan = query.explain(table, ExplainTableQueryPlanRequest(query=request(k=5, vector=near(3)), verbose=True))
    assert "ANN" in plan
    bypassing = request(k=5, vector=near(3), bypass_vector_index=True)
    assert "ANN" not in query.explain(table, ExplainTableQueryPlanRequest(query=bypassing))


def test_fast_search_leaves_out_rows_not_yet_indexed(tmp_path: Path) -> None:
    table = samples.make(tmp_path, samples.rows(count=300))
    indices.create(table, CreateTableIndexRequest(column="vector", index_type="IVF_FLAT", num_partitions=1))
    open_at(table).insert(samples.rows(1000, 1))
    assert ids(table, k=1, vector=near(1000)) == [1000]
    assert ids(table, k=1, vector=near(1000), fast_search=True) == [299]


def test_a_nested_vector_and_the_need_to_choose(tmp_path: Path) -> None:
    inner = pa.array([{"v": [float(i), 0.0]} for i in range(5)], pa.struct([("v", pa.list_(pa.float32(), 2))]))
    data = samples.rows(count=5).append_column("deep", inner)
    table = samples.make(tmp_path, data)
    assert ids(table, k=1, vector={"single_vector": [3.2, 0]}, vector_column="deep.v") == [3]
    with pytest.raises(InvalidInputError, match=r"vector_column.*vector, deep\.v"):
        ask(table, k=1, vector=near(1))


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ({"vector": near(1)}, InvalidInputError, "k is 0"),
        ({"vector": {"single_vector": [1.0]}}, InvalidInputError, "has 1 number,.*have 4"),
        ({"vector": {"multi_vector": [[1.0], [1.0, 2.0]]}}, InvalidInputError, "differ in length"),
        ({"vector": {"single_vector": [1.0], "multi_vector": [[1.0]]}}, InvalidInputError, "not both"),
        ({"vector_column": "none"}, TableColumnNotFoundError, "no column none"),
        ({"vector_column": "name"}, InvalidInputError, r"holds no vectors.*vector"),
        ({"distance_type": "miles"}, InvalidInputError, "l2, cosine, dot, hamming"),
        ({"refine_factor": 0}, InvalidInputError, "Refine factor"),
        ({"nprobes": 0}, InvalidInputError, "Nprobes"),
        ({"minimum_nprobes": 5, "maximum_nprobes": 2}, InvalidInputError, "maximum_nprobes"),
    ],
    ids=str,
)
def test_a_vector_search_that_cannot_be(
    table: StoredTable, asked: dict[str, Any], kind: type[Exception], words: str
) -> None:
    k = 0 if words == "k is 0" else 3
    with pytest.raises(kind, match=words):
        ask(table, **{"k": k, "vector": near(1), **asked})


def test_a_table_without_vectors_says_so(tmp_path: Path) -> None:
    table = samples.make(tmp_path, pa.table({"a": [1]}))
    with pytest.raises(InvalidInputError, match=r"has no vector column to search\.$"):
        ask(table, k=1, vector=near(1))


def test_lists_of_floats_that_are_no_vectors_are_named(tmp_path: Path) -> None:
    lists = pa.array([[0.1, 0.2], [0.3, 0.4]], pa.list_(pa.float32()))
    table = samples.make(tmp_path, pa.table({"names": [["a"], ["b"]], "taste": lists}))
    hint = r"The column taste holds lists of any length.* with vectors=\['taste'\]\.$"
    with pytest.raises(InvalidInputError, match=hint):
        ask(table, k=1, vector=near(1))
    with pytest.raises(InvalidInputError, match=hint):
        ask(table, k=1, vector=near(1), vector_column="taste")


# -- text ----------------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path: Path) -> StoredTable:
    data = samples.rows(count=50)
    notes = pa.array([f"note {i} on copper" if i % 2 else f"remark {i}" for i in range(50)])
    table = samples.make(tmp_path, data.append_column("notes", notes))
    for column in ("name", "notes"):
        indices.create(table, CreateTableIndexRequest(column=column, index_type="FTS", with_position=True))
    return table


def test_words_are_found(library: StoredTable) -> None:
    found = ask(library, k=4, full_text_query=text("kettle"))
    assert found["name"].to_pylist() == ["copper kettle"] * 4
    assert all(score > 0 for score in found["_score"].to_pylist())
    assert len(ids(library, full_text_query=text("kettle"))) == 10
    assert len(ids(library, full_text_query=text("lamp", "name"))) == 20
    assert ids(library, full_text_query=text("lamp", "notes")) == []
    assert len(ids(library, full_text_query=text("copper", "name", "notes"))) == 30
    assert len(ids(library, full_text_query=text("copper"))) == 30
    assert len(ids(library, full_text_query=text("lamp"), filter="id < 10")) == 4


@pytest.mark.parametrize(
    ("node", "count"),
    [
        ({"match": {"terms": "amber lamp", "column": "name"}}, 20),
        ({"match": {"terms": "amber lamp", "column": "name", "operator": "And"}}, 10),
        ({"match": {"terms": "kettel", "column": "name", "fuzziness": 2, "max_expansions": 10}}, 10),
        ({"match": {"terms": "copper"}}, 30),
        ({"phrase": {"terms": "blue lamp", "column": "name"}}, 10),
        ({"phrase": {"terms": "lamp blue", "column": "name"}}, 0),
        ({"phrase": {"terms": "dusty book"}}, 10),
        (
            {
                "multi_match": {
                    "match_queries": [
                        {"terms": "kettle", "column": "name", "boost": 2},
                        {"terms": "remark", "column": "notes"},
                    ]
                }
            },
            30,
        ),
        (
            {
                "boolean": {
                    "must": [{"match": {"terms": "lamp", "column": "name"}}],
                    "must_not": [{"match": {"terms": "blue", "column": "name"}}],
                    "should": [{"match": {"terms": "copper", "column": "notes"}}],
                }
            },
            10,
        ),
        (
            {
                "boost": {
                    "positive": {"match": {"terms": "lamp", "column": "name"}},
                    "negative": {"match": {"terms": "blue", "column": "name"}},
                    "negative_boost": 0.1,
                }
            },
            20,
        ),
    ],
    ids=str,
)
def test_query_trees_are_understood(library: StoredTable, node: dict[str, Any], count: int) -> None:
    assert len(ids(library, full_text_query=tree(**node))) == count


def test_a_boost_ranks_the_negative_last(library: StoredTable) -> None:
    positive = {"match": {"terms": "lamp", "column": "name"}}
    negative = {"match": {"terms": "blue", "column": "name"}}
    found = ask(library, k=10, full_text_query=tree(boost={"positive": positive, "negative": negative}))
    assert set(found["name"].to_pylist()) == {"amber lamp"}


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        (text("x", "none"), TableColumnNotFoundError, "no column none"),
        (tree(match={"terms": "x", "column": "none"}), TableColumnNotFoundError, "no column none"),
        (tree(match={"terms": "x", "column": "id"}), InvalidInputError, "id"),
        (tree(match={"terms": "x", "operator": "xor"}), InvalidInputError, "And or Or"),
        (tree(), InvalidInputError, "exactly one of"),
        (tree(match={"terms": "x"}, phrase={"terms": "y"}), InvalidInputError, "exactly one of"),
        (tree(multi_match={"match_queries": []}), InvalidInputError, "at least one"),
        (tree(boolean={"must": [], "must_not": [], "should": []}), InvalidInputError, "at least one"),
        ({**text("x"), **tree(match={"terms": "x"})}, InvalidInputError, "not both"),
    ],
    ids=str,
)
def test_a_text_search_that_cannot_be(
    library: StoredTable, asked: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        ask(library, k=3, full_text_query=asked)


def test_a_text_search_needs_an_index_or_a_column(table: StoredTable) -> None:
    with pytest.raises(InvalidInputError, match=r"no full-text index.*create_table_index"):
        ask(table, k=3, full_text_query=text("lamp"))
    assert len(ids(table, full_text_query=text("lamp", "name"))) == 4


# -- both ----------------------------------------------------------------------------------------


def test_a_hybrid_search_ranks_what_both_found_first(library: StoredTable) -> None:
    found = ask(library, k=5, vector=near(7), full_text_query=text("kettle", "name"), filter="id < 20")
    assert found["id"].to_pylist()[0] == 7
    assert found.num_rows == 5
    scores = found["_relevance_score"].to_pylist()
    assert scores == sorted(scores, reverse=True)
    assert found.schema.names == [*samples.SCHEMA.names, "notes", "_relevance_score"]


def test_a_hybrid_search_takes_columns_offset_and_row_ids(library: StoredTable) -> None:
    asked: dict[str, Any] = {"vector": near(7), "full_text_query": text("kettle", "name"), "with_row_id": True}
    columns = {"columns": {"column_aliases": {"town": "place.city"}}}
    whole = ask(library, k=6, **asked, **columns)
    assert whole.schema.names == ["town", "_rowid", "_relevance_score"]
    part = ask(library, k=2, offset=1, **asked, **columns)
    assert part.num_rows == 2
    assert part["town"].to_pylist()[0] in whole["town"].to_pylist()


def test_a_hybrid_search_that_finds_nothing_has_its_columns(library: StoredTable) -> None:
    found = ask(library, k=2, vector=near(7), full_text_query=text("kettle", "name"), filter="id < 0")
    assert found.num_rows == 0
    assert "_relevance_score" in found.schema.names


def test_a_hybrid_search_takes_one_vector(library: StoredTable) -> None:
    with pytest.raises(InvalidInputError, match="single_vector"):
        ask(
            library,
            k=2,
            vector={"multi_vector": [near(1)["single_vector"]] * 2},
            full_text_query=text("kettle"),
        )


# -- counts and plans ----------------------------------------------------------------------------


def test_rows_are_counted(table: StoredTable) -> None:
    open_at(table).insert(samples.rows(10))
    assert query.count(table, CountTableRowsRequest()) == 20
    assert query.count(table, CountTableRowsRequest(predicate="id > 4", version=1)) == 5
    with pytest.raises(TableColumnNotFoundError):
        query.count(table, CountTableRowsRequest(predicate="none > 4"))
    with pytest.raises(InvalidInputError):
        query.count(table, CountTableRowsRequest(predicate="id >"))


def test_plans_are_told(library: StoredTable) -> None:
    branches.create(library, CreateTableBranchRequest(name="side"))
    plain = query.explain(library, ExplainTableQueryPlanRequest(query=request(filter="id < 3"), branch="side"))
    assert "id < " in plain
    hybrid = request(k=2, vector=near(1), full_text_query=text("kettle"))
    both = query.explain(library, ExplainTableQueryPlanRequest(query=hybrid))
    assert "_distance" in both
    assert "_score" in both
    analyzed = query.analyze(library, AnalyzeTableQueryPlanRequest.model_validate(request(k=3).model_dump()))
    assert "output_rows=3" in analyzed
    with pytest.raises(TableBranchNotFoundError):
        query.explain(library, ExplainTableQueryPlanRequest(query=request(), branch="none"))
    with pytest.raises(TableColumnNotFoundError):
        query.explain(library, ExplainTableQueryPlanRequest(query=request(filter="none = 1")))
