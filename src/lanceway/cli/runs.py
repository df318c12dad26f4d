"""How far a run of a pipeline is, and what it came to: a line for each step while somebody watches, then a summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.interrupts import leave_if, stoppable
from lanceway.cli.progress import bar_of
from lanceway.cli.session import Session
from lanceway.cli.values import moment, printable, size

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from lanceway.spark.pipeline import Event

_STEPS = {
    "name": "step",
    "state": "state",
    "table_name": "table",
    "version": "version",
    "rows": "rows",
    "bytes": "size",
    "rate": "rows/s",
    "seconds": "seconds",
    "notes": "notes",
}


def carry_out(session: Session, file: Path, **options: Any) -> None:
    """Run a pipeline and show it."""
    from lanceway import config

    config.quiet_lance()
    from lanceway.spark import pipeline

    with stoppable() as stop, _watched() as listen:
        report = pipeline.run(file, listen=listen, stop=lambda: stop.asked, **options)
    show(session, report.as_record())
    leave_if(report.run.state == "stopped")
    if not report.ok:
        raise typer.Exit(FAILED)


def show(session: Session, record: Mapping[str, Any]) -> None:
    """A run: its steps and a sentence for people, all of it for programs."""
    if session.json:
        session.output.record(record)
        return
    if record.get("steps"):
        session.output.records(_STEPS, map(_step, record["steps"]))
    session.output.done(_sentence(record), record)


def timed(found: Iterable[Mapping[str, Any]], session: Session) -> Iterator[Mapping[str, Any]]:
    """Runs, with times that people can read."""
    for run in found:
        yield (
            run if session.json else {**run, "began_at": moment(run["began_at"]), "written": ", ".join(run["written"])}
        )


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(step)
    if step.get("rows") and step.get("seconds"):
        shown["rate"] = round(step["rows"] / step["seconds"], 1)
    if step.get("bytes"):
        shown["bytes"] = size(step["bytes"])
    return {**shown, "notes": "; ".join(_notes(step)) or None}


def _notes(step: Mapping[str, Any]) -> Iterator[str]:
    if step.get("error"):
        yield printable(step["error"])
    details = step.get("details", {})
    for name, results in details.get("expectations", {}).items():
        for rule, told in results["expectations"].items():
            if told["broken"]:
                yield f"{name}: {told['broken']:,} of {results['rows']:,} rows break {rule!r} ({told['otherwise']})"
    for key in ("reason", "made", "refreshed", "tags", "published", "removed"):
        value = details.get(key)
        if value:
            yield value if key == "reason" else f"{key} {', '.join(value) if isinstance(value, list) else value}"


def _sentence(record: Mapping[str, Any]) -> str:
    if "number" not in record:
        return f"{record['pipeline']} was {record['state']}."
    parts = [f"Run {record['number']} of {record['pipeline']}: {record['state']}"]
    if record.get("ended_at") is not None:
        parts.append(f"{record['rows']:,} rows in {record['seconds']:,.1f} s")
    if record["attempts"] > 1:
        parts.append(f"attempt {record['attempts']}")
    if record.get("held_by"):
        parts.append(f"run by {record['held_by']} since {moment(record['held_since'])}")
    return ", ".join(parts) + "."


@contextmanager
def _watched() -> Iterator[Callable[[Event], None]]:
    """Somebody who watches sees a line for each step that runs; nobody else sees anything."""
    if not sys.stderr.isatty():
        yield lambda event: None
        return
    with _bar() as bar:
        yield _Watch(bar)


class _Watch:
    """The lines of the steps that run."""

    def __init__(self, bar: Progress) -> None:
        self._bar, self._lines = bar, dict[str, tuple[TaskID, float]]()

    def __call__(self, event: Event) -> None:
        name = event.step.name
        if event.moment == "begun":
            self._lines[name] = self._bar.add_task(printable(name), total=None, told=""), time.monotonic()
        elif event.moment == "under way" and name in self._lines:
            line, began = self._lines[name]
            self._bar.update(line, total=event.tasks, completed=event.done, told=_left(event, began))
        elif event.moment == "written" and name in self._lines:
            self._bar.update(self._lines[name][0], told=f"version {event.step.version}")
        elif event.moment == "ended":
            self._end(event)

    def _end(self, event: Event) -> None:
        step = event.step
        line, began = self._lines.pop(step.name, (None, time.monotonic()))
        if line is not None:
            self._bar.remove_task(line)
        seconds = time.monotonic() - began
        rows = f", {step.rows:,} rows, {step.rows / seconds:,.0f} rows/s" if step.rows and seconds else ""
        told = f": {step.error}" if step.error else rows
        self._bar.console.print(
            printable(f"{step.name}: {step.state}{told}"), markup=False, highlight=False, soft_wrap=True
        )


def _left(event: Event, began: float) -> str:
    """Tasks, and the time that is left if the others take as long."""
    told = f"{event.done:,} of {event.tasks:,} tasks"
    if not event.done:
        return told
    seconds = (time.monotonic() - began) * (event.tasks - event.done) / event.done
    return f"{told}, {seconds:,.0f} s left"


def _bar() -> Progress:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

    return bar_of(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
