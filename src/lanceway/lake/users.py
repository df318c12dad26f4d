"""Users: those of the lake itself, who have tokens, and of others' those of whom something must be recorded.

A user of the lake has a bare name; who signs in with an issuer is called `name@alias` (see `issuers`), and needs a row
only to be an admin, to have tokens, or to be disabled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from lanceway.errors import InvalidInputError
from lanceway.lake import idempotency, issuers
from lanceway.lake.access import owners
from lanceway.lake.access.facts import ADMIN
from lanceway.lake.feed import outbox
from lanceway.lake.runs import jobs
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import branches, definitions, members, runs, tags, user_roles, users
from lanceway.lake.store.schema import jobs as job_rows
from lanceway.lake.tree.names import checked_name, checked_text, new_name
from lanceway.lake.tree.pages import at_most

_INSERT = Insert(users, created_at=now())
_BY_NAME = select(users).where(users.c.name == bindparam("user"))
_ROW = users.c.id == bindparam("row")
_SET_ADMIN = update(users).where(_ROW).values(admin=bindparam("is_admin")).returning(*users.c)
_DISABLE = update(users).where(_ROW).values(disabled_at=now(), disabled_by=bindparam("by")).returning(*users.c)
_ENABLE = update(users).where(_ROW).values(disabled_at=None, disabled_by=None).returning(*users.c)
_RENAME = update(users).where(_ROW).values(name=bindparam("new_name"), issuer=bindparam("new_issuer"))
_DELETE = delete(users).where(_ROW)
_IS_WORKING_ADMIN = users.c.admin & users.c.disabled_at.is_(None)
_ANY_ADMIN = select(users.c.id).where(_IS_WORKING_ADMIN).limit(1)
# Locked, so that of two admins who remove each other at the same moment the second finds itself the last.
_LOCKED_ADMINS = select(users.c.id).where(_IS_WORKING_ADMIN).order_by(users.c.id).with_for_update()
# What belongs to a user by name. Columns that say who did something, such as created_by, are history and stay.
_BELONGINGS = (tags.c.owner, branches.c.owner, definitions.c.owner, job_rows.c.requested_by, runs.c.started_by)
_DELETED = "#"  # and a number, where the alias of an issuer would be: no alias has it
_ANY_ROLE = select(user_roles.c.role_id).where(user_roles.c.user_id == bindparam("row")).limit(1)
_ANY_GROUP = select(members.c.group_id).where(members.c.user_id == bindparam("row")).limit(1)


class LastAdminError(InvalidInputError):
    """The change would leave no admin who is enabled."""

    status = 409


@dataclass(frozen=True, slots=True)
class User:
    """A user. An `admin` administers the server, with the tokens of all users.

    Times are milliseconds of the database's clock. A user that is disabled is refused, whatever its credentials.
    """

    id: int
    name: str
    admin: bool
    issuer: str | None
    created_by: str
    created_at: int
    disabled_by: str | None
    disabled_at: int | None

    @classmethod
    def of(cls, row: Row[Any]) -> User:
        return cls(
            row.id,
            row.name,
            row.admin,
            row.issuer,
            row.created_by,
            row.created_at,
            row.disabled_by,
            row.disabled_at,
        )

    @property
    def is_disabled(self) -> bool:
        return self.disabled_at is not None


def create(connection: Connection, name: str, *, by: str, admin: bool = False) -> User | None:
    """Make a user and return it; None if the name is taken, even by a transaction that is still open.

    Raises InvalidInputError for a name with an @, unless an issuer that the lake knows has the alias behind it.
    """
    name, issuer = _checked_new(connection, name)
    values = {"name": name, "issuer": issuer, "admin": admin, "created_by": checked_text("The user", by)}
    row = _INSERT(connection, values)
    if row is None:
        return None
    user = User.of(row)
    _record(connection, "created", user, by, {"admin": admin})
    return user


def _record(
    connection: Connection, verb: str, user: User, by: str | None, data: Mapping[str, object] | None = None
) -> None:
    outbox.record(connection, f"user.{verb}", user.name, by=by, row=user.id, data=data)


def find(connection: Connection, name: str) -> User | None:
    row = connection.execute(_BY_NAME, {"user": checked_name("user", name)}).one_or_none()
    return User.of(row) if row is not None else None


def page(
    connection: Connection, *, disabled: bool | None = None, after: str | None = None, limit: int | None = None
) -> Sequence[User]:
    """Return the first `limit` users after a name, in order of their names: all, or those that are disabled or not."""
    conditions: list[ColumnElement[bool]] = [] if after is None else [users.c.name > after]
    if disabled is not None:
        conditions.append(users.c.disabled_at.is_not(None) if disabled else users.c.disabled_at.is_(None))
    rows = connection.execute(select(users).where(*conditions).order_by(users.c.name).limit(at_most(limit)))
    return [User.of(row) for row in rows]


def has_admin(connection: Connection) -> bool:
    """Return whether there is an admin who is enabled."""
    return connection.execute(_ANY_ADMIN).one_or_none() is not None


def has_roles(connection: Connection, user: User) -> bool:
    """Return whether a user has a role, itself or by a group of the lake."""
    return any(connection.execute(each, {"row": user.id}).one_or_none() is not None for each in (_ANY_ROLE, _ANY_GROUP))


def promote(connection: Connection, user: User, *, by: str | None = None) -> User:
    """Make a user an admin."""
    if not user.admin:
        _record(connection, "promoted", user, by)
    return _change(connection, _SET_ADMIN, user, is_admin=True)


def demote(connection: Connection, user: User, *, by: str | None = None) -> User:
    """Make an admin a user like others. Raises LastAdminError for the last one who is enabled."""
    _refuse_last(connection, user, "demoted")
    if user.admin:
        _record(connection, "demoted", user, by)
    return _change(connection, _SET_ADMIN, user, is_admin=False)


def disable(connection: Connection, user: User, *, by: str) -> User:
    """Refuse a user from now on. One that was disabled before stays as it is. Raises LastAdminError as `demote`."""
    _refuse_last(connection, user, "disabled")
    if user.is_disabled:
        return user
    _record(connection, "disabled", user, by)
    return _change(connection, _DISABLE, user, by=checked_text("The user", by))


def enable(connection: Connection, user: User, *, by: str | None = None) -> User:
    """Let a user in again."""
    if user.is_disabled:
        _record(connection, "enabled", user, by)
    return _change(connection, _ENABLE, user)


def remove(connection: Connection, user: User, *, by: str) -> None:
    """Delete a user, with its tokens and the keys of its requests. Raises LastAdminError as `demote`.

    What it owns becomes the administrator's, and its jobs are cancelled. Its jobs and runs stay, under a name that no
    user can have: one that is given the name later must not see them.
    """
    _refuse_last(connection, user, "deleted")
    owners.hand_over(connection, user.name, ADMIN, by=by)
    jobs.cancel_all(connection, user.name, by=by)
    idempotency.forget_all(connection, user.name)
    move_belongings(connection, user.name, f"{user.name}{issuers.MARK}{_DELETED}{user.id}", by=by)
    _record(connection, "deleted", user, by)
    connection.execute(_DELETE, {"row": user.id})


def rename(connection: Connection, user: User, name: str, *, by: str | None = None) -> User:
    """Give a user another name, which no other user has, and leave it its tokens. `move_belongings` does the rest."""
    name, issuer = _checked_new(connection, name)
    try:
        connection.execute(_RENAME, {"row": user.id, "new_name": name, "new_issuer": issuer})
    except IntegrityError as error:
        raise RetryError(f"Another client is making the user {name!r}. Try again.") from error
    renamed = _one(connection, name)
    _record(connection, "renamed", renamed, by, {"previous": user.name})
    return renamed


def move_belongings(connection: Connection, name: str, new_name: str, *, by: str | None = None) -> int:
    """Let all that belongs to one name belong to another: what it owns, its jobs, its runs. Return how many rows.

    The keys of its requests go with it, too, and are not counted.
    """
    names = {"old": name, "new": new_name}
    idempotency.hand_on(connection, name, new_name)
    return owners.hand_over(connection, name, new_name, by=by) + sum(
        connection.execute(
            update(column.table).where(column == bindparam("old")).values({column: bindparam("new")}), names
        ).rowcount
        for column in _BELONGINGS
    )


def checked_new_name(connection: Connection, name: str) -> str:
    """Return the name that a user is to have, normalised. Raises InvalidInputError as `create` does."""
    return _checked_new(connection, name)[0]


def _checked_new(connection: Connection, name: str) -> tuple[str, str | None]:
    name = new_name("user", name)
    own, alias = issuers.split_name(name)
    if alias is None:
        return name, None
    known = issuers.known(connection)
    if not own or alias not in known:
        raise InvalidInputError(
            f"The name {name!r} cannot be that of a user: what stands behind an {issuers.MARK} is the alias of an "
            f"OpenID Connect issuer, and none has the alias {alias!r} here. {issuers.shown(known)} Choose a name "
            f"without {issuers.MARK} for a user of the lake itself."
        )
    return name, alias


def _refuse_last(connection: Connection, user: User, what: str) -> None:
    admins = connection.execute(_LOCKED_ADMINS).scalars().all()
    if list(admins) == [user.id]:
        raise LastAdminError(
            f"{user.name!r} is the last admin who is enabled, and cannot be {what}. Make another user an admin first: "
            "lanceway users promote NAME"
        )


def _change(connection: Connection, statement: Any, user: User, **values: object) -> User:
    row = connection.execute(statement, {"row": user.id, **values}).one_or_none()
    if row is None:
        raise RetryError(f"The user {user.name!r} was just deleted. Try again.")
    return User.of(row)


def _one(connection: Connection, name: str) -> User:
    user = find(connection, name)
    if user is None:
        raise RetryError(f"The user {name!r} was just deleted. Try again.")
    return user
