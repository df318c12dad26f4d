"""Clones: tables that share files with the table they were made from, and what they hold there.

A row is made by the lake itself and by nothing that a client commits. It says which base paths a clone may have. As
long as there is one, its source is not dropped, and the tag that keeps the cloned version stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CTE, Connection, Row, Select, bindparam, delete, select

from lanceway.errors import InvalidTableStateError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import clones, objects
from lanceway.lake.tree.lookups import TableRow

_INSERT = Insert(clones, created_at=now())
_parents = objects.alias("parents")
_NAMES: Select[Any] = select(_parents.c.physical, objects.c.name).join_from(
    objects, _parents, objects.c.parent_id == _parents.c.id
)
_CLONES_OF = (
    _NAMES.join(clones, clones.c.table_id == objects.c.id)
    .where(clones.c.source_id == bindparam("source"))
    .order_by(_parents.c.physical, objects.c.name)
)
_HOLDS: Select[Any] = _NAMES.add_columns(clones.c.tag).join(clones, clones.c.source_id == objects.c.id)
_BASE_PATHS = select(clones.c.base_paths).join_from(clones, objects, clones.c.table_id == objects.c.id)
_HELD = select(clones.c.table_id).where(clones.c.source_id == bindparam("source"), clones.c.tag == bindparam("tag"))
_IS_CLONE = select(clones.c.table_id).where(clones.c.table_id == bindparam("table"))


class TableHasClonesError(InvalidTableStateError):
    """A table cannot go, because clones share its files. Their `names` are for an administrator alone."""

    names: Sequence[str] = ()

    def with_names(self) -> TableHasClonesError:
        """Return the error with the names of the clones in its message."""
        return TableHasClonesError(f"{self} The clones are: {', '.join(self.names)}.")


@dataclass(frozen=True, slots=True)
class NewClone:
    """What a clone is made from: a version of its source, which a tag keeps, and the base paths that it may have."""

    source: TableRow
    branch: str
    version: int
    tag: str
    base_paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hold:
    """The tag by which a clone keeps a version of its source."""

    source: Identifier
    tag: str


def record(connection: Connection, table: TableRow, new: NewClone, *, by: str) -> None:
    """Record that a table is a clone. The source must be locked."""
    values = {
        "table_id": table.id,
        "source_id": new.source.id,
        "branch": new.branch,
        "version": new.version,
        "tag": new.tag,
        "base_paths": list(new.base_paths),
        "created_by": by,
    }
    _INSERT(connection, values)


def base_paths(connection: Connection, location: str) -> Sequence[str]:
    """Return the base paths that were recorded for the table at a location, none for one that is no clone."""
    return connection.execute(_BASE_PATHS.where(objects.c.location == location)).scalar() or ()


def holds(connection: Connection, table: int) -> Sequence[Hold]:
    """Return what a clone keeps of its source, nothing for a table that is no clone."""
    return _read_holds(connection, _HOLDS.where(clones.c.table_id == table))


def holds_within(connection: Connection, tree: CTE) -> Sequence[Hold]:
    """Return what all clones keep whose ids a query has."""
    return _read_holds(connection, _HOLDS.where(clones.c.table_id.in_(select(tree.c.id))))


def is_held(connection: Connection, source: int, tag: str) -> bool:
    """Return whether a clone needs a tag of its source."""
    return connection.execute(_HELD, {"source": source, "tag": tag}).first() is not None


def refuse_held(connection: Connection, source: TableRow, tag: str, operation: str) -> None:
    """Refuse to move or to delete a tag that keeps the files of a clone."""
    if is_held(connection, source.id, tag):
        raise InvalidTableStateError(
            f"{operation}: the tag {tag!r} of {source.identifier} keeps files that a clone shares. It goes when the "
            "clone is dropped."
        )


def refuse_source(connection: Connection, table: TableRow) -> None:
    """Refuse that a table goes whose files clones share. The table must be locked."""
    _refuse(f"The table {table.identifier}", connection.execute(_CLONES_OF, {"source": table.id}).all())


def refuse_forgotten(connection: Connection, table: TableRow) -> None:
    """Refuse that the lake forgets a clone whose files stay: nothing would keep those that it shares."""
    if connection.execute(_IS_CLONE, {"table": table.id}).first() is not None:
        raise InvalidTableStateError(
            f"The table {table.identifier} is a clone, and shares files with its source. Out of the lake nothing would "
            "keep them. Drop it, or copy its rows into a table of their own."
        )


def leave(connection: Connection, tree: CTE, what: str) -> None:
    """Let clones go whose ids a query has. Refuse if one outside shares the files of a table inside."""
    inside = select(tree.c.id)
    sources = _NAMES.join(clones, clones.c.table_id == objects.c.id).where(clones.c.source_id.in_(inside))
    _refuse(what, connection.execute(sources.where(clones.c.table_id.not_in(inside))).all())
    connection.execute(delete(clones).where(clones.c.table_id.in_(inside)))


def _read_holds(connection: Connection, statement: Select[Any]) -> Sequence[Hold]:
    return [Hold(_identifier(row), row.tag) for row in connection.execute(statement)]


def _identifier(row: Row[Any]) -> Identifier:
    return Identifier((*HierarchicalName.from_physical(row.physical), row.name))


def _refuse(what: str, found: Sequence[Row[Any]]) -> None:
    if found:
        error = TableHasClonesError(f"{what} cannot go: there are clones that share its files. Drop the clones first.")
        error.names = [str(_identifier(row)) for row in found]
        raise error
