"""Runs of pipelines: carried out, and what they came to as a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.output.interrupts import leave_if, stoppable
from lanceway.cli.output.values import moment, printable, size
from lanceway.cli.pipeline.progress import notes, watched
from lanceway.cli.session import Session

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


def carry_out(session: Session, file: Path, *, events: bool, **options: Any) -> None:
    """Run a pipeline and show it."""
    from lanceway import config

    config.quiet_lance()
    from lanceway import pipelines

    with stoppable() as stop, watched(events=events) as listen:
        report = pipelines.run(file, listen=listen, stop=lambda: stop.asked, **options)
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
    reason = f" {printable(record['error'])}" if record.get("error") else ""
    session.output.done(f"{_sentence(record)}{reason}", record)


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
    return {**shown, "notes": "; ".join(notes(step)) or None}


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
