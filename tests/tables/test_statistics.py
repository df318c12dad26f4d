from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import CreateTableBranchRequest, CreateTableIndexRequest, GetTableStatsRequest

from lanceway.errors import TableBranchNotFoundError
from lanceway.tables import indices, statistics
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches
from tests.tables import table_helpers as samples


def test_rows_fragments_indices_and_bytes(table: StoredTable) -> None:
    for first, count in ((10, 20), (30, 30), (60, 40)):
        open_at(table).insert(samples.rows(first, count))
    open_at(table).delete("id >= 95")
    indices.create(table, CreateTableIndexRequest(column="id", index_type="BTREE"))
    told = statistics.describe(table, GetTableStatsRequest())
    assert (told.num_rows, told.num_indices) == (95, 1)
    data = sum(path.stat().st_size for path in Path(table.location, "data").iterdir())
    assert told.total_bytes == data
    assert (told.fragment_stats.num_fragments, told.fragment_stats.num_small_fragments) == (4, 4)
    lengths = told.fragment_stats.lengths
    assert (lengths.min, lengths.max, lengths.mean) == (10, 35, 23)
    assert (lengths.p25, lengths.p50, lengths.p75, lengths.p99) == (10, 20, 30, 35)


def test_an_empty_table_has_statistics_too(tmp_path: Path) -> None:
    table = samples.make(tmp_path, samples.rows(count=0))
    told = statistics.describe(table, GetTableStatsRequest())
    assert (told.num_rows, told.total_bytes, told.fragment_stats.num_fragments) == (0, 0, 0)
    assert told.fragment_stats.lengths.p99 == 0


def test_a_branch_has_its_own_statistics(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    open_at(table, branch="side").insert(samples.rows(10))
    assert statistics.describe(table, GetTableStatsRequest(branch="side")).num_rows == 20
    assert statistics.describe(table, GetTableStatsRequest()).num_rows == 10
    with pytest.raises(TableBranchNotFoundError):
        statistics.describe(table, GetTableStatsRequest(branch="none"))
