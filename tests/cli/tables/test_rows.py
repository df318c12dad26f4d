"""Rows from files into tables, changed and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def rows(done: Run, table: str, *columns: str) -> list[dict[str, object]]:
    records = done("--json", "tables", "query", table, *(("--columns", ",".join(columns)) if columns else ())).json
    return sorted(records, key=lambda row: row["id"])


def test_create(done: Run, people: Path) -> None:
    assert done("tables", "create", "t", str(people)).out == "Created t: 3 rows (version 1).\n"
    assert [row["name"] for row in rows(done, "t")] == ["Ada", "Grace", "Edsger"]
    facts = done("--json", "tables", "create", "u", str(people), str(people)).json
    assert (facts["version"], facts["num_inserted_rows"]) == (1, 6)


@pytest.mark.slow
def test_create_from_standard_input(process: Run, bare: Run, warehouse: Path, people: Path) -> None:
    where = ("--path", str(warehouse))
    assert process(*where, "tables", "create", "t", "-", "--format", "ndjson", stdin=people.read_text()).code == 0
    assert bare(*where, "tables", "count", "t").out == "3\n"


def test_create_modes(cli: Run, done: Run, table: str, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("x\n1\n")
    other = str(tmp_path / "other.csv")
    assert "code 5" in cli("tables", "create", table, other).err
    response = done("--json", "tables", "create", table, other, "--mode", "exist_ok").json
    assert (response["version"], response["num_inserted_rows"]) == (1, 0)
    assert done("tables", "create", table, other, "--mode", "exist_ok").out == f"Kept {table} as it is (version 1).\n"
    assert done("tables", "create", "new", other, "--mode", "exist_ok").out == "Created new: 1 row (version 1).\n"
    done("tables", "declare", "declared")
    assert done("tables", "create", "declared", other, "--mode", "exist_ok").out.startswith("Created declared: 1 row")
    assert done("--json", "tables", "create", table, other, "--mode", "Overwrite").json["version"] == 2
    assert done("--json", "tables", "query", table).json == [{"x": 1}]
    assert "code 13" in cli("tables", "create", table, other, "--mode", "sideways").err


def test_a_broken_file_changes_nothing(cli: Run, done: Run, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("x\n1\n")
    (tmp_path / "worse.csv").write_text("y\n1\n")
    ended = cli("tables", "create", "t", str(tmp_path / "good.csv"), str(tmp_path / "worse.csv"))
    assert ended.code == 1
    assert "worse.csv has the columns y" in ended.err
    assert "(code 13, InvalidInput)" in ended.err
    assert done("--json", "tables", "list").json == []


def test_wrong_use(cli: Run, people: Path, tmp_path: Path) -> None:
    assert cli("tables", "create", "t").code == 2
    assert cli("tables", "create", "t", str(tmp_path / "missing.csv")).code == 2
    assert cli("tables", "create", "t", str(people), "--property", "novalue").code == 2
    assert cli("tables", "merge", "t", str(people)).code == 2
    assert cli("tables", "frobnicate").code == 2


def test_insert_takes_the_types_of_the_table(done: Run, table: str, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text(json.dumps([{"vector": [2, 3], "id": 4, "name": "Barbara"}]))
    assert done("tables", "insert", table, str(tmp_path / "more.json")).out == (
        f"Inserted 1 row into {table} (version 2).\n"
    )
    assert rows(done, table)[-1] == {"id": 4, "name": "Barbara", "age": None, "vector": [2.0, 3.0]}


def test_insert_overwrites(done: Run, table: str, people: Path) -> None:
    done("tables", "insert", table, str(people), str(people), "--mode", "overwrite")
    assert done("--json", "tables", "count", table).json == {"count": 6}


@pytest.mark.parametrize(
    ("content", "code"), [('{"id": "word"}', 20), ('{"id": 1.5}', 20), ('{"id": 9, "strange": 1}', 20)]
)
def test_what_does_not_fit_is_refused(cli: Run, done: Run, table: str, tmp_path: Path, content: str, code: int) -> None:
    (tmp_path / "bad.ndjson").write_text(content)
    ended = cli("--json", "tables", "insert", table, str(tmp_path / "bad.ndjson"))
    assert (ended.code, json.loads(ended.err)["code"]) == (1, code)
    assert done("--json", "tables", "count", table).json == {"count": 3}


def test_merge(done: Run, table: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("id,name,age\n1,Countess,36\n9,New,1\n")
    lines = tmp_path / "m.ndjson"
    lines.write_text(
        '{"id": 1, "name": "Countess", "age": 36, "vector": [1, 0]}\n'
        '{"id": 9, "name": "New", "age": 1, "vector": [0, 0]}\n'
    )
    merged = done("tables", "merge", table, str(lines), "--on", "id")
    assert merged.out == f"Merged into {table}: 1 inserted, 1 updated, 0 deleted.\n"
    assert [row["name"] for row in rows(done, table)] == ["Countess", "Grace", "Edsger", "New"]


def test_merge_deletes_what_the_files_do_not_have(done: Run, table: str, tmp_path: Path) -> None:
    lines = tmp_path / "m.ndjson"
    lines.write_text('{"id": 1, "name": "Countess", "age": 36, "vector": [1, 0]}\n')
    response = done(
        "--json", "tables", "merge", table, str(lines), "--on", "id", "--no-update", "--delete-missing"
    ).json
    assert response["num_deleted_rows"] == 2
    assert [row["name"] for row in rows(done, table)] == ["Ada"]


def test_update(cli: Run, done: Run, table: str) -> None:
    updated = done("tables", "update", table, "--set", "age = age + 1", "--where", "age IS NOT NULL")
    assert updated.out == f"Updated 2 rows of {table} (version 2).\n"
    assert [row["age"] for row in rows(done, table)] == [37, 86, None]
    assert "code 12" in cli("tables", "update", table, "--set", "nothing=1").err
    assert cli("tables", "update", table, "--set", "age").code == 2


def test_delete(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "id > 1")
    assert [row["name"] for row in rows(done, table)] == ["Ada"]
    assert cli("tables", "delete", table).code == 2
    assert cli("tables", "delete", table, "--where", "not sql at all (").code == 1
