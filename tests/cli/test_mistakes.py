"""Mistyped commands: each ends with a sentence that says what is wrong and what to do, and nothing is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

WRONG_USE = [
    (("jobs", "wrker"), "No such command 'wrker'. Did you mean 'worker'?"),
    (("job", "list"), "No such command 'job'. Did you mean 'jobs'?"),
    (("views", "creat"), "No such command 'creat'. Did you mean 'create'?"),
    (("pipeline", "rn", "x.yaml"), "No such command 'rn'. Did you mean 'run'?"),
    (("columns", "backfill", "t", "x"), "No such command 'columns'. Did you mean 'lanceway tables columns'?"),
    (("run", "x.yaml"), "No such command 'run'. Did you mean 'lanceway pipeline run'?"),
    (
        ("backfill", "t"),
        "No such command 'backfill'. Did you mean 'lanceway tables backfill' or 'lanceway tables columns backfill'?",
    ),
    (("tables", "enable-nested"), "No such command 'enable-nested'."),
    (("tables", "sing"), "No such command 'sing'."),
    (("up", "--prot", "1"), "No such option: --prot (Possible options: --host, --path, --port)"),
    (("jobs", "list", "--limt", "1"), "No such option: --limt (Possible options: --delimiter, --in, --limit)"),
    (("jobs", "list", "--state", "gone"), "'gone' is not one of 'queued', 'running', 'done', 'failed', 'cancelled'."),
    (("views", "create"), "Missing argument 'VIEW'."),
    (("views", "create", "v", "--source", "t", "--kind", "chunk"), "'chunk' is not one of 'chunker', 'udtf'."),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", "x"), "'x' is not of the form KEY=VALUE."),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", "x=intt"), "'intt' is not a data type; write a word"),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", 'x={"type"'), "is not JSON"),
    (("jobs", "show"), "Missing argument 'JOB'."),
    (("jobs", "show", "job-1"), "No namespace is chosen. Use --path FOLDER, --url URL or --in NAME"),
    (("jobs", "worker", "--home", "nowhere"), "no server was ever started in nowhere. Start one with lanceway up"),
    (("tokens", "list", "--home", "nowhere"), "no server was ever started in nowhere. Start one with lanceway up"),
]
REFUSED = [
    (("--type", "lak", "jobs", "list"), "There is no catalog of type 'lak'. Did you mean 'lake'?"),
    (("--type", "dir", "--set", "pth=.", "jobs", "list"), "has no setting 'pth'. Did you mean 'path'?"),
    (("--in", "lak", "jobs", "list"), "No namespace is called 'lak'"),
    (("pipeline", "run", "x.yaml"), "The pipeline x.yaml cannot be read: No such file or directory."),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG_USE, ids=str)
def test_wrong_use_ends_in_one_sentence(bare: Run, arguments: tuple[str, ...], sentence: str) -> None:
    ended = bare(*arguments)
    assert (ended.code, ended.out) == (2, "")
    last = ended.err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert sentence in last


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=str)
def test_a_refusal_ends_in_one_sentence(bare: Run, arguments: tuple[str, ...], sentence: str) -> None:
    ended = bare(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert sentence in ended.err


def test_a_namespace_that_is_nearly_called_so(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text('[namespaces.lake]\ntype = "dir"\npath = "."\n')
    ended = bare("--in", "lak", "tables", "list")
    assert "in lanceway.toml. Did you mean 'lake'? It has: lake." in ended.err


def test_nothing_was_begun(bare: Run, tmp_path: Path) -> None:
    for arguments, _ in (*WRONG_USE, *REFUSED):
        bare(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "verb",
    [("tables", "list"), ("namespaces", "tree"), ("tables", "query", "t"), ("tables", "drop", "t", "--yes")],
    ids=str,
)
def test_a_mistyped_folder_is_not_an_empty_one(bare: Run, tmp_path: Path, verb: tuple[str, ...]) -> None:
    ended = bare("--path", "./doesnotexist", *verb)
    assert (ended.code, ended.out) == (2, "")
    assert "Invalid value for '--path': there is no folder './doesnotexist'." in ended.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_created_first_creates_the_folder(bare: Run, people: Path) -> None:
    assert bare("--path", "./new", "tables", "create", "people", str(people)).code == 0
    assert bare("--path", "./new", "tables", "list").out == "people\n"


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        (("tables", "describe", "team.peple"), "There is no table team.peple"),
        (("tables", "count", "people"), "There is no table people"),
        (("tables", "query", "tem.people"), "tem"),
    ],
    ids=str,
)
def test_a_table_that_is_nearly_called_so(cli: Run, table: str, verb: tuple[str, ...], sentence: str) -> None:
    ended = cli(*verb)
    assert (ended.code, ended.out) == (1, "")
    assert sentence in ended.err
    assert f"Did you mean {table!r}?" in ended.err
    assert f"Did you mean {table!r}?" in json.loads(cli("--json", *verb).err)["error"]


def test_a_namespace_that_is_missing_is_suggested(cli: Run, table: str) -> None:
    assert "Did you mean 'team'?" in cli("tables", "list", "tem").err


def test_a_plain_folder_has_no_namespaces(bare: Run, people: Path) -> None:
    assert bare("--path", "./new", "--set", "layout=plain", "tables", "create", "people", str(people)).code == 0
    ended = bare("--path", "./new", "tables", "create", "team.people", str(people))
    assert ended.code == 1
    assert "There is no namespace team: " in ended.err
    assert "is a plain folder, which has nothing but tables. Add --set layout=manifest to use a new" in ended.err


def test_a_folder_that_is_empty_gets_namespaces(bare: Run, people: Path) -> None:
    assert bare("--path", "./new", "namespaces", "create", "team").code == 0
    assert bare("--path", "./new", "tables", "create", "team.people", str(people)).code == 0
    assert bare("--path", "./new", "tables", "list", "team").out.split() == ["people"]


def test_reasons_are_in_words_of_the_command_line(cli: Run, table: str) -> None:
    refused = {
        ("tables", "query", table, "--where", "id >"): "lanceway: The condition 'id >' is incomplete",
        ("tables", "query", table, "--where", "idd > 1"): "lanceway: No field named idd. Did you mean 'id'? (code 12",
        ("tables", "versions", "restore", table, "99"): f"lanceway: {table} has no version 99. The latest is 1. (code",
        ("namespaces", "drop", "team"): "or add --cascade to drop all that is inside.",
        ("tables", "insert", table, "pets.csv"): f"lanceway: {table} has no columns pet, owner. It has: id, name, age",
    }
    Path("pets.csv").write_text("id,pet,owner\n1,cat,Ada\n")
    for verb, sentence in refused.items():
        ended = cli(*verb)
        assert (ended.code, ended.err.count("\n")) == (1, 1), ended
        assert sentence in ended.err
