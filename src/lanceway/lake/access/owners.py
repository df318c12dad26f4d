"""Owners: each object has one, a user or a group. What no other owns is the administrator's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, bindparam, select, update

from lanceway.errors import InvalidInputError
from lanceway.lake.access import securables
from lanceway.lake.access.facts import ADMIN
from lanceway.lake.access.securables import CATALOG, Securable, SecurableRow
from lanceway.lake.feed import outbox
from lanceway.lake.store.rows import change
from lanceway.lake.store.schema import GROUP, USER, catalogs, foreign_objects, metalakes, objects
from lanceway.lake.tree.names import checked_name

_CHANGED = "owner.changed"
_TREE = (metalakes, catalogs, objects)
_OWNED = (*_TREE, foreign_objects)
_NEW: dict[str, Any] = {"owner": bindparam("new_owner"), "owner_kind": bindparam("new_kind")}


def _change(table: Table) -> Any:
    statement = (
        update(foreign_objects) if table is foreign_objects else change(table).values(changed_by=bindparam("by"))
    )
    return statement.where(table.c.id == bindparam("row")).values(_NEW)


_CHANGE = {table.name: _change(table) for table in _OWNED}
_CATALOG_OF_ROOT = select(objects.c.catalog_id).where(objects.c.id == bindparam("row"))


@dataclass(frozen=True, slots=True)
class Owner:
    """A user or a group."""

    name: str
    kind: str = USER

    @classmethod
    def of(cls, row: Row[Any] | None) -> Owner:
        return cls(ADMIN) if row is None or row.owner is None else cls(row.owner, row.owner_kind)


def find(connection: Connection, place: Securable) -> Owner:
    """Return the owner of a place. Raises NamespaceNotFoundError, TableNotFoundError."""
    table, row = _row(connection, securables.find(connection, place))
    statement: Select[Any] = select(table.c.owner, table.c.owner_kind).where(table.c.id == row)
    return Owner.of(connection.execute(statement).one_or_none())


def change_owner(connection: Connection, place: Securable, owner: Owner, *, by: str) -> Owner:
    """Give a place to another owner, and return the one before. All that is inside keeps its own owner."""
    if owner.kind not in (USER, GROUP):
        raise InvalidInputError(f"An owner is a user or a group, not a {owner.kind!r}.")
    row = securables.ensure(connection, place, by=by)
    before = find(connection, place)
    table, id_ = _row(connection, row)
    values = {"row": id_, "new_owner": checked_name(owner.kind, owner.name), "new_kind": owner.kind}
    connection.execute(_CHANGE[table.name], values if table is foreign_objects else {**values, "by": by})
    data = {"owner": owner.name, "owner_kind": owner.kind}
    if row.object_id is not None:
        outbox.record_object(connection, _CHANGED, row.object_id, by=by, data=data)
    else:
        securables.record(connection, _CHANGED, place, data, by=by)
    return before


def hand_over(connection: Connection, name: str, new_owner: str, kind: str = USER, *, by: str | None = None) -> int:
    """Give all that a user or a group owns to another user; return how much that was.

    Before one is deleted, the administrator gets it: one of the same name that is made later owns nothing of it.
    """
    owned = [
        update(table).where(table.c.owner == name, table.c.owner_kind == kind).values(owner=new_owner, owner_kind=USER)
        for table in _OWNED
    ]
    _record_hand_over(connection, name, new_owner, kind, by)
    return sum(connection.execute(statement).rowcount for statement in owned)


def _record_hand_over(connection: Connection, name: str, new_owner: str, kind: str, by: str | None) -> None:
    """Record new owners of all objects of the tree; users and groups that go or are renamed have events themselves."""
    owned = (objects.c.owner == name) & (objects.c.owner_kind == kind)
    ids = connection.execute(select(objects.c.id).where(owned, objects.c.parent_id.is_not(None))).scalars().all()
    roots = select(objects.c.id).join(catalogs, catalogs.c.id == objects.c.catalog_id)
    catalog = (catalogs.c.owner == name) & (catalogs.c.owner_kind == kind) & (objects.c.physical == "")
    for id_ in (*ids, *connection.execute(roots.where(catalog)).scalars().all()):
        data = {"owner": new_owner, "owner_kind": USER}
        outbox.record_object(connection, _CHANGED, id_, by=by, data=data)


def owns_any(connection: Connection, name: str, kind: str = USER) -> bool:
    """Return whether something belongs to a user or a group of this name, whether it has a row or not."""
    owned = (select(table.c.id).where(table.c.owner == name, table.c.owner_kind == kind).limit(1) for table in _OWNED)
    return any(connection.execute(statement).one_or_none() is not None for statement in owned)


def _row(connection: Connection, row: SecurableRow) -> tuple[Table, int]:
    """Return the table and the id of the row that has a place's owner: the catalog's own, not that of its root."""
    if row.metalake_id is not None:
        return metalakes, row.metalake_id
    if row.foreign_id is not None:
        return foreign_objects, row.foreign_id
    assert row.object_id is not None, "a place is a metalake, an object or a foreign object"
    if row.place.level == CATALOG:
        return catalogs, connection.execute(_CATALOG_OF_ROOT, {"row": row.object_id}).scalar_one()
    return objects, row.object_id
