"""Versions, tags, branches and transactions."""

from __future__ import annotations

from tests.cli.conftest import Run


def names(done: Run, table: str, *more: str) -> list[str]:
    rows = done("--json", "tables", "query", table, "--columns", "name", *more).json
    return [row["name"] for row in rows]


def test_versions(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "id = 1")
    done("tables", "delete", table, "--where", "id = 2")
    assert [v["version"] for v in done("--json", "tables", "versions", "list", table).json] == [3, 2, 1]
    assert [v["version"] for v in done("--json", "tables", "versions", "list", table, "--oldest-first").json] == [
        1,
        2,
        3,
    ]
    page = done("--json", "tables", "versions", "list", table, "--limit", "2").json
    assert [v["version"] for v in page["versions"]] == [3, 2]
    second = done("--json", "tables", "versions", "list", table, "--page-token", page["page_token"]).json
    assert [v["version"] for v in second["versions"]] == [1]
    assert done("--json", "tables", "versions", "describe", table, "2").json["version"] == 2
    assert done("tables", "versions", "list", table).out.split()[:5] == ["version", "time", "operation", "rows", "tags"]
    assert "code 11" in cli("tables", "versions", "describe", table, "99").err


def test_restore(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "true")
    assert names(done, table) == []
    done("tables", "versions", "restore", table, "1")
    assert names(done, table) == ["Ada", "Grace", "Edsger"]
    assert "code 11" in cli("tables", "versions", "restore", table, "99").err


def test_delete_versions(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "id = 1")
    done("tables", "delete", table, "--where", "id = 2")
    assert cli("tables", "versions", "delete", table, "1", "3").code == 2
    assert done("--json", "tables", "versions", "delete", table, "1", "3", "--yes").json["deleted_count"] == 2
    assert [v["version"] for v in done("--json", "tables", "versions", "list", table).json] == [3]
    assert names(done, table) == ["Edsger"]


def test_tags(cli: Run, done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "id = 1")
    done("tables", "tags", "create", table, "first", "1")
    assert "code 9" in cli("tables", "tags", "create", table, "first", "2").err
    assert done("--json", "tables", "tags", "describe", table, "first").json["version"] == 1
    done("tables", "tags", "update", table, "first", "2")
    [tag] = done("--json", "tables", "tags", "list", table).json
    assert (tag["name"], tag["version"]) == ("first", 2)
    assert done("tables", "tags", "list", table).out.splitlines()[2].split()[:2] == ["first", "2"]
    assert done("--json", "tables", "tags", "list", table, "--limit", "1").json["page_token"] is None
    done("tables", "tags", "delete", table, "first")
    assert done("--json", "tables", "tags", "list", table).json == []
    assert "code 8" in cli("tables", "tags", "delete", table, "first").err


def test_branches(cli: Run, done: Run, table: str) -> None:
    done("tables", "branches", "create", table, "try")
    assert "code 23" in cli("tables", "branches", "create", table, "try").err
    done("tables", "delete", table, "--where", "id = 1", "--branch", "try")
    assert names(done, table, "--branch", "try") == ["Grace", "Edsger"]
    assert names(done, table) == ["Ada", "Grace", "Edsger"]
    [branch] = done("--json", "tables", "branches", "list", table).json
    assert (branch["name"], branch["parentVersion"]) == ("try", 1)
    assert done("tables", "branches", "list", table).out.splitlines()[2].split()[0] == "try"
    done("tables", "branches", "delete", table, "try")
    assert done("--json", "tables", "branches", "list", table).json == []
    assert "code 22" in cli("tables", "branches", "delete", table, "try").err


def test_transactions(cli: Run, done: Run, table: str) -> None:
    assert done("--json", "tables", "transactions", "describe", table, "1").json["status"]
    assert "code 10" in cli("tables", "transactions", "describe", table, "99").err
    assert cli("tables", "transactions", "alter", table, "1").code == 2
    assert cli("tables", "transactions", "alter", table, "1", "--status", "Canceled").code == 1


def test_people_see_what_each_version_brought(done: Run, table: str) -> None:
    done("tables", "delete", table, "--where", "id = 1")
    for tag in ("silver", "gold"):
        done("tables", "tags", "create", table, tag, "1")
    done("tables", "branches", "create", table, "draft")
    done("tables", "tags", "create", table, "elsewhere", "2", "--branch", "draft")
    shown = [line.split() for line in done("tables", "versions", "list", table).out.splitlines()[2:]]
    assert [(row[0], *row[3:]) for row in shown] == [
        ("2", "Delete", "2", "–"),
        ("1", "Overwrite", "3", "gold,", "silver"),
    ]
    branch = [
        line.split() for line in done("tables", "versions", "list", table, "--branch", "draft").out.splitlines()[2:]
    ]
    assert branch[0][-1] == "elsewhere"


def test_people_see_the_last_versions(done: Run, table: str) -> None:
    for _ in range(21):
        done("tables", "update", table, "--set", "age=1")
    out = done("tables", "versions", "list", table).out.splitlines()
    assert (len(out), out[-1].startswith("More follow: --page-token ")) == (2 + 20 + 1, True)
