"""`lanceway namespaces …` on a real folder."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_create_list_describe_drop(cli: Run, done: Run) -> None:
    assert done("namespaces", "create", "team", "--property", "owner=ada").out == "Created namespace team.\n"
    done("namespaces", "create", "team.sales")
    done("namespaces", "create", "other")
    assert done("namespaces", "list").out.split() == ["other", "team"]
    assert done("namespaces", "list", "--json").json == ["other", "team"]
    assert done("--json", "namespaces", "list", "team").json == ["sales"]
    assert done("--json", "namespaces", "describe", "team").json["properties"]["owner"] == "ada"
    assert "owner = ada" in done("namespaces", "describe", "team").out
    assert done("namespaces", "drop", "other").out == "Dropped other.\n"
    assert done("--json", "namespaces", "list").json == ["team"]


def test_pages(done: Run) -> None:
    for name in "cab":
        done("namespaces", "create", name)
    first = done("--json", "namespaces", "list", "--limit", "2").json
    assert first["namespaces"] == ["a", "b"]
    second = done("--json", "namespaces", "list", "--limit", "2", "--page-token", first["page_token"]).json
    assert second == {"namespaces": ["c"], "page_token": None}
    assert f"--page-token {first['page_token']}" in done("namespaces", "list", "--limit", "2").out


def test_exists(cli: Run, done: Run) -> None:
    done("namespaces", "create", "team")
    assert done("namespaces", "exists", "team").out == "The namespace team exists.\n"
    assert done("--json", "namespaces", "exists").json == {"exists": True}
    ended = cli("namespaces", "exists", "nobody", "--json")
    assert (ended.code, ended.json) == (1, {"exists": False})


def test_create_modes(cli: Run, done: Run) -> None:
    done("namespaces", "create", "team")
    ended = cli("namespaces", "create", "team")
    assert ended.code == 1
    assert ended.err.endswith("(code 2, NamespaceAlreadyExists)\n")
    done("namespaces", "create", "team", "--mode", "exist_ok")
    assert cli("namespaces", "create", "team", "--mode", "overwrite").code == 2
    done("namespaces", "create", "team", "--mode", "overwrite", "--yes")
    assert "code 13" in cli("namespaces", "create", "x", "--mode", "sideways").err


def test_parents_are_created_where_there_is_no_lake(cli: Run, done: Run, warehouse: Path) -> None:
    assert done("namespaces", "create", "a.b.c", "-p").out == "Created namespace a.b.c.\n"
    assert done("--json", "namespaces", "list", "a.b").json == ["c"]
    assert "code 2" in cli("namespaces", "create", "a.b.c", "-p").err
    done("namespaces", "create", "a.b.c", "-p", "--mode", "exist_ok")
    refused = cli("namespaces", "create", "x.y", "-p", "--mode", "sideways")
    assert (refused.code, done("--json", "namespaces", "list").json) == (1, ["a"])


def test_what_a_lake_alone_has_is_refused_in_words_of_the_command_line(cli: Run, done: Run) -> None:
    done("namespaces", "create", "team")
    refused = cli("namespaces", "alter", "team", "--set", "k=v")
    assert (refused.code, refused.out) == (1, "")
    assert "lanceway: A catalog of type 'dir' does not support: alter namespace. Only a lake" in refused.err


def test_drop_modes(cli: Run, done: Run) -> None:
    done("namespaces", "create", "team")
    done("namespaces", "create", "team.sales")
    assert "code 3" in cli("namespaces", "drop", "team").err
    assert cli("namespaces", "drop", "team", "--cascade").code == 2
    assert done("--json", "namespaces", "list", "team").json == ["sales"]
    done("namespaces", "drop", "team", "--cascade", "--yes")
    assert "code 1," in cli("namespaces", "drop", "team").err
    done("namespaces", "drop", "team", "--missing-ok")


def test_tree(done: Run, people: Path) -> None:
    done("namespaces", "create", "team")
    done("namespaces", "create", "team.sales")
    done("tables", "create", "team.sales.orders", str(people))
    done("tables", "create", "loose", str(people))
    sales = {"name": "sales", "namespaces": [], "tables": ["orders"]}
    team = {"name": "team", "namespaces": [sales], "tables": []}
    assert done("--json", "namespaces", "tree").json == {
        "name": "",
        "namespaces": [team],
        "tables": ["loose"],
    }
    drawn = done("namespaces", "tree").out
    assert [line.split()[-1] for line in drawn.splitlines()] == [
        "(root)",
        "team/",
        "sales/",
        "orders",
        "loose",
    ]
    shallow = done("--json", "namespaces", "tree", "--depth", "1", "--no-tables").json
    assert shallow == {
        "name": "",
        "namespaces": [{"name": "team", "namespaces": [], "tables": []}],
        "tables": [],
    }


def test_another_delimiter(done: Run) -> None:
    done("namespaces", "create", "a")
    done("--delimiter", "/", "namespaces", "create", "a/b")
    assert done("--json", "namespaces", "list", "a").json == ["b"]


def test_a_malformed_identifier_is_refused(cli: Run) -> None:
    ended = cli("namespaces", "describe", "a..b")
    assert ended.code == 1
    assert "code 13" in ended.err


def test_paths_of_a_lake(bare: Run, tmp_path: Path) -> None:
    where = (
        "--type",
        "lake",
        "--set",
        f"uri=sqlite:///{tmp_path}/lake.db",
        "--set",
        f"root={tmp_path}/tables",
        "--json",
    )
    made = bare(*where, "namespaces", "create", "A:B:C", "--parents", "--property", "owner=ada")
    assert (made.code, made.json["id"]) == (0, ["A", "B", "C"])
    assert bare(*where, "namespaces", "list", "A:B").json == ["C"]
    altered = bare(*where, "namespaces", "alter", "A:B:C", "--set", "k=v", "--unset", "owner")
    assert (altered.code, altered.json["properties"]) == (0, {"k": "v"})
    described = bare(*where, "namespaces", "describe", "lanceway.lake.A:B:C").json
    assert described["full_name"] == "lanceway.lake.A:B:C"
    assert (described["separator"], described["nested"], described["properties"]) == (":", True, {"k": "v"})
    assert bare(*where, "tables", "declare", "A:B.t").code == 0
    assert bare(*where, "tables", "describe", "lanceway.lake.A:B.t").json["full_name"] == "lanceway.lake.A:B.t"
    refused = bare(*where, "namespaces", "alter", "A:B", "--set", "lanceway.type=x")
    assert (refused.code, "reserved" in refused.err) == (1, True)
    assert bare(*where, "namespaces", "drop", "A:B:C").code == 0
    assert bare(*where, "namespaces", "list", "A:B").json == []
