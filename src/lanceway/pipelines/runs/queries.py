"""What is known of a pipeline's runs, for whoever asks later. Spark is not needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanceway.lake.runs import runs
from lanceway.lake.runs.leases import Pipeline
from lanceway.lake.runs.listing import KILLED
from lanceway.pipelines.file.load import load
from lanceway.pipelines.runs import store
from lanceway.pipelines.runs.store import State

_NONE = {"state": "never run"}


def status(file: str | Path, *, state: State = None, config: str | Path | None = None) -> dict[str, Any]:
    """The newest run of a pipeline with its steps, and who runs it at this moment."""
    name = load(file).name
    with store.opened(state, config) as ledger:
        newest, found = ledger.newest(name), ledger.find(name)
        if newest is None:
            return {"pipeline": name, **_NONE}
        record = ledger.report(newest.key).as_record()
    held = {"held_by": found.held_by, "held_since": found.held_since} if found and _is_held(found) else {}
    return {**record, **held, "state": _state(record["state"], held=bool(held))}


def history(
    file: str | Path, *, state: State = None, config: str | Path | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """The runs of a pipeline, newest first."""
    name = load(file).name
    with store.opened(state, config) as ledger:
        found, pipeline = ledger.history(name, limit=limit), ledger.find(name)
    held = pipeline is not None and _is_held(pipeline)
    return [{**run, "state": _state(run["state"], held=held)} for run in found]


def _is_held(found: Pipeline) -> bool:
    return found.process is not None and not store.has_ended(found.process)


def _state(shown: str, *, held: bool) -> str:
    """A run that says that it runs, and whose process is no more, was killed; its lease may last a little longer."""
    return KILLED if shown == runs.RUNNING and not held else shown
