"""Changes to a namespace together with everything inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Connection, bindparam, delete, func, literal, select, update
from sqlalchemy.exc import IntegrityError

from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError
from lanceway.identifiers import ROOT, HierarchicalName, Identifier
from lanceway.lake.store import errors
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import change
from lanceway.lake.store.schema import catalogs, objects
from lanceway.lake.tree import locations as removals
from lanceway.lake.tree import names, namespaces, settings
from lanceway.lake.tree.namespaces import Namespace

# Alone with the catalog: those who make namespaces in it wait, and check names and parents after us.
_CATALOG = select(catalogs.c.name, catalogs.c.nested).where(catalogs.c.id == bindparam("catalog")).with_for_update()


def locations(connection: Connection, catalog: int, namespace: Identifier) -> Sequence[str]:
    """Return the locations of the tables in a namespace, at any depth. Raises NamespaceNotFoundError."""
    tree = _tree(namespaces.find(connection, catalog, namespace))
    statement = select(objects.c.location).where(objects.c.id.in_(select(tree.c.id)), objects.c.location.is_not(None))
    return connection.execute(statement.order_by(objects.c.location)).scalars().all()


def drop(connection: Connection, catalog: int, namespace: Identifier, *, by: str) -> Sequence[str]:
    """Drop a namespace with all that is inside; the locations of its tables, recorded among the removals.

    Raises NamespaceNotFoundError.
    """
    if namespace.is_root:
        raise InvalidInputError("The root namespace cannot be dropped; drop what is in it, or the catalog.")
    return _remove(connection, namespaces.find(connection, catalog, namespace), namespace, by=by)


def clear(connection: Connection, catalog: int, *, by: str) -> Sequence[str]:
    """Drop all that is in a catalog, its root too; the locations of its tables, recorded among the removals."""
    return _remove(connection, namespaces.find(connection, catalog, ROOT), ROOT, by=by)


def _remove(connection: Connection, top: int, namespace: Identifier, *, by: str) -> Sequence[str]:
    tree = _tree(top)
    gone = delete(objects).where(objects.c.id.in_(select(tree.c.id))).returning(objects.c.location)
    try:
        dropped = connection.execute(gone).scalars().all()
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise RetryError(f"Something was made in {namespace} while it was dropped. Try again.") from error
    gone_from = sorted(location for location in dropped if location is not None)
    removals.record(connection, gone_from, by=by)
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
