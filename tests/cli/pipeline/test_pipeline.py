"""Pipelines from the command line; whatever needs no Spark."""

from __future__ import annotations

import ast
import json
import re
import uuid
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Run
from tests.paths import REPOSITORY
from tests.servers.lanceway import Lanceway

TEXT = """\
pipeline: quiet
sources:
  raw: {files: data, format: json, schema: id BIGINT}
outputs:
  out: {from: raw, table: here.out, tags: done}
"""
GUIDE = REPOSITORY / "docs" / "guide" / "pipeline.md"


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "lanceway.toml").write_text('[namespaces.here]\ntype = "dir"\npath = "tables"\n')
    (tmp_path / "data").mkdir()
    (tmp_path / "quiet.yaml").write_text(TEXT)
    return "quiet.yaml"


def test_check_tells_every_problem_and_fails(bare: Run, file: str) -> None:
    sound = bare("pipeline", "check", file)
    assert (sound.code, sound.out) == (0, "No problems found.\n")
    Path(file).write_text(TEXT.replace("tags", "tag").replace("from: raw", "from: row"))
    ended = bare("pipeline", "check", file)
    assert ended.code == 1
    assert "quiet.yaml:5: error: unknown key: The output 'out' has no key 'tag'. Did you mean 'tags'?" in ended.out
    assert "quiet.yaml:5: error: missing input: 'out' reads 'row'" in ended.out
    result = bare("pipeline", "check", file, "--json")
    assert (result.code, len(result.json)) == (1, 2)
    Path("odd.yaml").write_text("pipeline: odd\noutputs: []\n")
    assert "odd.yaml:2: error: The pipeline: outputs must be a mapping" in bare("pipeline", "check", "odd.yaml").out
    ran = bare("pipeline", "run", file, "--state", "sqlite:///state.db")
    assert (ran.code, ran.out) == (1, "")
    heading, *problems = ran.err.splitlines()
    assert heading == "lanceway: 2 problems: (code 13, InvalidPipeline)"
    assert [line.startswith("quiet.yaml:5: ") for line in problems] == [True, True]
    assert "quiet.yaml:5: The output 'out' has no key 'tag'." in ran.err


def test_a_graph_is_listed_and_drawn(bare: Run, file: str) -> None:
    nodes = bare("pipeline", "graph", file, "--json").json
    assert [(node["name"], node["kind"], node["inputs"]) for node in nodes] == [
        ("raw", "source", []),
        ("out", "output", ["raw"]),
    ]
    assert "here.out" in bare("pipeline", "graph", file).out
    assert bare("pipeline", "graph", file, "--svg", "g.svg").code == 0
    assert ET.parse("g.svg").getroot().tag.endswith("svg")
    refused = bare("pipeline", "graph", file, "--svg", "no/such/folder.svg")
    assert (refused.code, "cannot be written" in refused.err) == (1, True)


def test_a_run_with_nothing_to_do_is_recorded_and_shown(bare: Run, file: str) -> None:
    state = ("--state", "sqlite:///state.db")
    assert bare("pipeline", "status", file, *state).out == "quiet was never run.\n"
    assert bare("pipeline", "history", file, *state, "--json").json == []
    summary = bare("pipeline", "run", file, *state, "--json")
    assert summary.code == 0, summary
    assert (summary.json["state"], summary.json["number"], summary.json["rows"]) == ("done", 1, 0)
    assert [step["state"] for step in summary.json["steps"]] == ["skipped", "skipped"]
    assert "Run 2 of quiet: done, 0 rows" in bare("pipeline", "run", file, *state).out
    assert [run["number"] for run in bare("pipeline", "history", file, *state, "--json").json] == [2, 1]
    assert "done" in bare("pipeline", "history", file, *state).out
    assert "Run 2 of quiet: done" in bare("pipeline", "status", file, *state).out
    assert bare("pipeline", "lineage", file, *state, "--json").json == []
    assert bare("pipeline", "lineage", *state).code == 2


def test_nothing_that_runs_is_nothing_to_cancel(bare: Run, file: str) -> None:
    state = ("--state", "sqlite:///state.db")
    ended = bare("pipeline", "cancel", file, *state)
    assert (ended.code, ended.out) == (1, "")
    assert "quiet was never run, so there is nothing to cancel" in ended.err
    assert bare("pipeline", "run", file, *state).code == 0
    assert "is done: only one that is running can be cancelled" in bare("pipeline", "cancel", file, *state).err


@pytest.mark.parametrize("state", [(), ("--state", "sqlite:///state.db")])
def test_to_ask_for_runs_creates_no_database(bare: Run, file: str, tmp_path: Path, state: tuple[str, ...]) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert bare("pipeline", "status", file, *state).out == "quiet was never run.\n"
    assert bare("pipeline", "history", file, *state, "--json").json == []
    assert bare("pipeline", "lineage", file, *state, "--json").json == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_server_keeps_the_runs(bare: Run, file: str, server: Lanceway, tmp_path: Path) -> None:
    text = Path(file).read_text().replace("pipeline: quiet", f"pipeline: quiet-{uuid.uuid4().hex}")
    Path(file).write_text(text)
    (tmp_path / "token").write_text(server.token)
    state = ("--state", server.address, "--state-token-file", "token")
    assert "was never run" in bare("pipeline", "status", file, *state).out
    ran = bare("pipeline", "run", file, *state, "--json")
    assert (ran.code, ran.json["state"], ran.json["started_by"]) == (0, "done", "admin")
    assert [run["number"] for run in bare("pipeline", "history", file, *state, "--json").json] == [1]
    assert "Run 1 of quiet" in bare("pipeline", "status", file, *state).out
    assert bare("pipeline", "lineage", file, *state, "--depth", "2", "--json").json == []
    refused = bare("pipeline", "status", file, "--state", server.address, "--json")
    assert (refused.code, json.loads(refused.err)["code"]) == (1, 16)
    assert bare("pipeline", "status", file, "--state", "sqlite:///x.db", "--state-token-file", "token").code == 2


def test_the_examples_for_schedulers_are_python() -> None:
    modules = re.findall(r"^```text\n(# \S+\.py.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(modules) == 2
    for text in modules:
        ast.parse(text)
