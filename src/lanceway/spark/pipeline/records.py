"""What is known of a pipeline's runs, for whoever asks later. Spark is not needed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from lanceway.lake import leases, runs
from lanceway.spark.pipeline import states
from lanceway.spark.pipeline.file import load
from lanceway.spark.pipeline.reports import Report

_NONE = {"state": "never run"}


def status(file: str | Path, *, state: str | None = None, config: str | Path | None = None) -> dict[str, Any]:
    """The newest run of a pipeline with its steps, and who runs it at this moment."""
    name = load(file).name

    def ask(connection: Connection) -> dict[str, Any]:
        found = leases.find(connection, name)
        newest = runs.page(connection, found.id, limit=1) if found is not None else []
        if found is None or not newest:
            return {"pipeline": name, **_NONE}
        report = Report(
            newest[0], list(runs.steps(connection, newest[0].id)), list(runs.reads(connection, newest[0].id))
        )
        held = {"held_by": found.held_by, "held_since": found.held_since} if _is_held(found) else {}
        return {**report.as_record(), **held, "state": _state(newest[0].state, held=bool(held))}

    with states.opened(state, config) as store:
        return store.look(ask)


def history(
    file: str | Path, *, state: str | None = None, config: str | Path | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """The runs of a pipeline, newest first."""
    name = load(file).name

    def ask(connection: Connection) -> list[dict[str, Any]]:
        found = leases.find(connection, name)
        if found is None:
            return []
        return [_run(connection, run, held=_is_held(found)) for run in runs.page(connection, found.id, limit=limit)]

    with states.opened(state, config) as store:
        return store.look(ask)


def _run(connection: Connection, run: runs.Run, *, held: bool) -> dict[str, Any]:
    steps = runs.steps(connection, run.id)
    known = {
        key: value for key, value in asdict(run).items() if key not in ("id", "graph", "pins") and value is not None
    }
    known["state"] = _state(run.state, held=held)
    if run.ended_at is not None:
        known["seconds"] = (run.ended_at - run.began_at) / 1000
    written = [
        f"{step.table_name} {step.version}" for step in steps if step.kind == "output" and step.state == runs.DONE
    ]
    return {**known, "rows": sum(step.rows or 0 for step in steps if step.kind == "output"), "written": written}


def _is_held(found: leases.Pipeline) -> bool:
    return found.holder is not None and not states.has_ended(found.holder)


def _state(recorded: str, *, held: bool) -> str:
    """A run that says that it runs, and that nobody holds, was killed."""
    return "killed" if recorded == runs.RUNNING and not held else recorded
