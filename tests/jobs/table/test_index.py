"""Indices from segments: they find what one index finds, and are built once, whatever happens on the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lanceway import jobs
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
)
from lanceway.jobs.state import Checkpoint as Notes
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept, Watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(lakes: Path) -> Kept:
    return upkeep.make(lakes, fragments=6, each=100)


def indices(table: Kept) -> dict[str, tuple[str, int, int]]:
    found = table.catalog.list_table_indices({"id": [table.name]}).indexes  # type: ignore[arg-type]
    return {one.index_name: (one.index_type or "", one.num_indexed_rows or 0, one.num_segments or 0) for one in found}


def search(table: Kept, id_: int) -> list[int]:
    query = np.zeros(upkeep.SIZE, "f4")
    query[0] = id_
    near: dict[str, Any] = {"column": "vector", "q": query, "k": 3, "nprobes": 4, "refine_factor": 10}
    found: list[int] = table.open().to_table(nearest=near)["id"].to_pylist()
    return found


@pytest.mark.parametrize("kind", ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"])
def test_values_are_found_through_all_segments(table: Kept, kind: str) -> None:
    done = jobs.index(table.options, "id", kind, segments=3)
    assert (done.done, done.rows, done.facts["segments"], done.version) == (3, 600, 3, table.version)
    assert done.bytes > 0
    assert indices(table) == {"id_idx": (kind, 600, 3)}
    assert "ScalarIndexQuery" in table.open().scanner(filter="id IN (7, 555)").explain_plan()
    assert table.open().to_table(filter="id IN (7, 555)")["id"].to_pylist() == [7, 555]


def test_texts_are_found_through_all_segments(table: Kept) -> None:
    jobs.index(table.options, "text", "FTS", segments=2, options={"with_position": True})
    assert indices(table) == {"text_idx": ("FTS", 600, 2)}
    assert table.open().to_table(full_text_query="word3").num_rows == len([i for i in range(600) if i % 7 == 3])


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"])
def test_vectors_are_found_through_segments_that_share_a_model(table: Kept, kind: str) -> None:
    jobs.index(table.options, "vector", kind, segments=2, options={"num_partitions": 4, "distance_type": "l2"})
    assert indices(table) == {"vector_idx": (kind, 600, 2)}
    model = [table.open().stats.index_stats("vector_idx")["indices"][at] for at in (0, 1)]
    assert model[0]["centroids"] == model[1]["centroids"]
    assert search(table, 321)[0] == 321


def test_an_index_is_replaced_only_where_that_is_asked_for(table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE", segments=1)
    with pytest.raises(TableIndexAlreadyExistsError, match="already has an index 'id_idx'"):
        jobs.index(table.options, "id", "BITMAP")
    jobs.index(table.options, "id", "BITMAP", segments=2, replace=True)
    assert indices(table) == {"id_idx": ("BITMAP", 600, 2)}


def test_what_was_built_before_a_stop_is_used_again(table: Kept) -> None:
    stopped = jobs.index(table.options, "id", "BTREE", segments=3, threads=1, stop=upkeep.stopping(2))
    assert (stopped.stopped, stopped.done, stopped.parts) == (True, 2, 3)
    assert indices(table) == {}
    built = {key.split("/")[1] for key in table.handle.store().keys("_indices")}
    watched = Watched()
    done = jobs.index(table.options, "id", "BTREE", segments=3, threads=1, watch=watched)
    assert [step.done for step in watched] == [2, 3]
    assert indices(table) == {"id_idx": ("BTREE", 600, 3)}
    assert built < {key.split("/")[1] for key in table.handle.store().keys("_indices")}
    assert done.done == 3


def test_a_note_is_not_believed_where_its_files_are_gone(table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE", segments=3, threads=1, stop=upkeep.stopping(2))
    table.handle.store().delete(*table.handle.store().keys("_indices"))
    watched = Watched()
    jobs.index(table.options, "id", "BTREE", segments=3, threads=1, watch=watched)
    assert watched[0].done == 0
    assert table.open().to_table(filter="id = 7").num_rows == 1


def test_rows_of_others_are_found_and_a_compaction_meanwhile_is_no_harm(table: Kept) -> None:
    def others() -> None:
        table.append(600, 5)
        jobs.compact(table.options, target_rows=200)

    watched = Watched(2, others)
    done = jobs.index(table.options, "id", "BTREE", segments=2, threads=1, watch=watched)
    assert done.changed
    assert len(watched) > 3  # it was built anew for what had been compacted
    for id_ in (0, 599, 603):
        assert table.open().to_table(filter=f"id = {id_}").num_rows == 1


def test_the_same_job_is_not_done_twice_at_once(table: Kept) -> None:
    def again() -> None:
        with pytest.raises(ConcurrentModificationError, match="The same job is being done to table by process"):
            jobs.index(table.options, "id", "BTREE")

    watched = Watched(0, again)
    jobs.index(table.options, "id", "BTREE", watch=watched)
    assert watched


def test_an_empty_table_is_indexed_for_what_will_come(table: Kept) -> None:
    table.delete("true")
    jobs.index(table.options, "id", "BTREE")
    assert list(indices(table)) == ["id_idx"]


def test_a_refresh_adds_the_rows_that_came_later(table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE")
    jobs.index(table.options, "text", "FTS")
    table.append(600, 50)
    planned = jobs.refresh_index(table.options, dry_run=True)
    assert planned.facts == {"indices": {"id_idx": 50, "text_idx": 50}}
    assert indices(table)["id_idx"][1] == 600
    assert jobs.refresh_index(table.options, ["id_idx"]).rows == 50
    assert (indices(table)["id_idx"][1], indices(table)["text_idx"][1]) == (650, 600)
    assert jobs.refresh_index(table.options).changed
    assert not jobs.refresh_index(table.options).changed
    assert jobs.refresh_index(table.options, ["id_idx"], retrain=True).changed
    with pytest.raises(TableIndexNotFoundError, match=r"no index 'nope'. It has: id_idx, text_idx."):
        jobs.refresh_index(table.options, ["nope"])


def test_spark_builds_the_segments(spark: SparkSession, table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE", threads=2, spark=spark)
    jobs.index(table.options, "vector", "IVF_PQ", threads=2, spark=spark, options={"num_partitions": 2})
    assert indices(table) == {"id_idx": ("BTREE", 600, 2), "vector_idx": ("IVF_PQ", 600, 2)}
    assert search(table, 77)[0] == 77


def test_bad_input_is_refused_and_leaves_no_note(table: Kept) -> None:
    with pytest.raises(TableColumnNotFoundError, match="no column nope"):
        jobs.index(table.options, "nope", "BTREE")
    with pytest.raises(InvalidInputError, match="the index type is 'TREE'"):
        jobs.index(table.options, "id", "TREE")
    with pytest.raises(InvalidInputError, match="segments is 0"):
        jobs.index(table.options, "id", "BTREE", segments=0)
    with pytest.raises(InvalidInputError, match="distance type 'far'"):
        jobs.index(table.options, "vector", "IVF_FLAT", options={"distance_type": "far"})
    assert Notes("index", table.name).all() == {}
    assert indices(table) == {}
