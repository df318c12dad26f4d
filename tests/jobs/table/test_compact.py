"""Compaction: the same rows in fewer fragments, whoever writes beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest

from lanceway import jobs
from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableNotFoundError
from tests.jobs import move_helpers as moves
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept, Watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(lakes: Path) -> Kept:
    return upkeep.make(lakes)


def test_small_fragments_become_large_ones_and_indices_go_on_working(table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE", segments=3)
    done = jobs.compact(table.options, target_rows=100)
    assert (done.parts, done.done, done.rows, done.changed) == (3, 3, 300, True)
    assert done.facts == {"fragments_removed": 6, "fragments_added": 3}
    assert table.ids() == list(range(300))
    assert (table.fragments(), done.version) == (3, table.version)
    plan = table.open().scanner(filter="id = 7").explain_plan()
    assert "ScalarIndexQuery" in plan
    assert table.open().to_table(filter="id = 7").num_rows == 1
    again = jobs.compact(table.options, target_rows=100)
    assert (again.parts, again.changed, again.version) == (0, False, done.version)


def test_deleted_rows_are_left_out_of_fragments_that_have_enough_of_them(table: Kept) -> None:
    table.delete("id < 10 OR id = 60")
    assert jobs.compact(table.options, target_rows=1, deleted=0.5).parts == 0
    done = jobs.compact(table.options, target_rows=40, deleted=0.1)
    assert (done.rows, done.facts["fragments_removed"]) == (40, 1)
    assert sorted(fragment.num_deletions for fragment in table.open().get_fragments()) == [0, 0, 0, 0, 0, 1]
    assert table.ids() == [i for i in range(10, 300) if i != 60]


def test_a_dry_run_tells_and_changes_nothing(table: Kept) -> None:
    before = table.version
    planned = jobs.compact(table.options, target_rows=150, dry_run=True)
    assert (planned.parts, planned.rows, planned.facts["fragments_removed"]) == (2, 300, 6)
    assert planned.bytes > 0
    assert (table.version, table.strays()) == (before, set())


def test_what_others_append_and_delete_meanwhile_stays_so(table: Kept) -> None:
    def others() -> None:
        table.append(1000, 5)
        table.delete("id = 10")  # in a fragment that was rewritten already, and is not committed

    watched = Watched(1, others)
    done = jobs.compact(table.options, target_rows=100, threads=1, watch=watched)
    assert done.done == done.parts == 3
    assert table.ids() == [*(i for i in range(300) if i != 10), *range(1000, 1005)]
    assert table.strays() == set()
    # The group that had changed was rewritten twice, the others once.
    assert [step.done for step in watched] == [0, 1, 2, 3, 3]


def test_who_is_always_faster_is_told_and_nothing_is_lost(table: Kept) -> None:
    gone = iter(range(300))
    with pytest.raises(ConcurrentModificationError, match="0 of 1 groups of fragments were"):
        jobs.compact(table.options, target_rows=1000, watch=Watched(act=lambda: table.delete(f"id = {next(gone)}")))
    assert table.ids() == list(range(next(gone), 300))
    assert table.strays() == set()


def test_a_stopped_compaction_keeps_what_it_has_done(table: Kept) -> None:
    done = jobs.compact(table.options, target_rows=100, threads=1, stop=upkeep.stopping(3))
    assert (done.stopped, done.done, done.ok) == (True, 2, False)
    assert (table.fragments(), table.strays()) == (4, set())
    assert jobs.compact(table.options, target_rows=100).done == 1
    assert table.ids() == list(range(300))


def test_rounds_follow_each_other_until_all_is_done(lakes: Path) -> None:
    table = upkeep.make(lakes, fragments=20, each=5)
    done = jobs.compact(table.options, target_rows=10, threads=2)  # eight groups in a round
    assert (done.parts, done.done, table.fragments()) == (10, 10, 10)
    assert table.ids() == list(range(100))


def test_a_failed_part_leaves_no_file_behind(table: Kept) -> None:
    last = table.open().get_fragments()[-1].metadata.files[0]
    table.handle.store().delete(f"data/{last.path}")
    with pytest.raises(Exception, match="Compacting fragments on table failed"):
        jobs.compact(table.options, target_rows=100, threads=1)
    assert table.strays() == set()
    assert table.fragments() == 6


def test_a_table_by_its_path_is_compacted_where_it_lies(tmp_path: Path) -> None:
    for start in range(3):
        lance.write_dataset(pa.table({"id": [start]}), tmp_path / "t.lance", mode="append" if start else "create")
    assert jobs.compact(tmp_path / "t.lance").facts == {"fragments_removed": 3, "fragments_added": 1}


def test_spark_rewrites_the_same(spark: SparkSession, table: Kept) -> None:
    done = jobs.compact(table.options, target_rows=100, threads=2, spark=spark)
    assert (done.done, table.fragments()) == (3, 3)
    assert table.ids() == list(range(300))
    # An error of a worker is here what it was there.
    for file in table.open().get_fragments()[0].metadata.files:
        table.handle.store().delete(f"data/{file.path}")
    with pytest.raises(Exception, match="Compacting fragments on table failed"):
        jobs.compact(table.options, target_rows=300, threads=2, spark=spark)


def test_bad_input_is_refused_before_anything_is_read(table: Kept) -> None:
    wrongs: list[dict[str, Any]] = [{"target_rows": 0}, {"deleted": 2}, {"threads": 0}]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            jobs.compact(table.options, **wrong)
    with pytest.raises(TableNotFoundError, match="There is no table nowhere"):
        jobs.compact(table.named("nowhere").options)
    table.catalog.declare_table({"id": ["declared"]})  # type: ignore[arg-type]
    with pytest.raises(TableNotFoundError, match="with data to work on"):
        jobs.compact(table.named("declared").options)


def test_versions_are_claimed_through_the_catalog(table: Kept) -> None:
    jobs.compact(table.options, target_rows=100)
    assert moves.versions(table.catalog, table.name) == list(range(1, table.version + 1))
    assert table.catalog.reconcile([table.name]) == []
