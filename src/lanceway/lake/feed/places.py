"""Where the objects of events are now: by their ids, for a page of events at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from lanceway.identifiers import ROOT, HierarchicalName, Identifier
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW, catalogs, metalakes, mounts, objects

_AT_ONCE = 500
_around = objects.alias("around")
_OBJECTS: Select[Any] = (
    select(
        objects.c.id,
        objects.c.kind,
        objects.c.name,
        objects.c.physical,
        objects.c.parent_id,
        _around.c.physical.label("space"),
        catalogs.c.name.label("catalog"),
        metalakes.c.name.label("metalake"),
    )
    .join_from(objects, catalogs, catalogs.c.id == objects.c.catalog_id)
    .join(metalakes, metalakes.c.id == catalogs.c.metalake_id)
    .outerjoin(_around, _around.c.id == objects.c.parent_id)
    .where(objects.c.id.in_(bindparam("ids", expanding=True)))
)
_CATALOGS: Select[Any] = (
    select(catalogs.c.id, catalogs.c.name.label("catalog"), metalakes.c.name.label("metalake"))
    .join_from(catalogs, metalakes, metalakes.c.id == catalogs.c.metalake_id)
    .where(catalogs.c.id.in_(bindparam("ids", expanding=True)))
)

_MOUNTS: Select[Any] = select(
    mounts.c.key, mounts.c.name.label("catalog"), metalakes.c.name.label("metalake")
).join_from(mounts, metalakes, metalakes.c.id == mounts.c.metalake_id)


@dataclass(frozen=True, slots=True)
class PresentPlace:
    """Where an object is now, and the id of the namespace around it, which a root does not have."""

    place: Securable
    parent_id: int | None


def of_objects(connection: Connection, ids: Collection[int]) -> Mapping[int, PresentPlace]:
    """Return where objects are now, by their ids; those that are gone are missing."""
    return {row.id: PresentPlace(_place(row), row.parent_id) for row in _rows(connection, _OBJECTS, ids)}


def of_catalogs(connection: Connection, ids: Collection[int]) -> Mapping[int, Securable]:
    """Return catalogs by their ids; those that are gone are missing."""
    return {row.id: Securable(row.metalake, row.catalog, ROOT) for row in _rows(connection, _CATALOGS, ids)}


def of_mounts(connection: Connection) -> Mapping[str, Securable]:
    """Return the mounted catalogs that were made through an interface, by their keys."""
    return {row.key: Securable(row.metalake, row.catalog, mounted=True) for row in connection.execute(_MOUNTS)}


def _rows(connection: Connection, statement: Select[Any], ids: Collection[int]) -> list[Row[Any]]:
    ordered = sorted(ids)
    parts = (ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE))
    return [row for part in parts for row in connection.execute(statement, {"ids": part})]


def _place(row: Row[Any]) -> Securable:
    if row.kind == NAMESPACE:
        return Securable(row.metalake, row.catalog, Identifier(HierarchicalName.from_physical(row.physical)))
    leaf = HierarchicalName.from_physical(row.space).child(row.name)
    return Securable(row.metalake, row.catalog, leaf, VIEW if row.kind == VIEW else TABLE)
