"""Users who have tokens of the lake itself. Those who sign in elsewhere need no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import users
from lanceway.lake.tree.names import checked_name, checked_text, new_name

_INSERT = Insert(users, created_at=now())
_BY_NAME = select(users).where(users.c.name == bindparam("user"))
_PROMOTE = update(users).where(users.c.id == bindparam("row")).values(admin=True).returning(*users.c)


@dataclass(frozen=True, slots=True)
class User:
    """A user. An `admin` administers the server, with the tokens of all users."""

    id: int
    name: str
    admin: bool

    @classmethod
    def of(cls, row: Row[Any]) -> User:
        return cls(row.id, row.name, row.admin)


def create(connection: Connection, name: str, *, by: str, admin: bool = False) -> User | None:
    """Make a user and return it; None if the name is taken, even by a transaction that is still open."""
    values = {"name": new_name("user", name), "admin": admin, "created_by": checked_text("The user", by)}
    row = _INSERT(connection, values)
    return User.of(row) if row is not None else None


def find(connection: Connection, name: str) -> User | None:
    row = connection.execute(_BY_NAME, {"user": checked_name("user", name)}).one_or_none()
    return User.of(row) if row is not None else None


def promote(connection: Connection, user: User) -> User:
    """Make a user an admin."""
    return User.of(connection.execute(_PROMOTE, {"row": user.id}).one())
