"""Events of a run while it lasts, and its report, history and lineage afterwards."""

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

__all__ = ["BEGUN", "ENDED", "UNDER_WAY", "WRITTEN", "Event", "Listener", "RunReport", "no_progress"]

# Moments of a step: it begins; Spark is so far with it; its table has a new version, which is not yet recorded; it is
# over.
BEGUN, UNDER_WAY, WRITTEN, ENDED = "begun", "under way", "written", "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a step. `moment` is begun, under way, written or ended; `step` has what is known by then.

    While a step is under way, `tasks` is the number of Spark tasks known so far and `done` of those finished; `rows`
    and `bytes` were read, as far as Spark counts them.
    """

    moment: str
    step: StepRow
    run: Run
    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0


Listener = Callable[[Event], None]


def no_progress(event: Event) -> None:
    """Ignore the event: the listener of a run that no one watches."""


_NONE = {"state": "never run"}


def status(file: str | Path, *, state: State = None, config: str | Path | None = None) -> dict[str, Any]:
    """Return the newest run of a pipeline with its steps, and who is running it now."""
    name = load(file).name
    with store.open_run_store(state, config) as run_store:
        newest, pipeline = run_store.newest(name), run_store.find(name)
        if newest is None:
            return {"pipeline": name, **_NONE}
        record = run_store.report(newest.key).as_record()
    lease = (
        {"held_by": pipeline.held_by, "held_since": pipeline.held_since} if pipeline and _is_running(pipeline) else {}
    )
    return {**record, **lease, "state": _state(record["state"], running=bool(lease))}


def history(
    file: str | Path, *, state: State = None, config: str | Path | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the runs of a pipeline, newest first."""
    name = load(file).name
    with store.open_run_store(state, config) as run_store:
        history, pipeline = run_store.history(name, limit=limit), run_store.find(name)
    running = pipeline is not None and _is_running(pipeline)
    return [{**run, "state": _state(run["state"], running=running)} for run in history]


def _is_running(pipeline: PipelineRow) -> bool:
    return pipeline.process is not None and not store.has_ended(pipeline.process)


def _state(shown: str, *, running: bool) -> str:
    """Return the state to show. A run recorded as running whose process has ended was killed; its lease may outlast
    it.
    """
    return KILLED if shown == runs.RUNNING and not running else shown


def lineage(
    file: str | Path | None = None,
    *,
    table: str | None = None,
    state: State = None,
    config: str | Path | None = None,
    depth: int | None = None,
    every: bool = False,
) -> list[LineageEdge]:
    """Return the edges that lead to the tables of a pipeline, or to one table by its name, and away from them.

    Edges go through all pipelines with the same state, `depth` steps each way. Of each pair of tables the newest edge
    is returned, or `every` one.
    """
    names = [table] if table is not None else [output.table for output in load(str(file)).outputs.values()]
    locations = (_place(name, config) for name in names)
    places = sorted({place for place in locations if place is not None})
    with store.open_run_store(state, config) as run_store:
        return run_store.lineage(places, depth=depth, every=every)


def _place(name: str, config: str | Path | None) -> str | None:
    try:
        return targets.find(name, config).table().location
    except (NamespaceNotFoundError, TableNotFoundError):
        return None
