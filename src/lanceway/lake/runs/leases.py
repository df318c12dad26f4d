"""Leases of pipelines: one run at a time, by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, or_, select, update

from lanceway.errors import ConcurrentModificationError
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import pipelines
from lanceway.lake.tree.names import checked_name, checked_text

_INSERT = Insert(pipelines, created_at=now())
_BY_NAME = select(pipelines, now().label("now")).where(pipelines.c.name == bindparam("pipeline"))
_UNTIL = now() + bindparam("lifetime", type_=BigInteger)
_MINE = (pipelines.c.id == bindparam("row")) & (pipelines.c.holder == bindparam("key"))
# One statement decides between those that ask at once. A holder that asks again by its key has its lease renewed.
_TAKE = (
    update(pipelines)
    .where(
        pipelines.c.id == bindparam("row"),
        or_(
            pipelines.c.holder.is_(None),
            pipelines.c.held_until <= now(),
            pipelines.c.holder.in_((bindparam("key"), bindparam("ended"))),
        ),
    )
    .values(holder=bindparam("key"), held_by=bindparam("by"), held_since=now(), held_until=_UNTIL)
    .returning(pipelines.c.id)
)
_RENEW = update(pipelines).where(_MINE).values(held_until=_UNTIL).returning(pipelines.c.id)
_RELEASE = (
    update(pipelines)
    .where(_MINE)
    .values(holder=None, held_by=None, held_since=None, held_until=None)
    .returning(pipelines.c.id)
)
# Locks the row, so that no other key takes it over before what follows is committed.
_HELD = (
    select(pipelines.c.id)
    .where(pipelines.c.name == bindparam("pipeline"), pipelines.c.holder == bindparam("key"))
    .with_for_update(read=True)
)


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """A pipeline and the holder of its lease, None if it is free. Times are milliseconds of the database's clock."""

    id: int
    name: str
    holder: str | None = field(default=None, repr=False)
    held_by: str | None = None
    held_since: int | None = None

    @property
    def process(self) -> str | None:
        """Return the part of the holder's key that is no secret: its process, for others on the same machine."""
        return self.holder.rpartition("/")[0] if self.holder is not None else None

    @classmethod
    def of(cls, row: Row[Any]) -> PipelineRow:
        if row.holder is None or row.held_until <= row.now:
            return cls(row.id, row.name)
        return cls(row.id, row.name, row.holder, row.held_by, row.held_since)


def find(connection: Connection, name: str) -> PipelineRow | None:
    row = connection.execute(_BY_NAME, {"pipeline": checked_name("pipeline", name)}).one_or_none()
    return PipelineRow.of(row) if row is not None else None


def ensure(connection: Connection, name: str) -> PipelineRow:
    """Return the pipeline of this name, made if it is missing."""
    pipeline = find(connection, name)
    if pipeline is None:
        _INSERT(connection, {"name": checked_name("pipeline", name)})
        pipeline = find(connection, name)
    if pipeline is None:
        raise RetryError("The pipeline is just being made by another process. Try again.")
    return pipeline


def take(connection: Connection, pipeline: int, key: str, *, by: str, lifetime: int, ended: str | None = None) -> bool:
    """Take the lease of a pipeline for `lifetime` milliseconds; return False while another key holds it.

    `ended` is the key of a holder that is known to be no more.
    """
    parameters = {"row": pipeline, "key": key, "by": checked_text("The user", by), "lifetime": lifetime, "ended": ended}
    return connection.execute(_TAKE, parameters).one_or_none() is not None


def renew(connection: Connection, pipeline: int, key: str, *, lifetime: int) -> bool:
    """Renew a lease; return False if another key has taken it over."""
    return connection.execute(_RENEW, {"row": pipeline, "key": key, "lifetime": lifetime}).one_or_none() is not None


def release(connection: Connection, pipeline: int, key: str) -> bool:
    """Give a lease back; return False if another key has taken it over."""
    return connection.execute(_RELEASE, {"row": pipeline, "key": key}).one_or_none() is not None


def require(connection: Connection, name: str, key: str) -> int:
    """Return the row of a leased pipeline. Raises ConcurrentModificationError if another key has taken it over."""
    row = connection.execute(_HELD, {"pipeline": checked_name("pipeline", name), "key": key}).one_or_none()
    if row is None:
        raise ConcurrentModificationError(
            f"The pipeline {name} was taken over by another run, because this one did not renew its lease in time. "
            "What this one has committed stays, and the other one continues from there."
        )
    return int(row.id)
