"""Change a namespace together with everything inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CTE, ColumnElement, Connection, bindparam, case, delete, func, literal, select, update
from sqlalchemy.exc import IntegrityError

from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError
from lanceway.identifiers import ROOT, HierarchicalName, Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store import errors
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import change
from lanceway.lake.store.schema import NAMESPACE, catalogs, objects
from lanceway.lake.tree import clones, names, namespaces, settings
from lanceway.lake.tree import locations as removals
from lanceway.lake.tree.clones import Hold
from lanceway.lake.tree.namespaces import Namespace
from lanceway.lake.tree.separators import ALLOWED, Separator, alternatives

# Alone with the catalog: those who make namespaces in it wait, and check names and parents after us.
_CATALOG = select(catalogs.c.name, catalogs.c.nested).where(catalogs.c.id == bindparam("catalog")).with_for_update()


def locations(connection: Connection, catalog: int, namespace: Identifier) -> Sequence[str]:
    """Return the locations of the tables in a namespace, at any depth. Raises NamespaceNotFoundError."""
    tree = _tree(namespaces.find(connection, catalog, namespace))
    statement = select(objects.c.location).where(objects.c.id.in_(select(tree.c.id)), objects.c.location.is_not(None))
    return connection.execute(statement.order_by(objects.c.location)).scalars().all()


def holds(connection: Connection, catalog: int, namespace: Identifier) -> Sequence[Hold]:
    """Return what the clones in a namespace keep, at any depth. Raises NamespaceNotFoundError."""
    return clones.holds_within(connection, _tree(namespaces.find(connection, catalog, namespace)))


def drop(connection: Connection, catalog: int, namespace: Identifier, *, by: str) -> Sequence[str]:
    """Drop a namespace with all that is inside; the locations of its tables, recorded among the removals.

    Raises NamespaceNotFoundError, and InvalidTableStateError where clones outside share files of a table inside.
    """
    if namespace.is_root:
        raise InvalidInputError("The root namespace cannot be dropped; drop what is in it, or the catalog.")
    return _remove(connection, namespaces.find(connection, catalog, namespace), namespace, by=by)


def clear(connection: Connection, catalog: int, *, by: str) -> Sequence[str]:
    """Drop all that is in a catalog, its root too; the locations of its tables, recorded among the removals."""
    return _remove(connection, namespaces.find(connection, catalog, ROOT), ROOT, by=by)


def _remove(connection: Connection, top: int, namespace: Identifier, *, by: str) -> Sequence[str]:
    tree = _tree(top)
    clones.leave(connection, tree, f"A table in {namespace}" if namespace else "A table of the catalog")
    outbox.record_going(connection, "dropped", tree, by=by)
    gone = delete(objects).where(objects.c.id.in_(select(tree.c.id))).returning(objects.c.location)
    try:
        dropped = connection.execute(gone).scalars().all()
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise RetryError(f"Something was made in {namespace} while it was dropped. Try again.") from error
    gone_from = sorted(location for location in dropped if location is not None)
    removals.record(connection, gone_from, by=by)
    removals.retire(connection, gone_from)
    return gone_from


def rename(connection: Connection, catalog: int, namespace: Identifier, name: str, *, by: str) -> Namespace:
    """Give a namespace another name in the same parent; the paths of all that is inside follow.

    Raises NamespaceNotFoundError, NamespaceAlreadyExistsError.
    """
    if namespace.is_root:
        raise InvalidInputError("The root namespace has no name to change.")
    holder = connection.execute(_CATALOG, {"catalog": catalog}).one_or_none()
    if holder is None:
        raise namespaces.missing(namespace)
    old = names.known(namespace)
    new = names.new(Identifier((*old[:-1], name)))
    settings.separator(connection).check(new, nested=holder.nested, catalog=holder.name)
    row = namespaces.find(connection, catalog, old)
    _refuse_long(connection, catalog, old, new)
    try:
        connection.execute(change(objects).where(objects.c.id == row).values(name=new.name, changed_by=by))
        connection.execute(_moved(catalog, old.physical, names.physical(new)))
    except IntegrityError as error:
        if not errors.is_taken(error):
            raise
        raise NamespaceAlreadyExistsError(f"{new} exists already. Choose another name for {old}.") from error
    outbox.record_object(connection, "namespace.renamed", row, by=by, data={"previous": old.name})
    return namespaces.load(connection, catalog, new)


def _tree(root: int) -> CTE:
    """Return a query for the ids of a namespace and everything inside, at any depth."""
    tree = select(objects.c.id).where(objects.c.id == root).cte("tree", recursive=True)
    return tree.union_all(select(objects.c.id).join(tree, objects.c.parent_id == tree.c.id))


def _within(catalog: int, path: str) -> Any:
    # "/" comes right after ".", and no segment holds a bare ".": between the two are exactly the descendants.
    below = (objects.c.physical > f"{path}.") & (objects.c.physical < f"{path}/")
    return (objects.c.catalog_id == catalog) & ((objects.c.physical == path) | below)


def _moved(catalog: int, old: str, new: str) -> Any:
    tail = func.substr(objects.c.physical, len(old) + 1)
    return update(objects).where(_within(catalog, old)).values(physical=literal(new).concat(tail))


def _refuse_long(connection: Connection, catalog: int, old: HierarchicalName, new: HierarchicalName) -> None:
    """Refuse a name with which the longest path inside would be too long for an index."""
    paths = connection.execute(select(objects.c.physical).where(_within(catalog, old.physical))).scalars()
    longest = max((len(path.encode()) for path in paths), default=0)
    grown = longest - len(old.physical.encode()) + len(new.physical.encode())
    if grown > names.LONGEST_INDEXED:
        raise InvalidInputError(
            f"{old} cannot be renamed to {new.name!r}: a path inside would have {grown} bytes. Use a name with which "
            f"it has at most {names.LONGEST_INDEXED}."
        )


_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Conflict:
    """A namespace whose own name holds the separator as plain text."""

    catalog: int
    namespace: Identifier


@dataclass(frozen=True, slots=True)
class Scan:
    """The conflicts of a separator with names that are there, and the separators that have none."""

    separator: str
    conflicts: Sequence[Conflict]
    alternatives: Sequence[str]


def enable(connection: Connection, catalog: int, *, by: str, dry_run: bool = False) -> Scan:
    """Enable nested mode, if no name of the catalog holds the separator; a dry run only looks.

    Raises InvalidInputError with the conflicts and the separators that would work.
    """
    _lock(connection, catalogs.c.id == catalog)
    scan = _scan(connection, settings.separator(connection).character, objects.c.catalog_id == catalog)
    if not dry_run:
        _refuse(scan, "Nested mode cannot be enabled")
        changed = {"nested": True, "changed_by": by, "changed_at": now(), "revision": catalogs.c.revision + 1}
        enabled = update(catalogs).where(catalogs.c.id == catalog, ~catalogs.c.nested).values(changed)
        if connection.execute(enabled).rowcount:
            outbox.record_catalog(connection, "catalog.altered", catalog, by=by, data={"nested": True})
    return scan


def change_separator(
    connection: Connection, character: str, *, policy: str | None = None, dry_run: bool = False
) -> Scan:
    """Change the separator for the whole lake, unless a namespace of a nested catalog holds the new one.

    What is stored stays as it is: only the logical paths are written differently. Raises InvalidInputError.
    """
    _lock(connection, catalogs.c.id == catalogs.c.id)
    separator = Separator(character, policy or settings.separator(connection).policy)
    nested = select(catalogs.c.id).where(catalogs.c.nested)
    scan = _scan(connection, separator.character, objects.c.catalog_id.in_(nested))
    if not dry_run:
        _refuse(scan, f"The separator cannot be changed to {character!r}")
        settings.store(connection, {settings.SEPARATOR: separator.character, settings.POLICY: separator.policy})
    return scan


def fix(
    connection: Connection, catalog: int, separator: str, replacement: str, *, by: str
) -> Sequence[tuple[Identifier, Identifier]]:
    """Rename every namespace of a catalog whose name holds `separator`, with `replacement` in its place.

    The old and the new name of each. Raises NamespaceAlreadyExistsError if a new name is taken.
    """
    if separator in replacement:
        raise InvalidInputError(f"{replacement!r} holds {separator!r}, which it is to replace. Use '_', for example.")
    _lock(connection, catalogs.c.id == catalog)
    conflicts = _scan(connection, separator, objects.c.catalog_id == catalog).conflicts
    # From the deepest up: the names above are still the old ones when a namespace is renamed.
    ordered = sorted(conflicts, key=lambda conflict: -conflict.namespace.depth)
    return [_renamed(connection, conflict, separator, replacement, by) for conflict in ordered]


def _renamed(
    connection: Connection, conflict: Conflict, separator: str, replacement: str, by: str
) -> tuple[Identifier, Identifier]:
    name = conflict.namespace.name.replace(separator, replacement)
    new = rename(connection, conflict.catalog, conflict.namespace, name, by=by)
    return conflict.namespace, new.identifier


def _lock(connection: Connection, which: ColumnElement[bool]) -> None:
    """Lock out the creation of namespaces. Catalogs are locked in one order, so that two callers never deadlock."""
    connection.execute(select(catalogs.c.id).where(which).order_by(catalogs.c.id).with_for_update()).all()


def _scan(connection: Connection, separator: str, where: ColumnElement[bool]) -> Scan:
    spaces = (objects.c.kind == NAMESPACE) & where
    statement = select(objects.c.catalog_id, objects.c.physical).where(spaces, _holds(separator))
    rows = connection.execute(statement.order_by(objects.c.catalog_id, objects.c.physical)).all()
    conflicts = [Conflict(row.catalog_id, HierarchicalName.from_physical(row.physical)) for row in rows]
    flags = select(*(func.max(case((_holds(character), 1), else_=0)) for character in ALLOWED)).where(spaces)
    in_use = [character for character, flag in zip(ALLOWED, connection.execute(flags).one(), strict=True) if flag]
    return Scan(separator, conflicts, alternatives([*in_use, separator]))


def _holds(character: str) -> ColumnElement[bool]:
    return objects.c.name.contains(character, autoescape=True)


def _refuse(scan: Scan, what: str) -> None:
    if not scan.conflicts:
        return
    some = ", ".join(repr(list(conflict.namespace)) for conflict in scan.conflicts[:_SHOWN])
    more = f" and {len(scan.conflicts) - _SHOWN} more" if len(scan.conflicts) > _SHOWN else ""
    free = ", ".join(repr(character) for character in scan.alternatives)
    instead = f" or choose a separator that no name holds: {free}" if free else ""
    raise InvalidInputError(
        f"{what}: the names of {len(scan.conflicts)} namespaces hold {scan.separator!r}, which would separate names: "
        f"{some}{more}. Rename them{instead}."
    )
