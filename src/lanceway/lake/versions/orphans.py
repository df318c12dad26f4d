"""Orphan manifests: written to a managed table's storage without the lake, moved aside and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, exists, select

from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import orphan_manifests, versions

_INSERT = Insert(orphan_manifests, found_at=now())
_SAME = (orphan_manifests.c.table_id == versions.c.table_id) & (orphan_manifests.c.branch == versions.c.branch)
_BASE = select(
    versions.c.copied,
    exists().where(_SAME, orphan_manifests.c.version == versions.c.version).correlate(versions).label("strayed"),
).where(
    versions.c.table_id == bindparam("table"),
    versions.c.branch == bindparam("of_branch"),
    versions.c.version == bindparam("number"),
)


@dataclass(frozen=True, slots=True)
class OrphanManifest:
    """A manifest without a row: where it was, and where it is kept."""

    id: int
    table: int
    branch: str
    version: int
    path: str
    kept_path: str
    found_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> OrphanManifest:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)


@dataclass(frozen=True, slots=True)
class ParentVersion:
    """The version before a new one: whether it is `copied`, and whether an orphan had its number too (`strayed`).

    Once it is copied, no orphan can take its place any more, and those that were there are recorded.
    """

    copied: bool
    strayed: bool


def base(connection: Connection, table: int, branch: str, version: int) -> ParentVersion | None:
    """Return the version before one that is to be claimed, None if there is none."""
    row = connection.execute(_BASE, {"table": table, "of_branch": branch, "number": version - 1}).one_or_none()
    return None if row is None else ParentVersion(row.copied, row.strayed)


def record(connection: Connection, table: int, branch: str, version: int, *, path: str, kept_path: str) -> None:
    """Record an orphan before it is moved, so that a crash does not lose it. Recording it twice does no harm."""
    where = {"path": path, "kept_path": kept_path}
    _INSERT(connection, {"table_id": table, "branch": branch, "version": version, **where})


def of_table(connection: Connection, table: int) -> Sequence[OrphanManifest]:
    """Return the orphans of a table, in the order in which they were found."""
    statement = select(orphan_manifests).where(orphan_manifests.c.table_id == table).order_by(orphan_manifests.c.id)
    return [OrphanManifest.of(row) for row in connection.execute(statement)]


def forget(connection: Connection, stray: OrphanManifest) -> None:
    """Delete the record of an orphan that was adopted or deleted."""
    connection.execute(delete(orphan_manifests).where(orphan_manifests.c.id == stray.id))
