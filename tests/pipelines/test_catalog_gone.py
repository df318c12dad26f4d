"""A catalog that goes away in the middle of a run: what is done stays done, and the run goes on once it is back."""

from __future__ import annotations

import shutil
from pathlib import Path

from lanceway.pipelines import Event, model
from tests.pipelines import ending
from tests.pipelines.conftest import Workspace
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

TWO = """\
pipeline: two
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT
transforms:
  passed:
    batches: ending:passing
    inputs: raw
    schema: id BIGINT
    with: {victim: victim}
outputs:
  first: {from: raw, table: lake.gone.first}
  second: {from: passed, table: lake.gone.second}
"""


def begin(workspace: Workspace, run: Run, home: Path) -> Lanceway:
    """The server with this home: another process, and another port each time."""
    server = lanceway.start(run, home=home)
    workspace.config.write_text(
        f'[namespaces.lake]\ntype = "rest"\nuri = "{server.uri}"\ntoken_file = "{home}/admin-token"\nat = "lake"\n'
    )
    return server


def group_and_port(server: Lanceway) -> tuple[int, int]:
    assert server.process is not None
    return server.process.pid, int(server.address.rpartition(":")[2])


def rows(workspace: Workspace, table: str) -> list[int]:
    return sorted(model.find(f"lake.gone.{table}", workspace.config).open().to_table()["id"].to_pylist())


def files(home: Path) -> set[Path]:
    return {file for file in home.rglob("*") if file.is_file() and "lake.db" not in file.name}


def test_a_run_goes_on_once_its_catalog_is_back(workspace: Workspace, whole_run: Run) -> None:
    home = workspace.root / "server"
    server = begin(workspace, whole_run, home)
    shutil.copy(ending.__file__, workspace.root)
    workspace.write(TWO.replace("victim: victim", f"victim: {workspace.root}/victim"))
    workspace.data("a.json", {"id": 1}, {"id": 2})

    def between(event: Event) -> None:
        if (event.step.name, event.moment) == ("first", "ended"):
            ending.end(*group_and_port(server))

    failed = workspace.run(listen=between)
    assert {step.name: step.state for step in failed.steps} == {"first": "done", "second": "failed"}
    assert server.address in (failed.failed[0].error or ""), failed.failed[0].error
    server = begin(workspace, whole_run, home)
    again = workspace.run()
    assert (again.ok, again.run.number, again.run.attempts) == (True, 1, 2)
    assert (rows(workspace, "first"), rows(workspace, "second")) == ([1, 2], [1, 2])
    assert {step.name: step.version for step in again.steps} == {"first": 1, "second": 1}

    workspace.data("b.json", {"id": 3})
    before = files(home)
    (workspace.root / "victim").write_text("{} {}".format(*group_and_port(server)))
    failed = workspace.run()
    assert not (workspace.root / "victim").exists()
    assert {step.name: step.state for step in failed.steps} == {"first": "done", "second": "failed"}
    new = {file for file in files(home) - before if "second" in str(file)}
    assert not new, failed.failed[0].error
    server = begin(workspace, whole_run, home)
    again = workspace.run()
    assert (again.ok, again.run.number, again.run.attempts) == (True, 2, 2)
    assert (rows(workspace, "first"), rows(workspace, "second")) == ([1, 2, 3], [1, 2, 3])
    assert {step.name: step.version for step in again.steps} == {"first": 2, "second": 2}
    server.stop()
