"""Grants and denials: what roles may do with what, changed in batches that hold as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, delete, select

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access import roles, securables
from lanceway.lake.access.securables import Securable, SecurableRow
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import (
    ALLOW,
    DENY,
    NAMESPACE,
    TABLE,
    VIEW,
    catalogs,
    foreign_objects,
    grants,
    metalakes,
    objects,
)
from lanceway.lake.store.schema import roles as role_rows
from lanceway.lake.tree.names import checked_text
from lanceway.lake.tree.pages import at_most

MOST_CHANGES = 100

_INSERT = Insert(grants, granted_at=now())
_IDS = ("metalake_id", "object_id", "foreign_id")
_DELETE = {
    name: delete(grants).where(
        grants.c[name] == bindparam("place"),
        grants.c.role_id == bindparam("r"),
        grants.c.privilege == bindparam("p"),
        grants.c.effect == bindparam("e"),
    )
    for name in _IDS
}


@dataclass(frozen=True, slots=True)
class GrantChange:
    """A grant, or with `deny` a denial, that is made, or with `revoke` taken back.

    With `expected`, it is made only if the row is (True) or is not (False) there before.
    """

    role: str
    place: Securable
    privilege: str
    deny: bool = False
    revoke: bool = False
    expected: bool | None = None

    @property
    def effect(self) -> str:
        return DENY if self.deny else ALLOW


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege that a role is granted or denied on a place. A dangling one holds no longer: the object is gone."""

    id: int
    role: str
    place: Securable
    privilege: str
    effect: str
    granted_by: str
    granted_at: int
    dangling: bool = False


def apply(connection: Connection, metalake: str, changes: Sequence[GrantChange], *, by: str) -> list[bool]:
    """Make all changes, and return which of them changed something: what is so already stays as it is.

    The caller's transaction makes all of them or none. Privileges are not checked here. Raises InvalidInputError for
    too many changes, for a role that is missing and for a place in another metalake, NamespaceNotFoundError and
    TableNotFoundError for a place that is missing, and ConcurrentModificationError where others were faster.
    """
    if len(changes) > MOST_CHANGES:
        raise InvalidInputError(f"{len(changes)} grants cannot be changed at once. Send at most {MOST_CHANGES}.")
    found: dict[str, roles.Role] = {}
    rows: dict[Securable, SecurableRow] = {}
    # In one order, whatever the caller's: two batches that meet wait for each other, and never in a circle.
    for name in sorted({change.role for change in changes}):
        found[name] = roles.load(connection, metalake, name)
    for place in sorted({change.place for change in changes}, key=repr):
        rows[place] = securables.ensure(connection, place, by=by)
    return [_apply(connection, found[change.role], rows[change.place], change, by) for change in changes]


def _apply(connection: Connection, role: roles.Role, row: SecurableRow, change: GrantChange, by: str) -> bool:
    if role.metalake_id != row.metalake:
        raise InvalidInputError(
            f"The role {role.name} is of another metalake than {row.place}. Use a role of {row.place.metalake}."
        )
    changed = _revoke(connection, role, row, change) if change.revoke else _grant(connection, role, row, change, by)
    if change.expected is not None and change.expected != (changed == change.revoke):
        raise ConcurrentModificationError(
            f"The grant of {change.privilege} on {row.place} to the role {role.name} was changed by others. Load the "
            "grants again."
        )
    if changed:
        _record(connection, role, row, change, by)
    return changed


def _record(connection: Connection, role: roles.Role, row: SecurableRow, change: GrantChange, by: str) -> None:
    event = "grant.revoked" if change.revoke else "grant.made"
    data = {"role": role.name, "privilege": change.privilege, "effect": change.effect}
    securables.record(connection, event, row.place, data, by=by, row=row.object_id)


def _grant(connection: Connection, role: roles.Role, row: SecurableRow, change: GrantChange, by: str) -> bool:
    values = {"role_id": role.id, **row.key, "privilege": change.privilege, "effect": change.effect}
    return _INSERT(connection, {**values, "granted_by": checked_text("The user", by)}) is not None


def _revoke(connection: Connection, role: roles.Role, row: SecurableRow, change: GrantChange) -> bool:
    column = next(name for name in _IDS if row.key[name] is not None)
    keys = {"place": row.key[column], "r": role.id, "p": change.privilege, "e": change.effect}
    return bool(connection.execute(_DELETE[column], keys).rowcount)


# -- lists ---------------------------------------------------------------------------------------

_parents = objects.alias("parents")
_top = metalakes.alias("top")
_ROWS: Select[Any] = (
    select(
        grants.c.id,
        role_rows.c.name.label("role"),
        grants.c.privilege,
        grants.c.effect,
        grants.c.granted_by,
        grants.c.granted_at,
        grants.c.metalake_id,
        grants.c.foreign_id,
        _top.c.name.label("metalake"),
        catalogs.c.name.label("catalog"),
        objects.c.kind,
        objects.c.name,
        objects.c.physical,
        _parents.c.physical.label("around"),
        foreign_objects.c.catalog.label("foreign_catalog"),
        foreign_objects.c.path.label("foreign_path"),
        foreign_objects.c.kind.label("foreign_kind"),
        foreign_objects.c.lapsed_at,
    )
    .select_from(grants)
    .join(role_rows, role_rows.c.id == grants.c.role_id)
    .join(_top, _top.c.id == role_rows.c.metalake_id)
    .outerjoin(objects, objects.c.id == grants.c.object_id)
    .outerjoin(catalogs, catalogs.c.id == objects.c.catalog_id)
    .outerjoin(_parents, _parents.c.id == objects.c.parent_id)
    .outerjoin(foreign_objects, foreign_objects.c.id == grants.c.foreign_id)
)


def of_role(
    connection: Connection, metalake: str, role: str, *, after: int = 0, limit: int | None = None
) -> Sequence[Grant]:
    """Return the first `limit` grants and denials of a role after an id."""
    return page(connection, grants.c.role_id == roles.load(connection, metalake, role).id, after=after, limit=limit)


def on_place(connection: Connection, place: Securable, *, after: int = 0, limit: int | None = None) -> Sequence[Grant]:
    """Return the first `limit` grants and denials on a place itself after an id."""
    row = securables.find(connection, place)
    column = next(name for name in _IDS if row.key[name] is not None)
    return page(connection, grants.c[column] == row.key[column], after=after, limit=limit)


def dangling(connection: Connection, metalake: str, *, after: int = 0, limit: int | None = None) -> Sequence[Grant]:
    """Return grants on objects of mounted catalogs that their services have no longer."""
    return page(connection, _top.c.name == metalake, foreign_objects.c.lapsed_at.is_not(None), after=after, limit=limit)


def purge_dangling(connection: Connection, metalake: str, *, by: str | None = None) -> int:
    """Delete what is recorded of objects that services have no longer, and return how many grants that takes away."""
    metalake_id = select(metalakes.c.id).where(metalakes.c.name == metalake).scalar_subquery()
    lapsed = and_(foreign_objects.c.metalake_id == metalake_id, foreign_objects.c.lapsed_at.is_not(None))
    rows = select(foreign_objects.c.id).where(lapsed)
    for grant in dangling(connection, metalake):
        data = {"role": grant.role, "privilege": grant.privilege, "effect": grant.effect}
        securables.record(connection, "grant.revoked", grant.place, data, by=by)
    count = connection.execute(delete(grants).where(grants.c.foreign_id.in_(rows))).rowcount
    connection.execute(delete(foreign_objects).where(lapsed))
    return count


def page(connection: Connection, *where: ColumnElement[bool], after: int, limit: int | None) -> Sequence[Grant]:
    statement = _ROWS.where(grants.c.id > after, *where).order_by(grants.c.id).limit(at_most(limit))
    return [_of(row) for row in connection.execute(statement)]


def _of(row: Row[Any]) -> Grant:
    values = (row.privilege, row.effect, row.granted_by, row.granted_at, row.lapsed_at is not None)
    return Grant(row.id, row.role, _place(row), *values)


def _place(row: Row[Any]) -> Securable:
    if row.metalake_id is not None:
        return Securable(row.metalake)
    if row.foreign_id is not None:
        path = HierarchicalName.from_physical(row.foreign_path)
        return Securable(row.metalake, row.foreign_catalog, Identifier(path), row.foreign_kind, mounted=True)
    if row.kind == NAMESPACE:
        return Securable(row.metalake, row.catalog, Identifier(HierarchicalName.from_physical(row.physical)))
    table = HierarchicalName.from_physical(row.around).child(row.name)
    return Securable(row.metalake, row.catalog, table, VIEW if row.kind == VIEW else TABLE)
