"""The inventory that storage should hold: managed tables and their versions, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select

from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.store.schema import TABLE, catalogs, objects, removals, versions

_parents = objects.alias("parents")
_PAGE: Select[Any] = (
    select(objects.c.id, objects.c.name, objects.c.location, _parents.c.physical, catalogs.c.name.label("catalog"))
    .join_from(objects, _parents, objects.c.parent_id == _parents.c.id)
    .join(catalogs, objects.c.catalog_id == catalogs.c.id)
    .where(objects.c.kind == TABLE, objects.c.managed, objects.c.id > bindparam("after"))
    .order_by(objects.c.id)
    .limit(bindparam("limit"))
)
_CLAIMED = select(versions.c.branch, versions.c.version, versions.c.staging_path, versions.c.copied).where(
    versions.c.table_id == bindparam("table")
)


@dataclass(frozen=True, slots=True)
class Holder:
    """A managed table: its name, and where its manifests should be."""

    id: int
    catalog: str
    identifier: Identifier
    location: str


@dataclass(frozen=True, slots=True)
class InventoryVersion:
    """A version that a table has."""

    branch: str
    version: int
    staging_path: str
    copied: bool


def holders(connection: Connection, *, after: int = 0, limit: int = 1000) -> Sequence[Holder]:
    """Return the managed tables of all catalogs whose ids come after one."""
    rows = connection.execute(_PAGE, {"after": after, "limit": limit})
    return [
        Holder(row.id, row.catalog, HierarchicalName.from_physical(row.physical).child(row.name), row.location)
        for row in rows
    ]


def claimed(connection: Connection, table: int) -> frozenset[InventoryVersion]:
    """Return all versions of a table, of every branch."""
    return frozenset(InventoryVersion(*row) for row in connection.execute(_CLAIMED, {"table": table}))


def roots(connection: Connection) -> Sequence[str]:
    """Return the locations under which catalogs put new tables."""
    statement = select(catalogs.c.location).where(catalogs.c.location.is_not(None)).distinct()
    return connection.execute(statement.order_by(catalogs.c.location)).scalars().all()


def is_known(connection: Connection, location: str) -> bool:
    """Return whether a location is or contains one of a table, a root, or one of a dropped table not yet deleted."""
    for column in (objects.c.location, removals.c.location, catalogs.c.location):
        below = (column > f"{location}/") & (column < f"{location}0")
        if connection.execute(select(column).where((column == location) | below).limit(1)).scalar() is not None:
            return True
    return False
