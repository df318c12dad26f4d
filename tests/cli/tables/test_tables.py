"""`lanceway tables …`: finding, describing, claiming and dropping tables."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_list(done: Run, table: str, people: Path) -> None:
    done("tables", "create", "loose", str(people))
    done("tables", "declare", "team.empty")
    assert done("tables", "list", "team").out.split() == ["empty", "people"]
    assert done("--json", "tables", "list", "team", "--no-declared").json == ["people"]
    assert done("--json", "tables", "list").json == ["loose"]
    assert done("--json", "tables", "list", "--all").json == ["loose", "team.empty", "team.people"]
    slashed = done("--delimiter", "/", "--json", "tables", "list", "--all", "--no-declared")
    assert slashed.json == ["loose", "team/people"]


def test_pages(done: Run, table: str) -> None:
    done("tables", "declare", "team.empty")
    first = done("--json", "tables", "list", "team", "--limit", "1").json
    second = done("--json", "tables", "list", "team", "--page-token", first["page_token"]).json
    assert (first["tables"], second) == (["empty"], {"tables": ["people"], "page_token": None})


def test_a_name_with_the_delimiter_is_refused_with_advice(cli: Run, done: Run, people: Path) -> None:
    done("--delimiter", "/", "tables", "create", "v1.2", str(people))
    assert done("tables", "list").out == "v1.2\n"
    ended = cli("tables", "list", "--all")
    assert ended.code == 1
    assert "'v1.2'" in ended.err
    assert done("--delimiter", "/", "tables", "list", "--all").out == "v1.2\n"


def test_describe(done: Run, table: str, warehouse: Path) -> None:
    plain = done("--json", "tables", "describe", table).json
    assert plain["location"].startswith(str(warehouse))
    assert plain["is_only_declared"] is False
    assert "version" not in plain
    assert "schema" not in plain
    detailed = done("--json", "tables", "describe", table, "--detailed").json
    assert detailed["version"] == 1
    assert [field["name"] for field in detailed["schema"]["fields"]] == ["id", "name", "age", "vector"]
    drawn = done("tables", "describe", table, "--detailed").out
    assert plain["location"] in drawn
    assert "fixed_size_list<item: float32>[2]" in drawn


def test_schema(done: Run, table: str) -> None:
    rows = [line.split() for line in done("tables", "schema", table).out.splitlines()]
    assert rows[0] == ["column", "type", "nullable"]
    assert ["id", "int64", "true"] in rows
    assert done("--json", "tables", "schema", table).json["fields"][0]["name"] == "id"


def test_stats(done: Run, table: str) -> None:
    assert done("--json", "tables", "stats", table).json["num_rows"] == 3
    assert "num rows" in done("tables", "stats", table).out


def test_exists(cli: Run, done: Run, table: str) -> None:
    assert done("tables", "exists", table).out == f"The table {table} exists.\n"
    assert done("--json", "tables", "exists", table).json == {"exists": True}
    for missing in ("team.nobody", "nowhere.people"):
        ended = cli("--json", "tables", "exists", missing)
        assert (ended.code, ended.json, ended.err) == (1, {"exists": False}, "")
    assert cli("tables", "exists", table, "--version", "9").code == 1


def test_declare_then_fill(cli: Run, done: Run, people: Path) -> None:
    assert done("--json", "tables", "declare", "t", "--property", "a=b").json["location"]
    assert done("--json", "tables", "describe", "t").json["is_only_declared"] is True
    assert "code 5" in cli("tables", "declare", "t").err
    done("tables", "create", "t", str(people))
    assert done("--json", "tables", "count", "t").json == {"count": 3}


def test_deregister_and_register_are_inverse(cli: Run, done: Run, table: str) -> None:
    location = done("--json", "tables", "deregister", table).json["location"]
    assert cli("tables", "exists", table).code == 1
    done("tables", "register", table, Path(location).name)
    assert done("--json", "tables", "count", table).json == {"count": 3}


def test_rename_and_back(cli: Run, done: Run, table: str) -> None:
    assert done("tables", "rename", table, "moved").out == f"Renamed {table} to moved.\n"
    assert cli("tables", "exists", table).code == 1
    done("tables", "rename", "moved", table)
    assert done("--json", "tables", "count", table).json == {"count": 3}
    assert "code 13" in cli("tables", "rename", table, "").err


def test_drop_asks(cli: Run, done: Run, table: str) -> None:
    ended = cli("tables", "drop", table)
    assert ended.code == 2
    assert "--yes" in ended.err
    assert cli("tables", "exists", table).code == 0
    assert done("tables", "drop", table, "--yes").out == f"Dropped {table}.\n"
    assert cli("tables", "exists", table).code == 1


def test_errors_are_one_line_with_the_code(cli: Run) -> None:
    ended = cli("tables", "describe", "nobody")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("lanceway: ")
    assert ended.err.endswith("(code 4, TableNotFound)\n")
    assert ended.err.count("\n") == 1


def test_errors_are_json_for_programs(cli: Run) -> None:
    for arguments in (("--json", "tables", "describe", "nobody"), ("tables", "describe", "nobody", "--json")):
        ended = cli(*arguments)
        assert (ended.code, ended.out) == (1, "")
        error = json.loads(ended.err)
        assert error["code"] == 4
        assert "nobody" in error["error"]


def test_credentials_are_not_shown(bare: Run, warehouse: Path, people: Path) -> None:
    secret = ("--set", "storage.aws_secret_access_key=hidden-thing", "--set", "storage.region=eu-north-1")
    where = ("--type", "dir", "--set", f"path={warehouse}", *secret)
    assert bare(*where, "tables", "create", "t", str(people)).code == 0
    for flags in ((), ("--json",)):
        ended = bare(*where, *flags, "tables", "describe", "t")
        assert "eu-north-1" in ended.out
        assert "***" in ended.out
        assert "hidden-thing" not in ended.out + ended.err


def test_people_see_what_a_table_holds(done: Run, table: str) -> None:
    done("tables", "indices", "create", table, "id", "--type", "BTREE")
    done("tables", "tags", "create", table, "gold", "1")
    out = done("tables", "describe", table).out
    facts = {line[:10].split()[0]: " ".join(line.split()[1:]) for line in out.partition("\n\n")[0].splitlines()}
    assert {key: facts[key] for key in ("table", "version", "rows", "indices", "tags")} == {
        "table": table,
        "version": "2",
        "rows": "3",
        "indices": "id_idx = BTREE on id",
        "tags": "gold = 1",
    }
    assert "column   type" in out
    brief = done("tables", "describe", table, "--brief").out
    assert "location" in brief
    assert "rows" not in brief


def test_a_table_without_data_is_described(done: Run) -> None:
    done("tables", "declare", "later")
    assert "is only declared" in done("tables", "describe", "later").out
