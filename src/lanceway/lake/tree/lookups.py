"""Finding and listing tables and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, exists, select

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableNotFoundError,
    table_not_found,
)
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.store.rows import Audit
from lanceway.lake.store.schema import ICEBERG_TABLE, NAMESPACE, TABLE, VIEW, objects, versions
from lanceway.lake.tree import names, namespaces
from lanceway.lake.tree.pages import page, page_of

_parents = objects.alias("parents")
_OF_PATH = (_parents.c.catalog_id == bindparam("catalog")) & (_parents.c.physical == bindparam("path"))
_NAMED = (objects.c.parent_id == _parents.c.id) & (objects.c.name == bindparam("table"))
# One look-up, from the namespace's path through the name; it tells a missing table from a missing namespace.
FIND: Select[Any] = select(*objects.c).select_from(_parents).outerjoin(objects, _NAMED).where(_OF_PATH)
# No outer join: PostgreSQL locks no row that may be missing.
_FOUND: Select[Any] = select(*objects.c).join_from(_parents, objects, _NAMED).where(_OF_PATH)
_LOCK = _FOUND.with_for_update(of=objects)
HOLD = _FOUND.with_for_update(of=objects, read=True, key_share=True)

_OF_KIND = objects.c.kind == bindparam("kind")
_NAMES = page(objects.c.name).where(_OF_KIND)
_NAMES_OF_KINDS = page(objects.c.name).where(objects.c.kind.in_(bindparam("kinds", expanding=True)))
_HAS_VERSIONS = exists().where(versions.c.table_id == objects.c.id).correlate(objects).label("has_versions")
_ENTRIES = page(objects.c.name, objects.c.location, objects.c.managed, _HAS_VERSIONS).where(_OF_KIND)
_ENTRIES_OF = _ENTRIES.where(objects.c.name.in_(bindparam("names", expanding=True)))
_AT_ONCE = 500  # names in a statement
# What has the name of a table without being a Lance table, and how it is reached.
_OTHERS = {
    ICEBERG_TABLE: "is an Iceberg table, not a Lance table. Use it through Iceberg REST, or import it: lanceway tables "
    "import makes a Lance table of it.",
    VIEW: "is a view of Iceberg, not a table. Use it through Iceberg REST.",
}


class NotLanceError(InvalidInputError):
    """The name of a table is that of an Iceberg table or a view, which Lance cannot read."""

    def __init__(self, path: Identifier, kind: str) -> None:
        super().__init__(f"{path} {_OTHERS[kind]}")
        self.path, self.kind = path, kind


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table or a view. A managed one has its versions in the lake."""

    id: int
    identifier: Identifier
    kind: str
    location: str | None
    managed: bool
    metadata_pointer: str | None
    comment: str | None
    properties: Mapping[str, str]
    owner: str | None
    audit: Audit
    adopted: bool = True  # whether its tags, branches and definitions are rows

    @classmethod
    def of(cls, row: Row[Any], identifier: Identifier) -> TableRow:
        place = (row.kind, row.location, row.managed, row.metadata_pointer)
        return cls(row.id, identifier, *place, row.comment, row.properties, row.owner, Audit.of(row), row.adopted)


@dataclass(frozen=True, slots=True)
class TableListEntry:
    """A table in a list: enough to say whether data has been written."""

    name: str
    location: str
    managed: bool
    has_versions: bool


def find(connection: Connection, catalog: int, table: Identifier, *, kind: str = TABLE) -> TableRow:
    """Return a table. Raises TableNotFoundError, NamespaceNotFoundError for its parent, NotLanceError for others."""
    return _found(connection, FIND, catalog, table, kind)


def find_among(connection: Connection, catalog: int, table: Identifier, kinds: Sequence[str]) -> TableRow:
    """Return what has a name, of one of some kinds. Raises TableNotFoundError, NamespaceNotFoundError."""
    path = known(table)
    row = connection.execute(FIND, asked(catalog, path)).one_or_none()
    if row is None:
        raise missing(connection, catalog, path)
    if row.kind not in kinds:
        raise not_found(path, row.kind)
    return TableRow.of(row, path)


def lock(connection: Connection, catalog: int, table: Identifier, *, kind: str = TABLE) -> TableRow:
    """Return a table, and keep others from locking, holding, changing or dropping it until the transaction ends."""
    return _found(connection, _LOCK, catalog, table, kind)


def hold(connection: Connection, catalog: int, table: Identifier, *, kind: str = TABLE) -> TableRow:
    """Return a table, and keep others from locking or dropping it until the transaction ends; they may hold it too."""
    return _found(connection, HOLD, catalog, table, kind)


def children(
    connection: Connection,
    catalog: int,
    namespace: Identifier,
    *,
    kind: str = TABLE,
    after: str | None = None,
    limit: int | None = None,
) -> Sequence[str]:
    """Return the first `limit` names after `after`, in code point order. Raises NamespaceNotFoundError."""
    path = names.known(namespace)
    page_names = connection.execute(_NAMES, {**page_of(catalog, path, after, limit), "kind": kind}).scalars().all()
    if not page_names:
        namespaces.find(connection, catalog, path)
    return page_names


def children_among(
    connection: Connection,
    catalog: int,
    namespace: Identifier,
    kinds: Sequence[str],
    *,
    after: str | None = None,
    limit: int | None = None,
) -> Sequence[str]:
    """Return the first `limit` names after `after` of some kinds, in code point order."""
    path = names.known(namespace)
    place = {**page_of(catalog, path, after, limit), "kinds": list(kinds)}
    page_names = connection.execute(_NAMES_OF_KINDS, place).scalars().all()
    if not page_names:
        namespaces.find(connection, catalog, path)
    return page_names


def entries(
    connection: Connection, catalog: int, namespace: Identifier, *, after: str | None = None, limit: int | None = None
) -> Sequence[TableListEntry]:
    """Return the first `limit` tables after `after`, each with what tells a declared one from one that has data."""
    path = names.known(namespace)
    rows = connection.execute(_ENTRIES, {**page_of(catalog, path, after, limit), "kind": TABLE}).all()
    if not rows:
        namespaces.find(connection, catalog, path)
    return [TableListEntry(row.name, row.location, row.managed, row.has_versions) for row in rows]


def entries_of(
    connection: Connection, catalog: int, namespace: Identifier, chosen: Sequence[str]
) -> Sequence[TableListEntry]:
    """Return the tables of some names, in order, as `entries` does; those that are missing are left out."""
    place = {**page_of(catalog, names.known(namespace), None, None), "kind": TABLE}
    return [
        TableListEntry(row.name, row.location, row.managed, row.has_versions)
        for start in range(0, len(chosen), _AT_ONCE)
        for row in connection.execute(_ENTRIES_OF, {**place, "names": list(chosen[start : start + _AT_ONCE])})
    ]


def known(table: Identifier) -> HierarchicalName:
    """Return a table's identifier as it would be stored. Refuse the root."""
    if table.is_root:
        raise InvalidInputError("A table needs a name: its identifier is empty.")
    return names.known(table)


def asked(catalog: int, path: HierarchicalName) -> dict[str, object]:
    return {"catalog": catalog, "path": HierarchicalName(path.parent).physical, "table": path.name}


def missing(connection: Connection, catalog: int, path: Identifier) -> LanceNamespaceError:
    """Return why there is no such table: its namespace is missing, or only the table is."""
    parent = namespaces.find(connection, catalog, path.parent)
    return not_found(path, namespaces.kind_of(connection, parent, path.name))


def not_found(path: Identifier, kind: str | None) -> TableNotFoundError:
    if kind is None:
        return table_not_found(f"There is no table {path}. Create it first, or check the name.")
    other = "namespace" if kind == NAMESPACE else kind.replace("_", " ")
    return table_not_found(f"There is no table {path}: a {other} has this name.")


def of_other_kind(path: Identifier, kind: str, asked_for: str) -> LanceNamespaceError:
    """Return why an object of one kind is not what was asked for: for a Lance table, with what it is instead."""
    if asked_for == TABLE and kind in _OTHERS:
        return NotLanceError(path, kind)
    return not_found(path, kind)


def find_with(
    connection: Connection, statement: Select[Any], catalog: int, table: Identifier, **parameters: object
) -> tuple[TableRow, Sequence[Row[Any]]]:
    """Return a table, and all rows of a statement that is `FIND` joined to other rows of the table.

    Raises TableNotFoundError, NamespaceNotFoundError for its parent.
    """
    path = known(table)
    rows = connection.execute(statement, {**asked(catalog, path), **parameters}).all()
    return _checked(connection, rows[0] if rows else None, catalog, path, TABLE), rows


def _found(connection: Connection, statement: Select[Any], catalog: int, table: Identifier, kind: str) -> TableRow:
    path = known(table)
    row = connection.execute(statement, asked(catalog, path)).one_or_none()
    return _checked(connection, row, catalog, path, kind)


def _checked(connection: Connection, row: Row[Any] | None, catalog: int, path: HierarchicalName, kind: str) -> TableRow:
    if row is None:
        raise missing(connection, catalog, path)
    if row.kind != kind:
        raise of_other_kind(path, row.kind, kind)
    return TableRow.of(row, path)
