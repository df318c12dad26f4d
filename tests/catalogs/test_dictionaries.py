"""Requests written as dictionaries: short forms, and warnings of keys that are not known."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance_namespace as ln
import numpy as np
import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs import dictionaries
from lanceway.catalogs.contract.requests import accept


@pytest.fixture(autouse=True)
def _warned_of_nothing() -> Iterator[None]:
    dictionaries._warned.clear()
    yield
    dictionaries._warned.clear()


@pytest.fixture
def lake(tmp_path: Path) -> lanceway.Catalog:
    lake = lanceway.connect(tmp_path / "warehouse")
    taste = pa.array([[0.9, 0.2], [1.0, 0.0], [0.6, 0.8]], pa.list_(pa.float32(), 2))
    rows = pa.table({"id": [1, 2, 3], "name": ["apple", "banana", "cherry"], "taste": taste})
    lake.create_table_stream({"id": ["fruit"]}, rows)
    return lake


# -- short forms ------------------------------------------------------------------------------------


def test_a_text_names_a_table_with_dots() -> None:
    assert accept(ln.DescribeTableRequest, {"id": "team.fruit"}).id == ["team", "fruit"]
    assert accept(ln.ListTablesRequest, {"id": ""}).id == []
    moved = accept(ln.RenameTableRequest, {"id": "a.t", "new_namespace_id": "b.c", "new_table_name": "t"})
    assert moved.new_namespace_id == ["b", "c"]


def test_the_requests_of_a_batch_are_written_out_too() -> None:
    entry = {"id": "a.t", "version": 1, "manifest_path": "x"}
    request = accept(ln.BatchCreateTableVersionsRequest, {"entries": [entry]})
    assert request.entries[0].id == ["a", "t"]


@pytest.mark.parametrize(
    ("vector", "single", "multi"),
    [
        ([0.5, 0.9], [0.5, 0.9], None),
        ((0.5, 0.9), [0.5, 0.9], None),
        ([[0.5, 0.9], [1.0, 0.0]], None, [[0.5, 0.9], [1.0, 0.0]]),
        ({"single_vector": [0.5]}, [0.5], None),
        ([], None, None),
        (None, None, None),
    ],
    ids=str,
)
def test_a_vector_is_a_list_of_numbers(vector: Any, single: object, multi: object) -> None:
    request = accept(ln.QueryTableRequest, {"vector": vector, "k": 1})
    assert (request.vector.single_vector, request.vector.multi_vector) == (single, multi)


def test_a_vector_may_be_an_array() -> None:
    assert accept(ln.QueryTableRequest, {"vector": np.array([0.5, 0.25])}).vector.single_vector == [0.5, 0.25]


def test_a_query_may_leave_out_the_vector_and_how_many() -> None:
    assert accept(ln.QueryTableRequest, {}).k == 0
    assert accept(ln.QueryTableRequest, {"vector": [1.0]}).k == dictionaries.DEFAULT_K
    assert accept(ln.QueryTableRequest, {"full_text_query": "whale"}).k == dictionaries.DEFAULT_K
    assert accept(ln.AnalyzeTableQueryPlanRequest, {"vector": [1.0]}).k == dictionaries.DEFAULT_K
    assert accept(ln.ExplainTableQueryPlanRequest, {"query": {"vector": [1.0]}}).query.k == dictionaries.DEFAULT_K


def test_columns_and_a_text_are_what_they_are(lake: lanceway.Catalog) -> None:
    rows = lake.query_table_stream({"id": "fruit", "columns": ["name"], "filter": "id > 1"}).read_all()
    assert rows.to_pydict() == {"name": ["banana", "cherry"]}
    near = lake.query_table_stream({"id": "fruit", "vector": [0.5, 0.9], "columns": ["name"], "k": 1}).read_all()
    assert near["name"].to_pylist() == ["cherry"]
    lake.create_table_index({"id": "fruit", "column": "name", "index_type": "FTS"})
    words = lake.query_table_stream({"id": "fruit", "full_text_query": "banana"}).read_all()
    assert words["id"].to_pylist() == [2]


def test_a_list_needs_no_request(lake: lanceway.Catalog) -> None:
    assert lake.list_tables().tables == lake.list_all_tables().tables == ["fruit"]
    assert lake.list_namespaces().namespaces == []


def test_the_dictionary_itself_stays_as_it_is() -> None:
    request = {"id": "a.t", "vector": [1.0], "columns": ["x"]}
    accept(ln.QueryTableRequest, request)
    assert request == {"id": "a.t", "vector": [1.0], "columns": ["x"]}


# -- keys that are not known ------------------------------------------------------------------------


def test_an_unknown_key_warns_at_the_line_of_the_call_and_names_the_nearest(lake: lanceway.Catalog) -> None:
    with pytest.warns(lanceway.UnknownKeyWarning) as caught:
        answer = lake.count_table_rows({"id": "fruit", "filter": "id < 2"})
    assert answer.count == 3
    assert str(caught[0].message) == (
        "count_table_rows has no key 'filter'. Did you mean 'predicate'? The key is ignored."
    )
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"where": "id > 1"}, "no key 'where'. Did you mean 'filter'?"),
        ({"limit": 2}, "no key 'limit'. Did you mean 'k'?"),
        ({"vektor": [1.0]}, "no key 'vektor'. Did you mean 'vector'?"),
        ({"vector": {"single": [1.0]}}, "no key 'vector.single'. Did you mean 'vector.single_vector'?"),
        ({"columns": {"colum_names": ["id"]}}, "no key 'columns.colum_names'. Did you mean 'columns.column_names'?"),
        ({"zzz": 1}, "no key 'zzz'. It takes branch, bypass_vector_index,"),
        (
            {"full_text_query": {"string_query": {"query": "x", "column": ["name"]}}},
            "no key 'full_text_query.string_query.column'. Did you mean 'full_text_query.string_query.columns'?",
        ),
    ],
    ids=str,
)
def test_it_is_found_at_any_depth(request_: dict[str, Any], words: str) -> None:
    with pytest.warns(lanceway.UnknownKeyWarning) as caught:
        accept(ln.QueryTableRequest, request_)
    assert words in str(caught[0].message)


def test_the_items_of_a_list_are_looked_at() -> None:
    with pytest.warns(lanceway.UnknownKeyWarning, match=r"'new_columns\.expresion'. Did you mean"):
        accept(ln.AlterTableAddColumnsRequest, {"new_columns": [{"name": "a", "expresion": "1"}]})


def test_a_key_warns_once_for_each_operation(lake: lanceway.Catalog) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            lake.count_table_rows({"id": "fruit", "new": 1})
            lake.describe_table({"id": "fruit", "new": 1})
    assert [str(warning.message).partition(".")[0] for warning in caught] == [
        "count_table_rows has no key 'new'",
        "describe_table has no key 'new'",
    ]


def test_a_stream_is_named_as_its_operation(lake: lanceway.Catalog) -> None:
    with pytest.warns(lanceway.UnknownKeyWarning, match="query_table has no key 'new'"):
        lake.query_table_stream({"id": "fruit", "new": 1})


def test_keys_that_are_data_do_not_fill_the_memory() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        accept(ln.DescribeTableRequest, {f"key{n}": 1 for n in range(dictionaries._MOST + 5)})
    assert len(caught) == dictionaries._MOST == len(dictionaries._warned)


def test_keys_of_properties_and_context_are_free() -> None:
    request = {"properties": {"anything": "x"}, "context": {"header.x": "y"}}
    assert accept(ln.CreateNamespaceRequest, request).properties == {"anything": "x"}
