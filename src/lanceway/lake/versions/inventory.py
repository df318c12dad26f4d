"""What storage should hold: the managed tables with the versions that they have, page by page."""

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
    """A managed table: who it is, and where its manifests should be."""

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
    """The managed tables whose ids come after one, of all catalogs."""
    rows = connection.execute(_PAGE, {"after": after, "limit": limit})
    return [
        Holder(row.id, row.catalog, HierarchicalName.from_physical(row.physical).child(row.name), row.location)
        for row in rows
    ]


def claimed(connection: Connection, table: int) -> frozenset[InventoryVersion]:
    """All versions of a table, of every branch."""
    return frozenset(InventoryVersion(*row) for row in connection.execute(_CLAIMED, {"table": table}))


def roots(connection: Connection) -> Sequence[str]:
    """Where catalogs put new tables."""
    statement = select(catalogs.c.location).where(catalogs.c.location.is_not(None)).distinct()
    return connection.execute(statement.order_by(catalogs.c.location)).scalars().all()


def is_known(connection: Connection, location: str) -> bool:
    """Whether a location is, or has inside, one of a table, of a dropped one whose data is there still, or a root."""
    for column in (objects.c.location, removals.c.location, catalogs.c.location):
        below = (column > f"{location}/") & (column < f"{location}0")
        if connection.execute(select(column).where((column == location) | below).limit(1)).scalar() is not None:
            return True
    return False
