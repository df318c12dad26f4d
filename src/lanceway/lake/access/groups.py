"""Groups, and the users in them. A group that only an issuer knows gets a row when it is first given a role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select

from lanceway.errors import InvalidInputError
from lanceway.lake import users
from lanceway.lake.access import owners
from lanceway.lake.access.facts import ADMIN
from lanceway.lake.access.near import hint
from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import GROUP, group_roles, groups, members
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.tree.names import checked_name, checked_text, new_name
from lanceway.lake.tree.pages import at_most
from lanceway.lake.users import User

_INSERT = Insert(groups, created_at=now())
_BY_NAME = select(groups).where(groups.c.name == bindparam("group"))
_DELETE = delete(groups).where(groups.c.id == bindparam("row"))
_JOIN = Insert(members, granted_at=now())
_ANY_ROLE = select(group_roles.c.role_id).where(group_roles.c.group_id == bindparam("row")).limit(1)
_LEAVE = delete(members).where(members.c.user_id == bindparam("user"), members.c.group_id == bindparam("group"))


class GroupNotFoundError(InvalidInputError):
    """There is no such group."""

    status = 404


@dataclass(frozen=True, slots=True)
class Group:
    id: int
    name: str
    created_by: str
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> Group:
        return cls(row.id, row.name, row.created_by, row.created_at)


def create(connection: Connection, name: str, *, by: str) -> Group | None:
    """Make a group and return it; None if the name is taken."""
    row = _INSERT(connection, {"name": new_name("group", name), "created_by": checked_text("The user", by)})
    if row is None:
        return None
    outbox.record(connection, "group.created", row.name, by=by, row=row.id)
    return Group.of(row)


def find(connection: Connection, name: str) -> Group | None:
    row = connection.execute(_BY_NAME, {"group": checked_name("group", name)}).one_or_none()
    return Group.of(row) if row is not None else None


def load(connection: Connection, name: str) -> Group:
    """Return a group. Raises GroupNotFoundError, with the nearest name that there is."""
    group = find(connection, name)
    if group is None:
        raise GroupNotFoundError(f"There is no group {name!r}.{hint(connection, name, groups.c.name)} Create it first.")
    return group


def ensure(connection: Connection, name: str, *, by: str) -> Group:
    """Return a group, made if it has no row yet, as one that an issuer names may not have."""
    group = find(connection, name) or create(connection, name, by=by) or find(connection, name)
    if group is None:
        raise RetryError(f"The group {name!r} was made and deleted at the same time. Try again.")
    return group


def page(connection: Connection, *, after: str | None = None, limit: int | None = None) -> Sequence[Group]:
    """Return the first `limit` groups after a name, in code point order."""
    statement = select(groups).where(groups.c.name > (after or "")).order_by(groups.c.name).limit(at_most(limit))
    return [Group.of(row) for row in connection.execute(statement)]


def remove(connection: Connection, name: str, *, by: str | None = None) -> Group:
    """Delete a group, with its members' places in it and its roles. What it owns is the administrator's from then on.

    Otherwise a group of the same name, made later, would own it.
    """
    group = load(connection, name)
    owners.hand_over(connection, group.name, ADMIN, GROUP, by=by)
    connection.execute(_DELETE, {"row": group.id})
    outbox.record(connection, "group.deleted", group.name, by=by, row=group.id)
    return group


def has_rights(connection: Connection, group: Group) -> bool:
    """Return whether those who are in a group may do something by it, or may not: it has roles, or owns something."""
    has_role = connection.execute(_ANY_ROLE, {"row": group.id}).one_or_none() is not None
    return has_role or owners.owns_any(connection, group.name, GROUP)


def add(connection: Connection, group: str, user: str, *, by: str) -> bool:
    """Put a user into a group; return whether it was not in it before. A user without a row gets one."""
    joined, member = load(connection, group), ensure_user(connection, user, by=by)
    values = {"group_id": joined.id, "user_id": member.id, "granted_by": checked_text("The user", by)}
    if _JOIN(connection, values) is None:
        return False
    _record_member(connection, "group.joined", joined, member, by)
    return True


def _record_member(connection: Connection, event: str, group: Group, member: User, by: str | None) -> None:
    outbox.record(connection, event, group.name, by=by, row=group.id, data={"user": member.name})


def discard(connection: Connection, group: str, user: str, *, by: str | None = None) -> bool:
    """Take a user out of a group; return whether it was in it. Groups that an issuer names are the issuer's matter."""
    member, left = load_user(connection, user), load(connection, group)
    if not connection.execute(_LEAVE, {"user": member.id, "group": left.id}).rowcount:
        return False
    _record_member(connection, "group.left", left, member, by)
    return True


def member_names(
    connection: Connection, group: str, *, after: str | None = None, limit: int | None = None
) -> Sequence[str]:
    """Return the first `limit` users in a group after a name. Those whose issuer says that they are in it are not
    known here."""
    statement = (
        select(user_rows.c.name)
        .join_from(members, user_rows, user_rows.c.id == members.c.user_id)
        .where(members.c.group_id == load(connection, group).id, user_rows.c.name > (after or ""))
    )
    return connection.execute(statement.order_by(user_rows.c.name).limit(at_most(limit))).scalars().all()


def of_user(connection: Connection, user: str) -> Sequence[str]:
    """Return the groups of the lake that a user is in."""
    statement = (
        select(groups.c.name)
        .join_from(groups, members, members.c.group_id == groups.c.id)
        .join(user_rows, user_rows.c.id == members.c.user_id)
        .where(user_rows.c.name == user)
    )
    return connection.execute(statement.order_by(groups.c.name)).scalars().all()


def load_user(connection: Connection, name: str) -> User:
    """Return a user. Raises InvalidInputError, with the nearest name that there is."""
    user = users.find(connection, name)
    if user is None:
        raise InvalidInputError(f"There is no user {name!r}.{hint(connection, name, user_rows.c.name)}")
    return user


def ensure_user(connection: Connection, name: str, *, by: str) -> User:
    """Return a user, made if it has no row yet, as one who signs in elsewhere may not have."""
    user = users.find(connection, name) or users.create(connection, name, by=by) or users.find(connection, name)
    if user is None:
        raise RetryError(f"The user {name!r} was made and deleted at the same time. Try again.")
    return user
