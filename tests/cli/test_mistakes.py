"""Mistyped commands: each ends with a sentence that says what is wrong and what to do, and nothing is changed."""

from __future__ import annotations

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
        "No such command 'backfill'. Did you mean 'lanceway tables columns backfill' or 'lanceway jobs backfill'?",
    ),
    (("tables", "backfill"), "No such command 'backfill'. Did you mean 'lanceway tables columns backfill'?"),
    (("tables", "sing"), "No such command 'sing'."),
    (("up", "--prot", "1"), "No such option: --prot (Possible options: --host, --port)"),
    (("jobs", "list", "--limt", "1"), "No such option: --limt (Possible options: --limit)"),
    (("jobs", "list", "--state", "gone"), "'gone' is not one of 'queued', 'running', 'done', 'failed', 'cancelled'."),
    (("views", "create"), "Missing argument 'VIEW'."),
    (("views", "create", "v", "--source", "t", "--kind", "chunk"), "'chunk' is not one of 'chunker', 'udtf'."),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", "x"), "'x' is not of the form KEY=VALUE."),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", "x=intt"), "'intt' is no data type; write a word"),
    (("views", "create", "v", "--sql", "SELECT 1 AS x", "--type", 'x={"type"'), "is no JSON"),
    (("jobs", "show"), "Missing argument 'JOB'."),
    (("jobs", "show", "job-1"), "which namespace? none is configured. Choose one with --in NAME"),
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
