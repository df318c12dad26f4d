"""Runs that end before they are done: the next one goes on, and nothing is there twice or missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from lanceway import pipelines
from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.pipelines import Event
from tests.pipelines.conftest import Workspace
from tests.servers.lanceway import Lanceway

TWO = """\
pipeline: two
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
    expect:
      - {name: has a text, that: length(text) > 0, otherwise: quarantine, into: here.rejected}
outputs:
  added:
    from: raw
    table: here.added
    indices: [{column: id, type: BTREE}]
    tags: published
  merged:
    from: raw
    table: here.merged
    keys: id
"""


class Cut(BaseException):
    """Ends a run at an unexpected moment."""


def rows(*ids: int) -> list[dict[str, object]]:
    return [{"id": id_, "text": "" if id_ % 5 == 0 else "x"} for id_ in ids]


def check(workspace: Workspace, ids: list[int], versions: int) -> None:
    good = [id_ for id_ in ids if id_ % 5]
    assert workspace.column("added") == workspace.column("merged") == good
    assert workspace.column("rejected") == [id_ for id_ in ids if id_ % 5 == 0]
    assert workspace.table("merged").version == workspace.table("rejected").version == versions
    added = workspace.table("added")
    assert added.version == 2 * versions  # each write, and its index
    assert added.tags.list()["published"]["version"] == 2 * versions
    assert added.describe_indices()[0].num_rows_indexed == len(good)


class Cutting:
    """Listens to runs, and ends each of them at the first moment at which none was ended yet."""

    def __init__(self, *moments: str) -> None:
        self.moments, self.cut, self.over = moments, set[tuple[str, str]](), False

    def __call__(self, event: Event) -> None:
        moment = (event.step.name, event.moment)
        if self.over or (event.moment in self.moments and moment not in self.cut):
            self.cut |= set() if self.over else {moment}
            self.over = True
            raise Cut


def test_a_run_that_ends_at_any_moment_goes_on_from_there(workspace: Workspace) -> None:
    workspace.write(TWO)
    ids: list[int] = []
    # When tables are made; and when they are there, at those moments that a table alone can tell of.
    for number, moments in enumerate((("begun", "written", "ended"), ("written",)), 1):
        ids += range(10 * number - 9, 10 * number + 1)
        workspace.data(f"{number}.json", *rows(*ids[-10:]))
        cutting = Cutting(*moments)
        report = None
        while report is None:
            before, cutting.over = len(cutting.cut), False
            try:
                report = workspace.run(listen=cutting)
            except Cut:
                assert len(cutting.cut) == before + 1
        assert report.ok
        assert (report.run.number, report.run.attempts) == (number, len(cutting.cut) + 1)
        assert len(cutting.cut) == (3 if moments == ("written",) else 3 * 3 + 2 * 2)
        check(workspace, ids, number)
    assert workspace.run().idle


ONE = """\
pipeline: one
sources:
  raw: {files: data, format: json, schema: "id BIGINT, text STRING"}
outputs:
  out: {from: raw, table: here.out}
"""


@pytest.mark.parametrize("kept_by", ["database", "server"])
def test_a_run_that_is_cancelled_stops_and_is_resumed(
    workspace: Workspace, request: pytest.FixtureRequest, kept_by: str
) -> None:
    name, state = f"one-{uuid.uuid4().hex}", workspace.state
    if kept_by == "server":
        server: Lanceway = request.getfixturevalue("server")
        state = pipelines.Server(server.address, token=server.token)
    workspace.write(ONE.replace("pipeline: one", f"pipeline: {name}"))
    workspace.data("0.json", *rows(1, 2, 3))
    shown: list[str] = []

    def cancel(event: Event) -> None:
        if not shown:
            shown.append(pipelines.cancel(workspace.file, state=state, config=workspace.config)["error"])

    with pytest.raises(ConcurrentModificationError, match="ended early"):
        workspace.run(state=state, listen=cancel)
    status = pipelines.status(workspace.file, state=state, config=workspace.config)
    assert (status["state"], [status["error"]]) == ("stopped", shown)
    report = workspace.run(state=state)
    assert (report.ok, report.run.attempts, workspace.column("out")) == (True, 2, [1, 2, 3])
    with pytest.raises(InvalidInputError, match="is done: only one that is running can be cancelled"):
        pipelines.cancel(workspace.file, state=state, config=workspace.config)


def test_a_run_that_a_server_keeps_goes_on_from_any_moment(workspace: Workspace, server: Lanceway) -> None:
    name, keeper = f"one-{uuid.uuid4().hex}", pipelines.Server(server.address, token=server.token)
    workspace.write(ONE.replace("pipeline: one", f"pipeline: {name}"))
    workspace.data("0.json", *rows(1, 2, 3))
    cutting = Cutting("begun", "written", "ended")
    for _ in range(3):
        cutting.over = False
        with pytest.raises(Cut):
            workspace.run(state=keeper, listen=cutting)
        assert pipelines.status(workspace.file, state=keeper, config=workspace.config)["state"] == "stopped"
    report = workspace.run(state=keeper, listen=cutting)
    assert (report.ok, report.run.attempts, report.run.started_by) == (True, 4, "admin")
    assert (workspace.column("out"), workspace.table("out").version) == ([1, 2, 3], 1)
    assert workspace.run(state=keeper).idle
    workspace.data("1.json", *rows(4))
    assert workspace.run(state=keeper).rows == 1
    assert [run["rows"] for run in pipelines.history(workspace.file, state=keeper, config=workspace.config)] == [
        1,
        0,
        3,
    ]
    (edge,) = pipelines.lineage(table="here.out", state=keeper, config=workspace.config)
    assert (edge.table, edge.version, edge.pipeline) == ("here.out", 2, name)


def test_a_killed_process_is_gone_on_with(workspace: Workspace, rounds: int) -> None:
    """Kill it once a table is committed but not recorded, and then at arbitrary moments."""
    workspace.write(TWO)
    workspace.data("0.json", *rows(*range(1, 11)))
    assert killed(workspace, "written") == -signal.SIGKILL
    assert pipelines.status(workspace.file, state=workspace.state, config=workspace.config)["state"] == "killed"
    kills = rounds // 1000
    for number in range(kills):
        killed(workspace, str(3 + (number % 40) / 4))
    report = workspace.run()
    assert report.ok
    assert report.run.number == 1 or kills  # one that was killed too late had come to its end
    check(workspace, list(range(1, 11)), 1)


def killed(workspace: Workspace, when: str) -> int:
    program = Path(__file__).with_name("killed_program.py")
    command = [sys.executable, str(program), str(workspace.file), workspace.state, str(workspace.config), when]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    if when != "written":
        time.sleep(float(when))
    try:
        if when != "written" and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        return process.wait(timeout=240)
    finally:
        with_children(process.pid)


def with_children(process: int) -> None:
    """End what a killed driver has left: its JVM ends by itself, once it notices."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_a_run_that_is_asked_to_stop_stops_at_once_and_goes_on_later(workspace: Workspace) -> None:
    gate = workspace.root / "gate"
    workspace.functions(
        """\
        import time
        from pathlib import Path

        def wait(batch, gate):
            while not Path(gate).exists():
                time.sleep(0.05)
            return batch
        """
    )
    text = TWO.replace("from: raw", "from: waiting").replace("here.rejected", "here.aside")
    workspace.write(
        f"{text}transforms:\n  waiting:\n    batches: steps:wait\n    inputs: raw\n"
        f"    schema: id BIGINT, text STRING\n    with: {{gate: {gate}}}\n"
    )
    workspace.data("0.json", *rows(1, 2, 3))
    events: list[Event] = []
    report = workspace.run(listen=events.append, stop=lambda: any(event.moment == "under way" for event in events))
    assert report.run.state == "stopped"
    (under_way,) = {(event.step.name, event.tasks > 0) for event in events if event.moment == "under way"}
    assert under_way[1]
    gate.touch()
    again = workspace.run()
    assert (again.ok, again.run.number, again.run.attempts) == (True, 1, 2)
    assert workspace.column("added") == workspace.column("merged") == [1, 2, 3]
