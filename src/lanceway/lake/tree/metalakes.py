"""Metalakes: each is a whole tree of catalogs, with its users and roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from lanceway.errors import (
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.lake.feed import outbox
from lanceway.lake.store import errors
from lanceway.lake.store.rows import KEEP, Audit, Keep, altered, change, described, insert_audited
from lanceway.lake.store.schema import metalakes
from lanceway.lake.tree.names import checked_name, new_name

_INSERT = insert_audited(metalakes)
_BY_NAME = select(metalakes).where(metalakes.c.name == bindparam("metalake"))
_CHANGE = change(metalakes).where(metalakes.c.id == bindparam("row")).returning(*metalakes.c)


@dataclass(frozen=True, slots=True)
class Metalake:
    id: int
    name: str
    comment: str | None
    properties: Mapping[str, str]
    owner: str | None
    audit: Audit

    @classmethod
    def of(cls, row: Row[Any]) -> Metalake:
        return cls(row.id, row.name, row.comment, row.properties, row.owner, Audit.of(row))


def create(
    connection: Connection,
    name: str,
    *,
    by: str,
    owner: str | None = None,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Metalake:
    """Make a metalake. Raises NamespaceAlreadyExistsError."""
    values = {"name": new_name("metalake", name), **described(comment, properties, owner, by)}
    row = _INSERT(connection, values)
    if row is None:
        raise NamespaceAlreadyExistsError(f"The metalake {name!r} exists already. Use it, or choose another name.")
    outbox.record(connection, "metalake.created", "", by=by, row=row.id, metalake=row.name)
    return Metalake.of(row)


def load(connection: Connection, name: str) -> Metalake:
    """Return a metalake by its name. Raises NamespaceNotFoundError."""
    return Metalake.of(_row(connection, name))


def lock(connection: Connection, name: str) -> Metalake:
    """Return a metalake that no other transaction gives a new catalog meanwhile. Raises NamespaceNotFoundError."""
    return Metalake.of(_row(connection, name, lock=True))


def names(connection: Connection, *, after: str | None = None, limit: int | None = None) -> Sequence[str]:
    """Return the first `limit` names after `after`, in code point order."""
    statement = select(metalakes.c.name).where(metalakes.c.name > (after or "")).order_by(metalakes.c.name).limit(limit)
    return connection.execute(statement).scalars().all()


def alter(
    connection: Connection,
    name: str,
    *,
    by: str,
    properties: Mapping[str, str | None] | None = None,
    comment: str | Keep | None = KEEP,
    owner: str | Keep = KEEP,
) -> Metalake:
    """Change what is given; a property given as None is taken away."""
    row = _row(connection, name, lock=True)
    values = altered(row, properties, by=by, comment=comment, owner=owner)
    outbox.record(connection, "metalake.altered", "", by=by, row=row.id, metalake=row.name)
    return Metalake.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one())


def drop(connection: Connection, name: str, *, by: str | None = None) -> Metalake:
    """Drop a metalake. Raises NamespaceNotEmptyError while it has catalogs."""
    gone = delete(metalakes).where(metalakes.c.name == checked_name("metalake", name)).returning(*metalakes.c)
    try:
        row = connection.execute(gone).one_or_none()
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise namespace_not_empty(f"The metalake {name!r} has catalogs. Drop them first.") from error
    if row is None:
        raise _missing(name)
    outbox.record(connection, "metalake.dropped", "", by=by, row=row.id, metalake=row.name)
    return Metalake.of(row)


def _row(connection: Connection, name: str, *, lock: bool = False) -> Row[Any]:
    statement = _BY_NAME.with_for_update(key_share=True) if lock else _BY_NAME
    row = connection.execute(statement, {"metalake": checked_name("metalake", name)}).one_or_none()
    if row is None:
        raise _missing(name)
    return row


def _missing(name: str) -> NamespaceNotFoundError:
    return namespace_not_found(f"There is no metalake {name!r}. Create it first.")
