"""Checks of the rows against each other: what the database's constraints enforce, and what they cannot.

Run `check` on one state of the database (`LakeStore.snapshot`). What is wrong was done without the lake, or by an
error in it; what is only noted is work that a crash left, and that the lake finishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, func, literal, select, union_all

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName
from lanceway.lake.store.schema import NAMESPACE, catalogs, metalakes, objects, orphan_manifests, removals, versions
from lanceway.lake.tree import settings
from lanceway.lake.versions.versions import FOLLOWED

# Rows are read in parts of this size, so that a large lake is never held whole.
_PART = 10_000

_parents = objects.alias("parents")
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
    """Each catalog belongs to a metalake and has a root."""
    lost = select(catalogs.c.name).outerjoin(metalakes, catalogs.c.metalake_id == metalakes.c.id)
    for row in connection.execute(lost.where(metalakes.c.id.is_(None))):
        yield Finding("orphan", f"catalog {row.name!r}", "Its metalake is missing.")
    root = (objects.c.catalog_id == catalogs.c.id) & objects.c.parent_id.is_(None)
    bare = select(catalogs.c.name).outerjoin(objects, root).where(objects.c.id.is_(None))
    for row in connection.execute(bare):
        yield Finding("half chain", f"catalog {row.name!r}", "Its root namespace is missing.")


def _parentless(connection: Connection) -> Findings:
    """Each object is in a namespace of its own catalog, and each root in a catalog."""
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
    """Each namespace's physical name is its parent's with its own name; no part of a path is missing."""
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
    """In a nested catalog no namespace has the separator in its name."""
    character = settings.separator(connection).character
    nested = objects.c.catalog_id.in_(select(catalogs.c.id).where(catalogs.c.nested))
    has_separator = objects.c.name.contains(character, autoescape=True)
    columns = (objects.c.id, objects.c.kind, objects.c.name)
    for row in _rows(connection, select(*columns).where(objects.c.kind == NAMESPACE, nested, has_separator)):
        yield Finding("separator", _object(row), f"Its name holds the separator {character!r} of the lake.")


def _gaps(connection: Connection) -> Findings:
    """Versions follow each other, except where some were deleted."""
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
    """Only managed tables have versions here, and every version has its table."""
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
    """No location is given twice or is inside another; only tables are inside the root of a catalog."""
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
            text = f"It is {_WHOSE[row.whose]}'s, and is or lies inside {outer.location} of {_WHOSE[outer.whose]}."
            yield Finding("overlap", row.location, text)
        elif row.whose != _ROOT:
            outer = row


def _unfinished(connection: Connection) -> Findings:
    """Work that a crash left, and orphan manifests."""
    uncopied = select(versions.c.table_id, versions.c.branch, versions.c.version).where(~versions.c.copied, ~FOLLOWED)
    for row in _rows(connection, uncopied):
        text = f"The manifest of version {row.version} is still to be copied, or to be marked as copied; whoever opens "
        text += "the table next does it."
        yield Finding("uncopied", _table(connection, row.table_id, row.branch), text, wrong=False)
    for row in _rows(connection, select(removals.c.location)):
        text = "The table is dropped, and its data is still to be deleted."
        yield Finding("removal", row.location, text, wrong=False)
    for row in _rows(
        connection, select(orphan_manifests.c.table_id, orphan_manifests.c.branch, orphan_manifests.c.kept_path)
    ):
        text = f"Somebody wrote a version without the lake. It was moved aside, to {row.kept_path}."
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
