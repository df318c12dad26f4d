"""Lists of runs, newest first, and of pipelines, by name: all of them, or those that one user may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, or_, select

from lanceway.lake.runs.runs import DONE, RUNNING, Run, duration, steps
from lanceway.lake.store.clock import now
from lanceway.lake.store.schema import pipelines, run_steps, runs
from lanceway.lake.tree.names import checked_name
from lanceway.lake.tree.pages import at_most

KILLED = "killed"  # of a run that is recorded as running, but has no lease
_HIDDEN = ("id", "graph", "pins")

_IS_HELD = and_(pipelines.c.holder.is_not(None), pipelines.c.held_until > now())
_shown = case(((runs.c.state == RUNNING) & ~_IS_HELD, KILLED), else_=runs.c.state)
_RUNS: Select[Any] = select(
    *(column for column in runs.c if column is not runs.c.state),
    _shown.label("state"),
    pipelines.c.name.label("pipeline"),
).join_from(runs, pipelines)
_firsts, _newer = runs.alias(), runs.alias()
_NEWEST = ~(
    select(_newer.c.id)
    .where(_newer.c.pipeline_id == runs.c.pipeline_id, _newer.c.number > runs.c.number)
    .correlate(runs)
    .exists()
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A pipeline with its newest run and the holder of its lease."""

    name: str
    runs: int
    state: str
    began_at: int
    ended_at: int | None
    held_by: str | None
    held_since: int | None


def seen_by(user: str) -> ColumnElement[bool]:
    """Return the condition for runs that a user may see who is not an admin: started by them, or of their pipelines."""
    first_run = select(_firsts.c.id).where(
        _firsts.c.pipeline_id == runs.c.pipeline_id, _firsts.c.number == 1, _firsts.c.started_by == user
    )
    return or_(runs.c.started_by == user, first_run.correlate(runs).exists())


def page(
    connection: Connection,
    *,
    pipeline: str | None = None,
    state: str | None = None,
    user: str | None = None,
    before: int | None = None,
    limit: int | None = None,
) -> Sequence[Run]:
    """Return runs before the row `before`, newest first, of one pipeline or all; only those that `user` may see.

    Their state is the one that is shown: killed, if one that is recorded as running has no lease.
    """
    question = _RUNS.order_by(runs.c.id.desc()).limit(at_most(limit))
    if pipeline is not None:
        question = question.where(pipelines.c.name == checked_name("pipeline", pipeline))
    if state is not None:
        question = question.where(_shown == state)
    if user is not None:
        question = question.where(seen_by(user))
    if before is not None:
        question = question.where(runs.c.id < before)
    return [Run.of(row) for row in connection.execute(question)]


def find(connection: Connection, key: str, *, user: str | None = None) -> Run | None:
    """Return a run by its key, None if there is none that `user` may see."""
    question = _RUNS.where(runs.c.key == key)
    row = connection.execute(question if user is None else question.where(seen_by(user))).one_or_none()
    return Run.of(row) if row is not None else None


def pipelines_after(
    connection: Connection, name: str | None, *, user: str | None = None, limit: int | None = None
) -> Sequence[Listed]:
    """Return pipelines that were run, by name, beginning after a name."""
    question = (
        select(
            pipelines.c.name,
            runs.c.number.label("runs"),
            _shown.label("state"),
            runs.c.began_at,
            runs.c.ended_at,
            case((_IS_HELD, pipelines.c.held_by)).label("held_by"),
            case((_IS_HELD, pipelines.c.held_since)).label("held_since"),
        )
        .join_from(runs, pipelines)
        .where(_NEWEST, pipelines.c.name > (name or ""))
        .order_by(pipelines.c.name)
        .limit(at_most(limit))
    )
    rows = connection.execute(question if user is None else question.where(seen_by(user)))
    return [Listed(**row._asdict()) for row in rows]


def summaries(connection: Connection, found: Iterable[Run]) -> list[dict[str, Any]]:
    """Return records of runs with their results: rows, seconds, and the versions that were written."""
    listed = list(found)
    rows, written = _outputs(connection, [run.id for run in listed])
    records = []
    for run in listed:
        record = {key: value for key, value in asdict(run).items() if key not in _HIDDEN and value is not None}
        seconds = duration(run, steps(connection, run.id) if run.attempts > 1 else ())
        if seconds is not None:
            record["seconds"] = seconds
        records.append({**record, "rows": rows.get(run.id, 0), "written": written.get(run.id, [])})
    return records


def _outputs(connection: Connection, ids: list[int]) -> tuple[Mapping[int, int], Mapping[int, list[str]]]:
    question = (
        select(run_steps.c.run_id, run_steps.c.table_name, run_steps.c.version, run_steps.c.state, run_steps.c.rows)
        .where(run_steps.c.run_id.in_(ids), run_steps.c.kind == "output")
        .order_by(run_steps.c.position)
    )
    rows: dict[int, int] = {}
    written: dict[int, list[str]] = {}
    for row in connection.execute(question) if ids else ():
        rows[row.run_id] = rows.get(row.run_id, 0) + (row.rows or 0)
        if row.state == DONE:
            written.setdefault(row.run_id, []).append(f"{row.table_name} {row.version}")
    return rows, written
