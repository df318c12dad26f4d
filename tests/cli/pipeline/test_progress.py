"""The progress that is shown of a run while it lasts."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from rich.progress import Progress

from lanceway.cli import pipeline
from lanceway.lake.runs.runs import Run, StepRow
from lanceway.pipelines import Event

RUN = Run(1, "notes", 3, "key", "running", False, 1, "ada", {}, {}, None, 0, None)
BROKEN = {
    "expectations": {"clean": {"rows": 10, "expectations": {"has a body": {"broken": 3, "otherwise": "drop"}}}},
}
DONE = StepRow("out", "output", "done", rows=2_000, bytes=3_000_000, version=2, details=BROKEN)


def under_way(done: int, tasks: int, rows: int = 0, size: int = 0) -> Event:
    return Event("under way", StepRow("out", ""), RUN, done, tasks, rows, size)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (under_way(0, 8), "0 of 8 tasks"),
        (under_way(2, 8), "2 of 8 tasks, 30 s left"),
        (under_way(2, 8, 1), "2 of 8 tasks, 1 row, 0 rows/s, 30 s left"),
        (under_way(2, 8, 50_000), "2 of 8 tasks, 50,000 rows, 5,000 rows/s, 30 s left"),
        (under_way(8, 8, 50_000, 1_000_000), "8 of 8 tasks, 50,000 rows, 5,000 rows/s, 1.0 MB, 0 s left"),
    ],
)
def test_how_far_a_step_is(event: Event, text: str) -> None:
    assert pipeline.progress(event, 10.0) == text


def test_a_line_for_each_step_with_its_warnings() -> None:
    text = io.StringIO()
    with Progress(console=Console(file=text, width=200)) as bar:
        watch = pipeline.StepLines(bar)
        for event in (
            under_way(1, 2),  # whose beginning nobody has seen
            Event("begun", StepRow("out", "output"), RUN),
            under_way(1, 2, 1_000),
            Event("written", StepRow("out", "output", version=2), RUN),
            Event("ended", DONE, RUN),
            Event("ended", StepRow("aside", "output", "failed", error="no \x1b[31mspace"), RUN),
        ):
            watch(event)
        assert not bar.tasks
    shown = text.getvalue()
    assert "out: done, 2,000 rows" in shown
    assert "3.0 MB" in shown
    assert "  ! clean: 3 of 10 rows break 'has a body' (drop)" in shown
    assert "aside: failed: no " in shown
    assert "\x1b[31mspace" not in shown


def test_every_event_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pipeline.watched(events=True) as listen:
        for event in (
            Event("begun", StepRow("out", "output", "running", base=1), RUN),
            under_way(1, 4, 1_000, 5),
            under_way(2, 4, 2_000, 5),  # too soon to be told
            Event("ended", DONE, RUN),
        ):
            listen(event)
    printed = capsys.readouterr()
    begun, running, ended = map(json.loads, printed.err.splitlines())
    assert printed.out == ""
    assert (begun["event"], begun["pipeline"], begun["run"], begun["step"]) == ("begun", "notes", 3, "out")
    assert running["event"] == "under way"
    assert (running["done"], running["tasks"], running["rows"], running["bytes"]) == (1, 4, 1_000, 5)
    assert (ended["state"], ended["rows"]) == ("done", 2_000)
    assert ended["warnings"] == ["clean: 3 of 10 rows break 'has a body' (drop)"]


def test_where_nobody_watches_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from lanceway.pipelines.runs.report import no_progress

    with pipeline.watched(events=False) as listen:
        assert listen is no_progress  # so that Spark is not asked at all
    assert capsys.readouterr() == ("", "")
