"""Queries: filters, searches, plans, and answers in files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def many(done: Run, tmp_path: Path) -> str:
    file = tmp_path / "many.csv"
    file.write_text("n\n" + "".join(f"{n}\n" for n in range(2500)))
    done("tables", "create", "many", str(file))
    return "many"


def test_people_see_a_table(done: Run, table: str) -> None:
    lines = done("tables", "query", table).out.splitlines()
    assert lines[0].split() == ["id", "name", "age", "vector"]
    assert lines[2].split() == ["1", "Ada", "36", "[1,", "0]"]
    assert "null" in lines[4]
    assert lines[-1] == "3 rows"


def test_programs_get_an_array(done: Run, table: str) -> None:
    assert done("tables", "query", table, "--json", "--filter", "id = 3").json == [
        {"id": 3, "name": "Edsger", "age": None, "vector": [1.0, 1.0]}
    ]
    assert done("tables", "query", table, "--json", "--filter", "id = 99").json == []


def test_nothing_found(done: Run, table: str) -> None:
    assert done("tables", "query", table, "--filter", "id = 99").out == "Nothing found.\n"


def test_columns_and_aliases(done: Run, table: str) -> None:
    rows = done("--json", "tables", "query", table, "--columns", "name, id", "--filter", "id = 1").json
    assert rows == [{"name": "Ada", "id": 1}]
    aliased = done(
        "--json", "tables", "query", table, "--columns", "id", "--alias", "who=name", "--filter", "id=1"
    ).json
    assert aliased == [{"id": 1, "who": "Ada"}]


def test_people_see_some_rows_and_programs_all(done: Run, many: str) -> None:
    shown = done("tables", "query", many).out.splitlines()
    assert len(shown) == 2 + 20 + 1
    assert shown[-1].startswith("The first 20 rows; --limit N shows more")
    assert len(done("tables", "query", many, "--json").json) == 2500
    assert len(done("tables", "query", many, "--json", "--limit", "7").json) == 7
    assert done("tables", "query", many, "--json", "--limit", "2", "--offset", "5").json == [
        {"n": 5},
        {"n": 6},
    ]
    assert cells(done("tables", "query", many, "--limit", "2400").out) == [str(n) for n in range(2400)]


def cells(drawn: str) -> list[str]:
    return [line.strip() for line in drawn.splitlines() if line.strip().isdecimal()]


def test_vector_search(cli: Run, done: Run, table: str) -> None:
    nearest = done(
        "--json", "tables", "query", table, "--vector", "[0, 1]", "--vector-column", "vector", "--limit", "1"
    )
    assert [row["name"] for row in nearest.json] == ["Grace"]
    assert cli("tables", "query", table, "--vector", "zero,one").code == 2
    assert cli("tables", "query", table, "--vector", "0,1,2", "--vector-column", "vector").code == 1


def test_text_search(cli: Run, done: Run, table: str) -> None:
    assert cli("tables", "query", table, "--text", "grace").code == 1
    done("tables", "indices", "create", table, "name", "--type", "fts")
    rows = done("--json", "tables", "query", table, "--text", "grace", "--text-columns", "name").json
    assert [row["name"] for row in rows] == ["Grace"]


def test_an_earlier_version(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "true")
    assert done("--json", "tables", "query", table, "--version", "1", "--columns", "id").json == [
        {"id": 1},
        {"id": 2},
        {"id": 3},
    ]
    assert "code 11" in cli("tables", "query", table, "--version", "99").err


def test_plans(done: Run, table: str) -> None:
    assert "LanceRead" in done("tables", "query", table, "--explain", "--filter", "id = 1").out
    assert done("--json", "tables", "query", table, "--explain").json["plan"]
    assert "metrics" in done("--json", "tables", "query", table, "--analyze").json["analysis"]


def test_row_ids(done: Run, table: str) -> None:
    assert "_rowid" in done("--json", "tables", "query", table, "--row-id", "--limit", "1").json[0]


def test_count(done: Run, many: str) -> None:
    assert done("tables", "count", many).out == "2,500\n"
    assert done("--json", "tables", "count", many, "--filter", "n < 10").json == {"count": 10}


def test_output_to_a_file(done: Run, many: str, tmp_path: Path) -> None:
    file = tmp_path / "out.parquet"
    assert done("tables", "query", many, "--output", str(file)).out == f"Wrote 2,500 rows to {file}.\n"
    assert pq.read_table(file)["n"].to_pylist() == list(range(2500))
    facts = done("tables", "query", many, "-o", str(tmp_path / "x.ndjson"), "--filter", "n < 2", "--json").json
    assert facts == {"file": str(tmp_path / "x.ndjson"), "rows": 2}
    assert [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()] == [
        {"n": 0},
        {"n": 1},
    ]


def test_a_file_of_no_format_is_wrong_use(cli: Run, many: str, tmp_path: Path) -> None:
    assert cli("tables", "query", many, "--output", str(tmp_path / "out.xlsx")).code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--columns", "nothing"), 12), (("--filter", "not ( sql"), 13), (("--filter", "nothing = 1"), 12)],
)
def test_bad_queries(cli: Run, table: str, arguments: tuple[str, ...], code: int) -> None:
    ended = cli("--json", "tables", "query", table, *arguments)
    assert ended.code == 1
    assert json.loads(ended.err)["code"] == code


def test_a_filter_has_one_word_with_two_spellings(done: Run, table: str) -> None:
    for verb in ("query", "count"):
        assert (
            done("tables", verb, table, "--where", "id > 1").out
            == done("tables", verb, table, "--filter", "id > 1").out
        )
    done("tables", "update", table, "--set", "age=1", "--filter", "id = 1")
    assert done("tables", "delete", table, "--filter", "age = 1").out == f"Deleted 1 row of {table} (version 3).\n"


def test_a_tag_chooses_the_version(done: Run, cli: Run, table: str) -> None:
    done("tables", "tags", "create", table, "gold", "1")
    done("tables", "delete", table, "--where", "id > 1")
    assert done("tables", "count", table).out == "1\n"
    assert done("tables", "count", table, "--tag", "gold").out == "3\n"
    assert len(done("tables", "query", table, "--tag", "gold", "--json").json) == 3
    assert done("tables", "schema", table, "--tag", "gold").code == 0
    both = cli("tables", "count", table, "--tag", "gold", "--version", "1")
    assert (both.code, "Give it alone" in both.err) == (2, True)
    missing = cli("tables", "count", table, "--tag", "silver")
    assert missing.code == 1
    assert "silver" in missing.err


def test_a_chosen_number_of_rows_is_no_cut(done: Run, table: str) -> None:
    assert done("tables", "query", table, "--limit", "3").out.endswith("\n3 rows\n")
    assert done("tables", "query", table, "--vector", "1,0", "--limit", "1").out.endswith("\n1 row\n")


def test_a_file_is_replaced_only_when_asked(done: Run, cli: Run, table: str, tmp_path: Path) -> None:
    file = tmp_path / "out.ndjson"
    file.write_text("mine")
    for verb in (("tables", "query", table), ("sql", f"SELECT * FROM {table}")):
        refused = cli(*verb, "-o", str(file))
        assert (refused.code, file.read_text()) == (2, "mine")
        assert "exists. Add --overwrite to replace it." in refused.err
    assert done("tables", "query", table, "-o", str(file), "--overwrite").out == f"Wrote 3 rows to {file}.\n"
