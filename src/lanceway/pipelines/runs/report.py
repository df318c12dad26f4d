"""What somebody who watches a run is told meanwhile; and what it came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanceway.errors import NamespaceNotFoundError, TableNotFoundError
from lanceway.lake.runs import runs
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.listing import KILLED
from lanceway.lake.runs.runs import Run, RunReport, StepRow
from lanceway.pipelines import targets
from lanceway.pipelines.file.load import load
from lanceway.pipelines.runs import store
from lanceway.pipelines.runs.store import State

__all__ = ["BEGUN", "ENDED", "UNDER_WAY", "WRITTEN", "Event", "Listener", "RunReport", "unheard"]

# Moments of a step: it begins; Spark is so far with it; its table has a new version, which is not yet recorded; it is
# over.
BEGUN, UNDER_WAY, WRITTEN, ENDED = "begun", "under way", "written", "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `moment` is begun, under way, written or ended; `step` has what is known by then.

    Of a step under way, `tasks` of Spark's are known by then, of which so many are `done`; and so many `rows` and
    `bytes` were read, where Spark knows that.
    """

    moment: str
    step: StepRow
    run: Run
    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0


Listener = Callable[[Event], None]


def unheard(event: Event) -> None:
    """Nobody listens."""


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


def _is_held(found: PipelineRow) -> bool:
    return found.process is not None and not store.has_ended(found.process)


def _state(shown: str, *, held: bool) -> str:
    """A run that says that it runs, and whose process is no more, was killed; its lease may last a little longer."""
    return KILLED if shown == runs.RUNNING and not held else shown


def lineage(
    file: str | Path | None = None,
    *,
    table: str | None = None,
    state: State = None,
    config: str | Path | None = None,
    depth: int | None = None,
    every: bool = False,
) -> list[LineageEdge]:
    """What leads to the tables of a pipeline, or to one table by its name, and away from them; over any number of
    pipelines with the same state, and so many steps each way as `depth` says. Of each pair of tables there is the
    newest edge, or `every` one.
    """
    names = [table] if table is not None else [output.table for output in load(str(file)).outputs.values()]
    found = (_place(name, config) for name in names)
    places = sorted({place for place in found if place is not None})
    with store.opened(state, config) as ledger:
        return ledger.lineage(places, depth=depth, every=every)


def _place(name: str, config: str | Path | None) -> str | None:
    try:
        return targets.find(name, config).table().location
    except (NamespaceNotFoundError, TableNotFoundError):
        return None
