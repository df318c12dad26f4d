"""Check the versions of a lake: the inventory that storage should hold, and orphan manifests.

Run `check` on one state of the database (`LakeStore.snapshot`). What is wrong was done without the lake, or by an
error in it; what is only noted is work that a crash left, and that the lake finishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, bindparam, delete, exists, func, literal, select, union_all

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import (
    NAMESPACE,
    TABLE,
    catalogs,
    metalakes,
    objects,
    orphan_manifests,
    removals,
    versions,
)
from lanceway.lake.tree import settings
from lanceway.lake.versions.versions import FOLLOWED

_parents = objects.alias("parents")
_PAGE: Select[Any] = (
    select(
        objects.c.id,
        objects.c.name,
        objects.c.location,
        objects.c.adopted,
        _parents.c.physical,
        catalogs.c.name.label("catalog"),
    )
    .join_from(objects, _parents, objects.c.parent_id == _parents.c.id)
    .join(catalogs, objects.c.catalog_id == catalogs.c.id)
    .where(objects.c.kind == TABLE, objects.c.managed, objects.c.id > bindparam("after"))
    .order_by(objects.c.id)
    .limit(bindparam("limit"))
)
_POINTERS: Select[Any] = (
    select(
        objects.c.id,
        objects.c.kind,
        objects.c.name,
        objects.c.location,
        objects.c.metadata_pointer,
        _parents.c.physical,
        catalogs.c.name.label("catalog"),
    )
    .join_from(objects, _parents, objects.c.parent_id == _parents.c.id)
    .join(catalogs, objects.c.catalog_id == catalogs.c.id)
    .where(objects.c.metadata_pointer.is_not(None), objects.c.location.is_not(None))
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
    adopted: bool  # whether its tags and branches are rows


@dataclass(frozen=True, slots=True)
class PointerHolder:
    """An Iceberg table or a view: its name, where it is, and the metadata that it points to."""

    id: int
    kind: str
    catalog: str
    identifier: Identifier
    location: str
    pointer: str


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
        Holder(
            row.id,
            row.catalog,
            HierarchicalName.from_physical(row.physical).child(row.name),
            row.location,
            row.adopted,
        )
        for row in rows
    ]


def pointer_holders(
    connection: Connection, *, catalog: int | None = None, after: int = 0, limit: int = 1000
) -> Sequence[PointerHolder]:
    """Return the Iceberg tables and views of a catalog, or of all, whose ids come after one."""
    page = _POINTERS.where(objects.c.id > after).order_by(objects.c.id).limit(limit)
    rows = connection.execute(page if catalog is None else page.where(objects.c.catalog_id == catalog))
    return [_pointer_holder(row) for row in rows]


def pointer_holder(connection: Connection, id_: int) -> PointerHolder | None:
    """Return an Iceberg table or a view as it is now, None if it is gone."""
    row = connection.execute(_POINTERS.where(objects.c.id == id_)).one_or_none()
    return None if row is None else _pointer_holder(row)


def _pointer_holder(row: Row[Any]) -> PointerHolder:
    identifier = HierarchicalName.from_physical(row.physical).child(row.name)
    return PointerHolder(row.id, row.kind, row.catalog, identifier, row.location, row.metadata_pointer)


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


# Rows are read in parts of this size, so that a large lake is never held whole.
_PART = 10_000

_TABLE, _REMOVAL, _ROOT = 0, 1, 2
_WHOSE = {_TABLE: "a table", _REMOVAL: "a dropped table", _ROOT: "a catalog"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is `wrong`, or only worth knowing: its kind, where it was found, and what it means."""

    kind: str
    where: str
    message: str
    wrong: bool = True


Findings = Iterator[Finding]


def check(connection: Connection) -> Sequence[Finding]:
    """Return all findings, those that are wrong first."""
    findings = [finding for look in _LOOKS for finding in look(connection)]
    return sorted(findings, key=lambda finding: not finding.wrong)


def _catalogs(connection: Connection) -> Findings:
    """Check that each catalog belongs to a metalake and has a root."""
    lost = select(catalogs.c.name).outerjoin(metalakes, catalogs.c.metalake_id == metalakes.c.id)
    for row in connection.execute(lost.where(metalakes.c.id.is_(None))):
        yield Finding("orphan", f"catalog {row.name!r}", "Its metalake is missing.")
    root = (objects.c.catalog_id == catalogs.c.id) & objects.c.parent_id.is_(None)
    bare = select(catalogs.c.name).outerjoin(objects, root).where(objects.c.id.is_(None))
    for row in connection.execute(bare):
        yield Finding("half chain", f"catalog {row.name!r}", "Its root namespace is missing.")


def _parentless(connection: Connection) -> Findings:
    """Check that each object is in a namespace of its own catalog, and each root in a catalog."""
    lost = (
        select(objects.c.id, objects.c.kind, objects.c.name, objects.c.parent_id)
        .outerjoin(_parents, objects.c.parent_id == _parents.c.id)
        .outerjoin(catalogs, objects.c.catalog_id == catalogs.c.id)
        .where(
            catalogs.c.id.is_(None)
            | (objects.c.parent_id.is_not(None) & _parents.c.id.is_(None))
            | (_parents.c.kind != NAMESPACE)
            | (_parents.c.catalog_id != objects.c.catalog_id)
        )
    )
    for row in _rows(connection, lost):
        yield Finding("orphan", _object(row), "It hangs on no namespace of a catalog that there is.")


def _paths(connection: Connection) -> Findings:
    """Check that each namespace's physical name is its parent's with its own name; no part of a path is missing."""
    columns = (objects.c.id, objects.c.kind, objects.c.name, objects.c.catalog_id, objects.c.physical)
    paths = (
        select(*columns, _parents.c.physical.label("above"))
        .outerjoin(_parents, objects.c.parent_id == _parents.c.id)
        .where(objects.c.kind == NAMESPACE, objects.c.parent_id.is_not(None))
        # A path comes after those that it begins with, so that what is above a namespace is read before it.
        .order_by(objects.c.catalog_id, objects.c.physical)
    )
    earlier: set[tuple[int, str]] = set()
    for row in _rows(connection, paths):
        earlier.add((row.catalog_id, row.physical))
        yield from _path(row, earlier)


def _path(row: Row[Any], known: set[tuple[int, str]]) -> Findings:
    try:
        path = HierarchicalName.from_physical(row.physical)
    except InvalidInputError as error:
        yield Finding("physical name", _object(row), str(error))
        return
    above = HierarchicalName(path.parent).physical
    if above and (row.catalog_id, above) not in known:
        yield Finding("half chain", _object(row), f"There is no namespace {path.parent} above {path}.")
    if row.name != path.name or (row.above is not None and row.above != above):
        where = f"{row.physical!r} disagrees with its name {row.name!r} and its parent's physical name {row.above!r}."
        yield Finding("physical name", _object(row), f"Its physical name {where}")


def _separators(connection: Connection) -> Findings:
    """Check that in a nested catalog no namespace has the separator in its name."""
    character = settings.separator(connection).character
    nested = objects.c.catalog_id.in_(select(catalogs.c.id).where(catalogs.c.nested))
    has_separator = objects.c.name.contains(character, autoescape=True)
    columns = (objects.c.id, objects.c.kind, objects.c.name)
    for row in _rows(connection, select(*columns).where(objects.c.kind == NAMESPACE, nested, has_separator)):
        yield Finding("separator", _object(row), f"Its name holds the separator {character!r} of the lake.")


def _gaps(connection: Connection) -> Findings:
    """Check that versions follow each other, except where some were deleted."""
    first, last, count = func.min(versions.c.version), func.max(versions.c.version), func.count()
    gaps = (
        select(versions.c.table_id, versions.c.branch, first.label("first"), last.label("last"), count.label("rows"))
        .group_by(versions.c.table_id, versions.c.branch)
        .having(last - first + 1 != count)
    )
    for row in _rows(connection, gaps):
        missing = row.last - row.first + 1 - row.rows
        text = f"Of the versions {row.first} to {row.last} it has all but {missing}: deleted on purpose, or lost."
        yield Finding("version gap", _table(connection, row.table_id, row.branch), text, wrong=False)


def _foreign_versions(connection: Connection) -> Findings:
    """Check that only managed tables have versions here, and every version has its table."""
    statement = (
        select(versions.c.table_id, objects.c.id)
        .outerjoin(objects, versions.c.table_id == objects.c.id)
        .where(objects.c.id.is_(None) | ~objects.c.managed)
        .distinct()
    )
    for row in _rows(connection, statement):
        if row.id is None:
            yield Finding("orphan", f"table with the id {row.table_id}", "It has versions, and is missing.")
        else:
            text = "It keeps its versions in storage, and has some here too."
            yield Finding("foreign versions", _table(connection, row.table_id), text)


def _locations(connection: Connection) -> Findings:
    """Check that no location is given twice or is inside another; only tables are inside the root of a catalog."""
    places = union_all(
        *(
            select(column.label("location"), literal(whose, Integer).label("whose")).where(column.is_not(None))
            for column, whose in (
                (objects.c.location, _TABLE),
                (removals.c.location, _REMOVAL),
                (catalogs.c.location, _ROOT),
            )
        )
    ).subquery()
    # With a slash at its end, a location comes right before all that is inside it.
    ordered = select(places).order_by(places.c.location.concat("/"), places.c.whose)
    outer: Row[Any] | None = None
    for row in _rows(connection, ordered):
        if outer is not None and f"{row.location}/".startswith(f"{outer.location}/"):
            text = f"It is {_WHOSE[row.whose]}'s, and is or is inside {outer.location} of {_WHOSE[outer.whose]}."
            yield Finding("overlap", row.location, text)
        elif row.whose != _ROOT:
            outer = row


def _unfinished(connection: Connection) -> Findings:
    """Work that a crash left, and orphan manifests."""
    uncopied = select(versions.c.table_id, versions.c.branch, versions.c.version).where(~versions.c.copied, ~FOLLOWED)
    for row in _rows(connection, uncopied):
        text = f"The manifest of version {row.version} is still to be copied, or to be marked as copied, when "
        text += "the table is opened next."
        yield Finding("uncopied", _table(connection, row.table_id, row.branch), text, wrong=False)
    for row in _rows(connection, select(removals.c.location)):
        text = "The table is dropped, and its data is still to be deleted."
        yield Finding("removal", row.location, text, wrong=False)
    for row in _rows(
        connection, select(orphan_manifests.c.table_id, orphan_manifests.c.branch, orphan_manifests.c.kept_path)
    ):
        text = f"A version was written without the lake. It was moved aside, to {row.kept_path}."
        yield Finding("stray", _table(connection, row.table_id, row.branch), text, wrong=False)


_LOOKS: tuple[Callable[[Connection], Findings], ...] = (
    _catalogs,
    _parentless,
    _paths,
    _separators,
    _gaps,
    _foreign_versions,
    _locations,
    _unfinished,
)


def _rows(connection: Connection, statement: Select[Any]) -> Iterator[Row[Any]]:
    yield from connection.execute(statement, execution_options={"yield_per": _PART})


def _object(row: Row[Any]) -> str:
    return f"{row.kind.replace('_', ' ')} {row.name!r} with the id {row.id}"


def _table(connection: Connection, table: int, branch: str = "") -> str:
    """Return a table's name for a message: its path and its catalog."""
    statement = (
        select(catalogs.c.name.label("catalog"), _parents.c.physical, objects.c.name)
        .select_from(objects)
        .outerjoin(_parents, objects.c.parent_id == _parents.c.id)
        .outerjoin(catalogs, objects.c.catalog_id == catalogs.c.id)
        .where(objects.c.id == table)
    )
    row = connection.execute(statement).one_or_none()
    if row is None or row.physical is None:
        return f"table with the id {table}"
    path = ".".join((row.physical, row.name)) if row.physical else row.name
    return f"table {path} of {row.catalog}" + (f", branch {branch!r}" if branch else "")
