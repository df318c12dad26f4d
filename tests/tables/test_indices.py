from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableIndexRequest,
    DescribeTableIndexStatsRequest,
    DropTableIndexRequest,
    ListTableIndicesRequest,
)
from lance_namespace_urllib3_client.models.index_content import IndexContent

from lanceway.errors import (
    InvalidInputError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
)
from lanceway.tables import indices
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches
from tests.tables import table_helpers as samples


@pytest.fixture
def table(tmp_path: Path) -> StoredTable:
    """Enough rows to train any vector index."""
    return samples.make(tmp_path, samples.rows(count=300))


def create(table: StoredTable, column: str, index_type: str, **asked: Any) -> None:
    indices.create(table, CreateTableIndexRequest(column=column, index_type=index_type, **asked))


def listed(table: StoredTable, after: str | None = None, **asked: Any) -> list[IndexContent]:
    return indices.list_(table, ListTableIndicesRequest(**asked), after)


def only(table: StoredTable) -> IndexContent:
    (index,) = listed(table)
    return index


@pytest.mark.parametrize(
    ("index_type", "asked"),
    [
        ("IVF_FLAT", {"num_partitions": 2, "distance_type": "cosine"}),
        ("IVF_FLAT", {"target_partition_size": 100, "sample_rate": 16, "max_iterations": 5}),
        ("IVF_SQ", {"num_partitions": 2, "num_bits": 8}),
        ("IVF_PQ", {"num_partitions": 2, "num_sub_vectors": 2, "num_bits": 4}),
        ("IVF_PQ", {}),
        ("IVF_HNSW_FLAT", {"num_partitions": 1, "m": 8, "ef_construction": 40}),
        ("IVF_HNSW_SQ", {"num_partitions": 1, "num_sub_vectors": 7}),
        ("IVF_HNSW_PQ", {"num_partitions": 1}),
    ],
    ids=str,
)
def test_vector_indices_are_made(table: StoredTable, index_type: str, asked: dict[str, Any]) -> None:
    create(table, "vector", index_type.lower(), **asked)
    made = only(table)
    assert (made.index_name, made.index_type, made.columns) == ("vector_idx", index_type, ["vector"])
    stats = indices.describe(table, DescribeTableIndexStatsRequest(index_name="vector_idx"))
    assert stats.distance_type == asked.get("distance_type", "l2")
    assert (stats.index_type, stats.num_indexed_rows, stats.num_unindexed_rows) == (index_type, 300, 0)


@pytest.mark.parametrize(
    ("column", "given", "told"),
    [
        ("id", "btree", "BTREE"),
        ("name", "BITMAP", "BITMAP"),
        ("place.city", "BTree", "BTREE"),
        ("words", "LabelList", "LABEL_LIST"),
        ("name", "ngram", "NGRAM"),
        ("id", "ZONEMAP", "ZONEMAP"),
        ("id", "BloomFilter", "BLOOMFILTER"),
        ("name", "INVERTED", "FTS"),
        ("name", "fts", "FTS"),
    ],
)
def test_other_indices_are_made_in_both_ways(table: StoredTable, column: str, given: str, told: str) -> None:
    create(table, column, given, name="one")
    indices.create_scalar(table, CreateTableIndexRequest(column=column, index_type=given, name="two"))
    assert [(index.index_name, index.index_type) for index in listed(table)] == [("one", told), ("two", told)]
    assert listed(table)[0].columns == [column]


def test_text_options_arrive(table: StoredTable) -> None:
    asked = {
        "with_position": True,
        "base_tokenizer": "whitespace",
        "language": "German",
        "max_token_length": 17,
        "lower_case": False,
        "stem": False,
        "remove_stop_words": False,
        "ascii_folding": False,
    }
    create(table, "name", "FTS", **asked)
    details = json.loads(str(only(table).index_details))
    assert {key: details[key] for key in asked} == asked


def test_what_a_list_tells(table: StoredTable) -> None:
    create(table, "id", "BTREE", name="by_id")
    open_at(table).insert(samples.rows(300, 20))
    made = only(table)
    assert (made.num_indexed_rows, made.num_unindexed_rows, made.num_segments) == (300, 20, 1)
    assert made.status == "done"
    assert made.size_bytes
    assert made.created_at is not None
    assert len(made.index_uuid) == 36
    stats = indices.describe(table, DescribeTableIndexStatsRequest(index_name="by_id"))
    assert (stats.num_indices, stats.num_unindexed_rows, stats.distance_type) == (1, 20, None)


def test_lists_are_sorted_and_go_on_after_a_name(table: StoredTable) -> None:
    for name in ("c", "a", "b"):
        create(table, "id", "BTREE", name=name)
    assert [index.index_name for index in listed(table)] == ["a", "b", "c"]
    assert [index.index_name for index in listed(table, "a")] == ["b", "c"]
    assert listed(table, "c") == []
    assert listed(table, version=1) == []


def test_a_branch_has_its_own_indices(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    create(table, "id", "BTREE", branch="side")
    assert listed(table) == []
    assert len(listed(table, branch="side")) == 1
    with pytest.raises(TableIndexNotFoundError):
        indices.drop(table, DropTableIndexRequest(index_name="id_idx"))
    indices.drop(table, DropTableIndexRequest(index_name="id_idx", branch="side"))
    assert listed(table, branch="side") == []
    with pytest.raises(TableBranchNotFoundError):
        create(table, "id", "BTREE", branch="none")


@pytest.mark.parametrize(
    ("column", "index_type", "asked", "kind", "words"),
    [
        ("id", "HASH", {}, InvalidInputError, "BTREE.*IVF_PQ"),
        ("none", "BTREE", {}, TableColumnNotFoundError, "no column none"),
        ("none", "IVF_FLAT", {}, TableColumnNotFoundError, "no column none"),
        ("place.none", "FTS", {}, TableColumnNotFoundError, "no column place.none"),
        ("id", "IVF_FLAT", {}, InvalidInputError, "has the type int64, but an IVF_FLAT index needs vectors.*BTREE"),
        ("name", "IVF_PQ", {}, InvalidInputError, "has the type string, but .*For texts make an FTS index"),
        ("id", "FTS", {}, InvalidInputError, "must be string"),
        ("place", "BTREE", {}, InvalidInputError, "must be int"),
        ("id", "LABEL_LIST", {}, InvalidInputError, "must be a list"),
        ("vector", "IVF_FLAT", {"distance_type": "miles"}, InvalidInputError, "l2, cosine"),
        ("vector", "IVF_PQ", {"num_sub_vectors": 3}, InvalidInputError, "divisible"),
        ("vector", "IVF_RQ", {}, InvalidInputError, "divisible by 8"),
        ("name", "FTS", {"base_tokenizer": "sharp"}, InvalidInputError, "unknown base tokenizer"),
        ("name", "FTS", {"language": "Elvish"}, InvalidInputError, "Elvish"),
        ("name", "RTREE", {}, InvalidInputError, "WKT"),
    ],
)
def test_an_index_that_cannot_be(
    table: StoredTable, column: str, index_type: str, asked: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        create(table, column, index_type, **asked)
    assert listed(table) == []


def test_a_vector_index_is_no_scalar_index(table: StoredTable) -> None:
    with pytest.raises(InvalidInputError, match="must be one of BITMAP"):
        indices.create_scalar(table, CreateTableIndexRequest(column="vector", index_type="IVF_PQ"))


@pytest.mark.parametrize(("column", "index_type"), [("id", "BTREE"), ("vector", "IVF_FLAT"), ("name", "FTS")])
def test_a_taken_name_is_refused(table: StoredTable, column: str, index_type: str) -> None:
    create(table, "id", "BTREE", name="taken")
    with pytest.raises(TableIndexAlreadyExistsError, match="'taken'"):
        create(table, column, index_type, name="taken")
    create(table, column, index_type)
    with pytest.raises(TableIndexAlreadyExistsError, match=f"'{column}_idx'"):
        create(table, column, index_type)


def test_an_index_is_dropped_once(table: StoredTable) -> None:
    create(table, "id", "BTREE", name="gone")
    indices.drop(table, DropTableIndexRequest(index_name="gone"))
    with pytest.raises(TableIndexNotFoundError, match=r"no index 'gone'. It has none"):
        indices.drop(table, DropTableIndexRequest(index_name="gone"))
    with pytest.raises(TableIndexNotFoundError, match="'gone'"):
        indices.describe(table, DescribeTableIndexStatsRequest(index_name="gone"))
    with pytest.raises(InvalidInputError, match="index_name"):
        indices.drop(table, DropTableIndexRequest())
