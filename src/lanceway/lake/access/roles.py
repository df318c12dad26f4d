"""Roles of a metalake, and the users and groups that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, literal, select, union_all

from lanceway.errors import InvalidInputError
from lanceway.lake.access import groups
from lanceway.lake.access.near import hint
from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import GROUP, USER, group_roles, metalakes, roles, user_roles
from lanceway.lake.store.schema import groups as group_rows
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.tree import metalakes as metalake_tree
from lanceway.lake.tree.names import checked_name, checked_text, new_name
from lanceway.lake.tree.pages import at_most

_INSERT = Insert(roles, created_at=now())
# Held, so that the role is still there when something is given to it.
_BY_NAME = (
    select(roles)
    .join_from(roles, metalakes, metalakes.c.id == roles.c.metalake_id)
    .where(metalakes.c.name == bindparam("metalake"), roles.c.name == bindparam("role"))
    .with_for_update(of=roles, read=True, key_share=True)
)
_DELETE = delete(roles).where(roles.c.id == bindparam("row"))
_GIVE = {USER: Insert(user_roles, granted_at=now()), GROUP: Insert(group_roles, granted_at=now())}
_TAKE = {
    USER: delete(user_roles).where(user_roles.c.user_id == bindparam("holder"), user_roles.c.role_id == bindparam("r")),
    GROUP: delete(group_roles).where(
        group_roles.c.group_id == bindparam("holder"), group_roles.c.role_id == bindparam("r")
    ),
}


class RoleNotFoundError(InvalidInputError):
    """There is no such role."""

    status = 404


@dataclass(frozen=True, slots=True)
class Role:
    id: int
    metalake_id: int
    name: str
    comment: str | None
    created_by: str
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> Role:
        return cls(row.id, row.metalake_id, row.name, row.comment, row.created_by, row.created_at)


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """A user or a group that has a role."""

    kind: str
    name: str
    role: str
    granted_by: str
    granted_at: int


def create(connection: Connection, metalake: str, name: str, *, by: str, comment: str | None = None) -> Role | None:
    """Make a role, which may do nothing yet; None if the name is taken."""
    values = {"metalake_id": metalake_tree.load(connection, metalake).id, "name": new_name("role", name)}
    texts = {"comment": checked_text("The comment", comment), "created_by": checked_text("The user", by)}
    row = _INSERT(connection, {**values, **texts})
    if row is None:
        return None
    outbox.record(connection, "role.created", row.name, by=by, row=row.id, metalake=metalake)
    return Role.of(row)


def find(connection: Connection, metalake: str, name: str) -> Role | None:
    parameters = {"metalake": checked_name("metalake", metalake), "role": checked_name("role", name)}
    row = connection.execute(_BY_NAME, parameters).one_or_none()
    return Role.of(row) if row is not None else None


def load(connection: Connection, metalake: str, name: str) -> Role:
    """Return a role. Raises RoleNotFoundError, with the nearest name that there is."""
    role = find(connection, metalake, name)
    if role is None:
        parent = metalake_tree.load(connection, metalake)
        near = hint(connection, name, roles.c.name, roles.c.metalake_id == parent.id)
        raise RoleNotFoundError(f"There is no role {name!r} in the metalake {metalake!r}.{near} Create it first.")
    return role


def page(
    connection: Connection, metalake: str, *, after: str | None = None, limit: int | None = None
) -> Sequence[Role]:
    """Return the first `limit` roles after a name, in code point order."""
    parent = metalake_tree.load(connection, metalake)
    statement = select(roles).where(roles.c.metalake_id == parent.id, roles.c.name > (after or ""))
    return [Role.of(row) for row in connection.execute(statement.order_by(roles.c.name).limit(at_most(limit)))]


def remove(connection: Connection, metalake: str, name: str, *, by: str | None = None) -> Role:
    """Delete a role, with all that it was granted or denied, and take it from all who have it."""
    role = load(connection, metalake, name)
    connection.execute(_DELETE, {"row": role.id})
    outbox.record(connection, "role.deleted", role.name, by=by, row=role.id, metalake=metalake)
    return role


def give(connection: Connection, metalake: str, role: str, holder: str, kind: str = USER, *, by: str) -> bool:
    """Give a role to a user or a group; return whether it was without it. Who has no row yet gets one."""
    granted = load(connection, metalake, role)
    id_ = _ensure(connection, holder, kind, by)
    values = {f"{kind}_id": id_, "role_id": granted.id, "granted_by": checked_text("The user", by)}
    if _GIVE[kind](connection, values) is None:
        return False
    _record_holder(connection, "role.given", metalake, granted, holder, kind, by)
    return True


def _record_holder(
    connection: Connection, event: str, metalake: str, role: Role, holder: str, kind: str, by: str | None
) -> None:
    data = {"holder": holder, "holder_kind": kind}
    outbox.record(connection, event, role.name, by=by, row=role.id, metalake=metalake, data=data)


def take(
    connection: Connection, metalake: str, role: str, holder: str, kind: str = USER, *, by: str | None = None
) -> bool:
    """Take a role from a user or a group; return whether it had it."""
    taken = load(connection, metalake, role)
    id_ = groups.load_user(connection, holder).id if _checked(kind) == USER else groups.load(connection, holder).id
    if not connection.execute(_TAKE[kind], {"holder": id_, "r": taken.id}).rowcount:
        return False
    _record_holder(connection, "role.taken", metalake, taken, holder, kind, by)
    return True


def holders(connection: Connection, role: Role) -> Sequence[RoleHolder]:
    """Return who has a role: users, then groups, by name."""
    return _holders(connection, roles.c.id == role.id)


def holders_of(connection: Connection, metalake: str, names: Sequence[str]) -> Sequence[RoleHolder]:
    """Return who has some roles of a metalake: by role, of each users, then groups, by name."""
    if not names:
        return ()
    parent = metalake_tree.load(connection, metalake).id
    return _holders(connection, (roles.c.metalake_id == parent) & roles.c.name.in_(names))


def _holders(connection: Connection, wanted: ColumnElement[bool]) -> Sequence[RoleHolder]:
    common = (roles.c.name.label("role"),)
    statement = union_all(
        select(literal(USER).label("kind"), user_rows.c.name, *common, user_roles.c.granted_by, user_roles.c.granted_at)
        .join_from(user_roles, user_rows, user_rows.c.id == user_roles.c.user_id)
        .join(roles, roles.c.id == user_roles.c.role_id)
        .where(wanted),
        select(literal(GROUP), group_rows.c.name, *common, group_roles.c.granted_by, group_roles.c.granted_at)
        .join_from(group_roles, group_rows, group_rows.c.id == group_roles.c.group_id)
        .join(roles, roles.c.id == group_roles.c.role_id)
        .where(wanted),
    )
    found = [RoleHolder(*row) for row in connection.execute(statement)]
    return sorted(found, key=lambda holder: (holder.role, holder.kind == GROUP, holder.name))


def of_holders(connection: Connection, metalake: str, user: str, group_names: Sequence[str]) -> Sequence[RoleHolder]:
    """Return the roles of a metalake that a user or one of some groups has."""
    parent = metalake_tree.load(connection, metalake).id
    common = (roles.c.name.label("role"),)
    statement = union_all(
        select(literal(USER).label("kind"), user_rows.c.name, *common, user_roles.c.granted_by, user_roles.c.granted_at)
        .join_from(user_roles, user_rows, user_rows.c.id == user_roles.c.user_id)
        .join(roles, roles.c.id == user_roles.c.role_id)
        .where(user_rows.c.name == user, roles.c.metalake_id == parent),
        select(literal(GROUP), group_rows.c.name, *common, group_roles.c.granted_by, group_roles.c.granted_at)
        .join_from(group_roles, group_rows, group_rows.c.id == group_roles.c.group_id)
        .join(roles, roles.c.id == group_roles.c.role_id)
        .where(group_rows.c.name.in_(group_names), roles.c.metalake_id == parent),
    )
    found = [RoleHolder(*row) for row in connection.execute(statement)]
    return sorted(found, key=lambda holder: (holder.role, holder.kind == GROUP, holder.name))


def _ensure(connection: Connection, holder: str, kind: str, by: str) -> int:
    if _checked(kind) == USER:
        return groups.ensure_user(connection, holder, by=by).id
    return groups.ensure(connection, holder, by=by).id


def _checked(kind: str) -> str:
    if kind not in (USER, GROUP):
        raise InvalidInputError(f"A role is given to a user or a group, not to a {kind!r}.")
    return kind
