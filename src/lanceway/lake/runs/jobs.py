"""Background jobs: requested, taken by one worker at a time, and their results.

A job without a lease is queued. A worker that takes one holds it by a lease that goes by the database's clock, and
renews it; where it does not, another one takes the job again. Times are the database's, in milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from lanceway.errors import ThrottlingError
from lanceway.lake.feed import outbox
from lanceway.lake.runs.job_states import CANCELLED, ENDED, FAILED, QUEUED, RUNNING
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import jobs
from lanceway.lake.tree.names import checked_text
from lanceway.lake.tree.pages import at_most

# So often is a job begun whose workers die, or meet what may pass.
MOST_ATTEMPTS = 3
# So many jobs of one user may be queued or running: no user fills the queue for all.
MOST_OF_ONE_USER = 1_000

_INSERT = Insert(jobs, created_at=now(), due_at=now() + bindparam("pause", type_=BigInteger))
_BY_KEY = select(jobs).where(jobs.c.key == bindparam("job"))
_SAME = select(jobs).where(jobs.c.digest == bindparam("same"), jobs.c.state == QUEUED)
_UNFINISHED = (
    select(func.count())
    .select_from(jobs)
    .where(jobs.c.requested_by == bindparam("user"), jobs.c.state.in_((QUEUED, RUNNING)))
)
_UNTIL = now() + bindparam("lifetime", type_=BigInteger)
_MINE = (jobs.c.key == bindparam("job")) & (jobs.c.holder == bindparam("by_holder"))

_others = jobs.alias("others")
_LOST = and_(jobs.c.state == RUNNING, jobs.c.holder.is_not(None), jobs.c.held_until <= now())
_WAITS = and_(jobs.c.state.in_((QUEUED, RUNNING)), jobs.c.holder.is_(None), jobs.c.due_at <= now())
_FREE = or_(_WAITS, _LOST)
_BUSY = (
    select(_others.c.id)
    .where(
        _others.c.holder.is_not(None),
        _others.c.id != jobs.c.id,
        _others.c.place == jobs.c.place,
    )
    .exists()
)
# By due time: a job that is given back, such as a view that is kept fresh, goes behind those that waited longer.
_DUE = (
    select(jobs.c.id)
    .where(jobs.c.metalake == bindparam("of"), _FREE, ~_BUSY)
    .order_by(jobs.c.due_at, jobs.c.id)
    .limit(1)
)
_CLAIM = (
    update(jobs)
    # Checked again here: a transaction that waited for a row must see that another has just taken it.
    .where(jobs.c.id == _DUE.with_for_update(skip_locked=True).scalar_subquery(), _FREE)
    .values(
        state=RUNNING,
        holder=bindparam("key_of_holder"),
        held_by=bindparam("who"),
        held_until=_UNTIL,
        attempts=jobs.c.attempts + 1,
        began_at=now(),
        error=None,
    )
    .returning(*jobs.c)
)
_NOBODY = {"holder": None, "held_by": None, "held_until": None}


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as its row has it. `path` names the table in the catalog; `request` is what was asked for."""

    id: int
    key: str
    kind: str
    metalake: str
    catalog: str
    path: tuple[str, ...]
    request: Mapping[str, Any]
    state: str
    attempts: int
    cancelled_by: str | None
    progress: Mapping[str, Any] | None
    result: Mapping[str, Any] | None
    error: str | None
    requested_by: str
    requested_groups: Sequence[str] | None
    held_by: str | None
    created_at: int
    began_at: int | None
    ended_at: int | None
    holder: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, row: Row[Any]) -> JobRow:
        values = {name: getattr(row, name) for name in cls.__slots__}
        # One that was given back waits, as a new one does.
        state = QUEUED if row.state == RUNNING and row.holder is None else row.state
        return cls(**{**values, "path": tuple(json.loads(row.path)), "state": state})


def written(path: Sequence[str]) -> str:
    """Return a table's names as one text, the same for the same names."""
    return json.dumps(list(path), separators=(",", ":"))


def record(
    connection: Connection,
    kind: str,
    metalake: str,
    catalog: str,
    path: Sequence[str],
    request: Mapping[str, Any],
    *,
    by: str,
    groups: Sequence[str] | None = None,
    pause: int = 0,
) -> JobRow:
    """Record a job to begin `pause` milliseconds from now, unless the same one is queued already; return the job.

    With `groups`, even if there are none, a server asks for a user, with whose rights the job runs.
    Raises ThrottlingError where the user has `MOST_OF_ONE_USER` jobs that have not ended.
    """
    place, digest = _hash(metalake, catalog, list(path)), _hash(kind, metalake, catalog, list(path), request)
    values = {
        "key": f"job-{secrets.token_hex(10)}",
        "kind": kind,
        "metalake": metalake,
        "catalog": catalog,
        "path": written(path),
        "place": place,
        "request": dict(request),
        "digest": digest,
        "state": QUEUED,
        "attempts": 0,
        "requested_by": checked_text("The user", by),
        "requested_groups": None if groups is None else list(groups),
        "pause": pause,
    }
    same = connection.execute(_SAME, {"same": digest}).one_or_none()
    if same is not None:
        return JobRow.of(same)
    if connection.execute(_UNFINISHED, {"user": values["requested_by"]}).scalar_one() >= MOST_OF_ONE_USER:
        raise ThrottlingError(
            f"The job was not recorded: {by} has {MOST_OF_ONE_USER:,} jobs that have not ended, and one user may have "
            "no more. Wait for some to end, or cancel some: lanceway jobs list, lanceway jobs cancel."
        )
    row = _INSERT(connection, values)
    if row is None:
        raise RetryError("The same job was just recorded. Try again.")
    _record(connection, "job.queued", row, by)
    return JobRow.of(row)


def _record(connection: Connection, event: str, row: Row[Any], by: str | None, **data: object) -> None:
    facts = {"job_kind": row.kind, "object": [row.catalog, *json.loads(row.path)], **data}
    outbox.record(connection, event, row.key, by=by, row=row.id, metalake=row.metalake, data=facts)


def _hash(*values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def find(connection: Connection, key: str) -> JobRow | None:
    row = connection.execute(_BY_KEY, {"job": key}).one_or_none()
    return JobRow.of(row) if row is not None else None


def page(
    connection: Connection,
    metalake: str,
    *,
    catalog: str | None = None,
    path: Sequence[str] | None = None,
    state: str | None = None,
    user: str | None = None,
    before: int | None = None,
    limit: int | None = None,
) -> Sequence[JobRow]:
    """Return the jobs that match, newest first, beginning before the one with the id `before`."""
    conditions: list[ColumnElement[bool]] = [jobs.c.metalake == metalake]
    if catalog is not None:
        conditions.append(jobs.c.catalog == checked_text("The catalog", catalog))
    if path is not None:
        conditions.append(jobs.c.path == written(path))
    if state is not None:
        conditions.append(_in_state(state))
    if user is not None:
        conditions.append(jobs.c.requested_by == user)
    if before is not None:
        conditions.append(jobs.c.id < before)
    question: Select[Any] = select(jobs).where(*conditions).order_by(jobs.c.id.desc()).limit(at_most(limit))
    return [JobRow.of(row) for row in connection.execute(question)]


def _in_state(state: str) -> ColumnElement[bool]:
    if state == QUEUED:
        return jobs.c.state.in_((QUEUED, RUNNING)) & jobs.c.holder.is_(None)
    if state == RUNNING:
        return (jobs.c.state == RUNNING) & jobs.c.holder.is_not(None)
    return jobs.c.state == state


def cancel(connection: Connection, key: str, *, by: str) -> JobRow | None:
    """Cancel a job: a queued one ends at once, a running one is asked to end, one that has ended stays as it is."""
    _cancel(connection, jobs.c.key == key, by)
    return find(connection, key)


def cancel_all(connection: Connection, user: str, *, by: str) -> None:
    """Cancel all jobs that a user asked for and that have not ended, as `cancel` does."""
    _cancel(connection, jobs.c.requested_by == user, by)


def _cancel(connection: Connection, which: ColumnElement[bool], by: str) -> None:
    unfinished = which & jobs.c.state.in_((QUEUED, RUNNING))
    by = checked_text("The user", by) or ""
    asked = update(jobs).where(unfinished, jobs.c.cancelled_by.is_(None)).values(cancelled_by=by).returning(*jobs.c)
    for row in connection.execute(asked).all():
        _record(connection, "job.cancelled", row, by)
    _end(connection, _ended(unfinished & or_(jobs.c.holder.is_(None), jobs.c.held_until <= now()), CANCELLED), by=by)


def _end(connection: Connection, statement: Any, values: Mapping[str, object] | None = None, *, by: str | None) -> None:
    """End jobs, and record how each has ended."""
    for row in connection.execute(statement.returning(*jobs.c), values or {}).all():
        _record(connection, "job.ended", row, by, state=row.state)


# -- workers -------------------------------------------------------------------------------------


def is_due(connection: Connection, metalake: str) -> bool:
    """Return whether there is a job to take."""
    return connection.execute(_DUE, {"of": metalake}).first() is not None


def claim(connection: Connection, metalake: str, holder: str, *, by: str, lifetime: int) -> JobRow | None:
    """Take the oldest job that may be begun, for `lifetime` milliseconds; None where there is none.

    In one statement, so that any number of workers may do it at once. Of the jobs of one table one runs at a time.
    """
    _settle(connection)
    parameters = {"of": metalake, "key_of_holder": holder, "who": checked_text("The worker", by), "lifetime": lifetime}
    try:
        row = connection.execute(_CLAIM, parameters).one_or_none()
    except IntegrityError as error:  # another job of the same table was taken at the same moment
        raise RetryError("Another worker was faster. Try again.") from error
    if row is None:
        return None
    _record(connection, "job.started", row, None, attempt=row.attempts)
    return JobRow.of(row)


def _settle(connection: Connection) -> None:
    """End jobs that their workers abandoned and that have no attempt left."""
    _end(connection, _ended(_LOST & jobs.c.cancelled_by.is_not(None), CANCELLED), by=None)
    died = f"Its worker died {MOST_ATTEMPTS} times. Look at the log of the worker before you ask for it again."
    _end(connection, _ended(_LOST & (jobs.c.attempts >= MOST_ATTEMPTS), FAILED, error=died), by=None)


def renew(
    connection: Connection, job: JobRow, *, lifetime: int, progress: Mapping[str, Any] | None = None
) -> JobRow | None:
    """Renew the lease of a job and record its progress; return None if another worker has taken it."""
    values = {} if progress is None else {"progress": dict(progress)}
    change = update(jobs).where(_MINE).values(held_until=_UNTIL, **values).returning(*jobs.c)
    row = connection.execute(change, {**_held(job), "lifetime": lifetime}).one_or_none()
    return JobRow.of(row) if row is not None else None


def end(
    connection: Connection,
    job: JobRow,
    state: str,
    *,
    result: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> None:
    """Record how a job ended. Nothing happens if another worker has taken it."""
    values = {"result": None if result is None else dict(result), "error": checked_text("The error", error)}
    _end(connection, _ended(_MINE, state, **values), _held(job), by=None)


def release(
    connection: Connection, job: JobRow, *, pause: int = 0, error: str | None = None, counts: bool = False
) -> None:
    """Give a job back for another worker, `pause` milliseconds from now; `counts` if that was an attempt."""
    attempts = jobs.c.attempts if counts else jobs.c.attempts - 1
    values = {"due_at": now() + pause, "error": checked_text("The error", error), "attempts": attempts}
    statement = update(jobs).where(_MINE).values(**_NOBODY, **values).returning(*jobs.c)
    for row in connection.execute(statement, _held(job)).all():
        _record(connection, "job.released", row, None)


def forget(connection: Connection, *, older: int) -> None:
    """Delete the jobs that ended more than `older` milliseconds ago."""
    connection.execute(delete(jobs).where(jobs.c.state.in_(sorted(ENDED)), jobs.c.ended_at < now() - older))


def _ended(condition: ColumnElement[bool], state: str, **values: Any) -> Any:
    return update(jobs).where(condition).values(state=state, ended_at=now(), **_NOBODY, **values)


def _held(job: JobRow) -> dict[str, object]:
    return {"job": job.key, "by_holder": job.holder}
