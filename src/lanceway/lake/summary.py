"""A summary of a database in numbers, for its operators."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select

from lanceway.lake.store import upgrades
from lanceway.lake.store.schema import (
    NAMESPACE,
    TABLE,
    VERSION,
    catalogs,
    metalakes,
    objects,
    orphan_manifests,
    removals,
    versions,
)
from lanceway.lake.tree import settings


def summary(connection: Connection) -> dict[str, Any]:
    """Return a database's version, the lake's settings, its catalogs, its row counts and its unfinished work."""
    state = upgrades.state(connection)
    numbers: dict[str, Any] = {"database_version": state.version, "code_version": VERSION}
    if state.version == 0:
        return {**numbers, "catalogs": {}}
    separator = settings.separator(connection)
    return {
        **numbers,
        "oldest_code_version": state.oldest_code,
        "separator": separator.character,
        "separator_policy": separator.policy,
        "catalogs": {f"{row.metalake}/{row.name}": described(row) for row in connection.execute(_CATALOGS)},
        # Roots are not counted: no user made them.
        "namespaces": _count(connection, objects, (objects.c.kind == NAMESPACE) & objects.c.parent_id.is_not(None)),
        "tables": _count(connection, objects, objects.c.kind == TABLE),
        "managed_tables": _count(connection, objects, objects.c.managed),
        "versions": _count(connection, versions),
        "uncopied_versions": _count(connection, versions, ~versions.c.copied),
        "strays": _count(connection, orphan_manifests),
        "removals": _count(connection, removals),
    }


def described(row: Any) -> dict[str, Any]:
    """Return a catalog's settings."""
    versioning = "managed" if row.managed else "storage"
    return {"nested": row.nested, "versioning": versioning, "root": row.location, "owner": row.owner}


_CATALOGS: Select[Any] = (
    select(*catalogs.c, metalakes.c.name.label("metalake"))
    .join_from(catalogs, metalakes, catalogs.c.metalake_id == metalakes.c.id)
    .order_by(metalakes.c.name, catalogs.c.name)
)


def _count(connection: Connection, table: Table, where: ColumnElement[bool] | None = None) -> int:
    counted = select(func.count()).select_from(table)
    row: Row[Any] = connection.execute(counted if where is None else counted.where(where)).one()
    return int(row[0])
