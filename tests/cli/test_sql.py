"""`lanceway sql`"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lanceway
from tests.cli.conftest import Run


@pytest.fixture
def numbers(warehouse: Path) -> None:
    lanceway.connect("dir", path=str(warehouse), layout="manifest").create("numbers", pa.table({"n": range(50)}))


def test_rows_for_people(done: Run, table: str) -> None:
    out = done("sql", f"SELECT name, age FROM {table} WHERE id < 3 ORDER BY id").out
    assert [line.split() for line in out.splitlines() if line.strip("─ ")] == [
        ["name", "age"],
        ["Ada", "36"],
        ["Grace", "85"],
        ["2", "rows"],
    ]


def test_rows_for_programs(done: Run, table: str, numbers: None) -> None:
    assert done("sql", "--json", f"SELECT max(age) AS oldest FROM {table}").json == [{"oldest": 85}]
    assert len(done("sql", "SELECT * FROM numbers", "--json").json) == 50


def test_people_see_the_first_rows(done: Run, numbers: None) -> None:
    assert "The first 20 rows" in done("sql", "SELECT * FROM numbers").out
    assert done("sql", "SELECT * FROM numbers ORDER BY n DESC", "--limit", "2", "--json").json == [{"n": 49}, {"n": 48}]
    assert done("sql", "SELECT * FROM numbers", "--limit", "3").out.endswith("\n3 rows\n")


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "json", "ndjson"])
def test_rows_go_to_a_file(done: Run, numbers: None, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"out.{ending}"
    assert done("sql", "SELECT n, n * 2 AS twice FROM numbers", "-o", str(file)).out == f"Wrote 50 rows to {file}.\n"
    if ending == "parquet":
        assert pq.read_table(file).slice(49).to_pylist() == [{"n": 49, "twice": 98}]
    elif ending == "ndjson":
        assert json.loads(file.read_text().splitlines()[49]) == {"n": 49, "twice": 98}
    assert file.stat().st_size > 0


def test_the_plan(done: Run, numbers: None) -> None:
    assert "Filters: n>40" in done("sql", "SELECT n FROM numbers WHERE n > 40", "--explain").out


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DROP TABLE numbers", "only queries can be run"),
        ("SELECT * FROM nubers", "Did you mean 'numbers'?"),
        ("SELECT m FROM numbers", "there is no column 'm'"),
        ("SELECT * FRM numbers", "in line 1, column 14"),
        ("SELECT * FROM read_csv('/etc/passwd')", "read_csv() is not available"),
        ("COPY numbers TO 'x.csv'", "only queries can be run"),
    ],
)
def test_what_is_refused(cli: Run, numbers: None, query: str, reason: str) -> None:
    ended = cli("sql", query)
    assert (ended.code, ended.out) == (1, "")
    assert reason in ended.err
    assert len(ended.err.splitlines()) == 1
