"""The sample pipeline: texts in, a table out that is found by words and by vectors."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

import pytest
from typer.testing import CliRunner

from lanceway import pipelines
from lanceway.cli.app import app
from tests.paths import REPOSITORY
from tests.pipelines.conftest import Workspace

SAMPLE = REPOSITORY / "samples" / "pipeline"


@pytest.fixture
def library() -> ModuleType:
    spec = importlib.util.spec_from_file_location("library", SAMPLE / "library.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sample_ends_in_a_table_that_can_be_searched(workspace: Workspace, library: ModuleType) -> None:
    workspace.config.write_text(
        f'[namespaces.lake]\ntype = "lake"\nuri = "{workspace.state}"\nroot = "{workspace.root}/lake"\n'
    )
    library.write(workspace.root / ".sample" / "documents")
    file = SAMPLE / "documents.yaml"
    assert pipelines.check(file, config=workspace.config) == []
    arguments = ["--config", str(workspace.config), "pipeline", "run", str(file), "--state", workspace.state, "--json"]
    ended = CliRunner().invoke(app, arguments, prog_name="lanceway", catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    report = json.loads(ended.stdout)
    assert (report["state"], report["rows"]) == ("done", 594 + 6)
    (clean,) = [step["details"]["expectations"]["clean"] for step in report["steps"] if step["name"] == "topics"]
    assert clean["expectations"]["long enough to say something"] == {"broken": 6, "otherwise": "quarantine"}
    from lanceway.pipelines import model

    rows = {
        name: model.find(f"lake.library.{name}", workspace.config).open()
        for name in ("documents", "topics", "rejected")
    }
    assert (rows["documents"].count_rows(), rows["rejected"].count_rows()) == (594, 6)
    assert sum(rows["topics"].to_table()["documents"].to_pylist()) == 594
    body = library.documents()[0]["body"]
    near = rows["documents"].to_table(nearest={"column": "embedding", "q": library.embedding(body), "k": 1})
    assert near["body"].to_pylist() == [body]
    words = rows["documents"].to_table(full_text_query="saffron", limit=5)
    assert set(words["topic"].to_pylist()) == {"cookery"}
    assert rows["documents"].tags.list()["published"]["version"] == rows["documents"].version
    library.write(workspace.root / ".sample" / "documents")  # once more, as a second start does
    assert pipelines.run(file, state=workspace.state, config=workspace.config).idle
