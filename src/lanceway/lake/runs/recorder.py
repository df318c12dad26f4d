"""The record of runs: who may write to it, what is written, and what a run reads from it."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection

from lanceway.errors import ConcurrentModificationError, InvalidInputError, PermissionDeniedError
from lanceway.lake.runs import leases, listing, runs, source_files
from lanceway.lake.runs.events import Begin, BeginStep, End, EndStep, Pin, PlannedSteps, Record, Resume
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.runs import RUNNING, STOPPED, Run, StepRow
from lanceway.lake.store.errors import RetryError

_CANCELLED = "Cancelled"
Recorded = Run | list[StepRow] | StepRow | None


def take(
    connection: Connection,
    name: str,
    key: str,
    *,
    by: str,
    lifetime: int,
    ended: str | None = None,
    user: str | None = None,
) -> PipelineRow:
    """Take a pipeline's lease for `lifetime` milliseconds. `ended` is the process of a holder known to have ended.

    Raises ConcurrentModificationError while another user runs it, saying who and since when, and
    PermissionDeniedError where it is not `user`'s to run.
    """
    row = leases.ensure(connection, name)
    if user is not None:
        require_own(connection, row, user)
    gone = row.holder if ended is not None and row.process == ended else None
    if not leases.take(connection, row.id, key, by=by, lifetime=lifetime, ended=gone):
        raise _refusal(leases.find(connection, name) or row, lifetime)
    return row


def require_own(connection: Connection, pipeline: PipelineRow, user: str) -> None:
    """Refuse a user who does not own a pipeline. Its owner is the user who ran it first."""
    owner = runs.owner(connection, pipeline.id)
    if owner not in (None, user):
        raise PermissionDeniedError(
            f"The pipeline {pipeline.name} is another user's here. Give yours another name, or ask an admin to run it."
        )


def _refusal(found: PipelineRow, lifetime: int) -> ConcurrentModificationError:
    who = found.held_by or "another process"
    since = "" if found.held_since is None else f" since {_time(found.held_since)}"
    return ConcurrentModificationError(
        f"The pipeline {found.name} is being run by {who}{since}. Wait until that run ends; if it was killed, it may "
        f"be taken over after {lifetime / 1000:.0f} seconds."
    )


def _time(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def record(connection: Connection, name: str, lease: str, run: str, event: Record, *, by: str) -> Recorded:
    """Write what a run of a pipeline has to say, as long as it holds the pipeline; answers what is known then.

    Raises ConcurrentModificationError where another run took over, or this one was cancelled. `by` is who a new run is
    said to be started by.
    """
    try:
        pipeline = leases.require(connection, name, lease)
    except ConcurrentModificationError:
        _refuse_cancelled(connection, run)
        raise
    if isinstance(event, Begin):
        return runs.create(connection, pipeline, run, by=by, full=event.full, graph=event.graph)
    row = runs.find(connection, pipeline, run)
    if row is None:
        raise InvalidInputError(f"The pipeline {name} has no run {run}. Begin it first.")
    if isinstance(event, BeginStep | EndStep):
        return _record_step(connection, row, event)
    match event:
        case Resume(attempts, graph):
            return runs.resume(connection, row, attempts, graph)
        case End(state, error):
            runs.end(connection, row, state, error)
        case Pin(pins, files):
            begun = runs.load(connection, row)
            for source, listing in files.items():
                source_files.note(connection, pipeline, source, listing, number=begun.number)
            runs.change(connection, row, pins=pins)
        case PlannedSteps(steps):
            runs.plan(connection, row, steps)
            return list(runs.steps(connection, row))
    return None


def cancel(connection: Connection, run: Run, *, by: str) -> None:
    """Stop a run that some process executes: it ends now, and the process at its next look. What was committed stays.

    Raises InvalidInputError if the run is not running. One that was cancelled stays so.
    """
    if _is_cancelled(run):
        return
    pipeline = leases.find(connection, run.pipeline)
    if run.state != RUNNING or pipeline is None or pipeline.holder is None:
        raise InvalidInputError(
            f"The run {run.number} of {run.pipeline} is {run.state}: only one that is running can be cancelled."
        )
    if not leases.release(connection, pipeline.id, pipeline.holder):
        raise RetryError("The pipeline was just taken over by another process. Try again.")
    runs.end(connection, run.id, STOPPED, f"{_CANCELLED} by {by}.")


def _is_cancelled(run: Run) -> bool:
    return run.state == STOPPED and (run.error or "").startswith(_CANCELLED)


def _refuse_cancelled(connection: Connection, key: str) -> None:
    run = listing.find(connection, key)
    if run is not None and _is_cancelled(run):
        raise ConcurrentModificationError(
            f"The run {run.number} of {run.pipeline} ended early. {run.error} What it has committed stays; run it "
            "again to resume it."
        )


def _record_step(connection: Connection, run: int, event: BeginStep | EndStep) -> StepRow:
    if isinstance(event, BeginStep):
        runs.begin_step(connection, run, event.step, **event.changes.values)
    else:
        runs.end_step(connection, run, event.step, event.state, event.reads, **event.changes.values)
    row = runs.step(connection, run, event.step)
    if row is None:
        raise InvalidInputError(f"The run has no step {event.step}. Plan it first.")
    return row
