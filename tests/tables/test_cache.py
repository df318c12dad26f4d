from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import InvalidTableStateError
from lanceway.tables.cache import read_at
from lanceway.tables.dataset import StoredTable, open_at
from tests.tables import table_helpers as samples

APPEND = "import sys, lance, pyarrow as pa; lance.write_dataset(pa.table({'x': [2]}), sys.argv[1], mode='append')"


@pytest.mark.slow
def test_another_process_has_committed(tmp_path: Path) -> None:
    table = StoredTable("t", str(tmp_path / "t.lance"))
    lance.write_dataset(pa.table({"x": [1]}), table.location)
    for rows in range(1, 4):
        assert read_at(table).count_rows() == rows
        subprocess.run([sys.executable, "-c", APPEND, table.location], check=True)


def test_who_reads_already_keeps_its_version(table: StoredTable) -> None:
    before = read_at(table)
    open_at(table).insert(samples.rows(10, 5))
    assert read_at(table).count_rows() == 15
    assert before.count_rows() == 10


def test_another_table_with_the_same_version_in_the_same_place(tmp_path: Path) -> None:
    table = StoredTable("t", str(tmp_path / "t.lance"))
    for content in ([1], [2], [3]):
        lance.write_dataset(pa.table({"x": content}), table.location)
        assert read_at(table).to_table()["x"].to_pylist() == content
        shutil.rmtree(table.location)


def test_a_table_that_is_gone(table: StoredTable) -> None:
    assert read_at(table).count_rows() == 10
    shutil.rmtree(table.location)
    with pytest.raises(InvalidTableStateError):
        read_at(table)


def test_a_managed_table_shows_what_the_lake_has(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/lake.db"
    with (
        LakeCatalog(uri=uri, root=str(tmp_path / "data"), user="ann") as ours,
        LakeCatalog(uri=uri, root=str(tmp_path / "data"), user="bob") as theirs,
    ):
        lance.write_dataset(pa.table({"x": [1]}), namespace_client=theirs, table_id=["t"])
        table = ours._table(["t"], "query_table")
        assert read_at(table) is read_at(table), "it is kept"
        for rows in range(2, 5):
            lance.write_dataset(pa.table({"x": [rows]}), namespace_client=theirs, table_id=["t"], mode="append")
            assert read_at(table).count_rows() == rows
        lance.write_dataset(pa.table({"x": [0]}), table.path, mode="append")
        assert read_at(table).count_rows() == 4, "what was written behind the lake is not shown"
        assert read_at(theirs._table(["t"], "query_table")) is not read_at(table), "each user has its own"
