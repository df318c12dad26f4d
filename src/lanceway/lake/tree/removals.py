"""Folders of dropped tables, until their data is gone.

A drop records the folder in its own transaction; whoever has removed the data says so. What a crash left
behind is found here, and nobody is given the location in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import removals

_INSERT = Insert(removals, dropped_at=now())
_PENDING = select(removals).order_by(removals.c.dropped_at, removals.c.location)


@dataclass(frozen=True, slots=True)
class Removal:
    location: str
    dropped_by: str
    dropped_at: int


def record(connection: Connection, locations: Sequence[str], *, by: str) -> None:
    _INSERT.many(connection, [{"location": location, "dropped_by": by} for location in locations])


def pending(connection: Connection, *, limit: int = 1000) -> Sequence[Removal]:
    """What is still to be removed, the oldest first."""
    found = connection.execute(_PENDING.limit(limit))
    return [Removal(row.location, row.dropped_by, row.dropped_at) for row in found]


def done(connection: Connection, location: str) -> None:
    """The data is gone; the location may be used again."""
    connection.execute(delete(removals).where(removals.c.location == location))
