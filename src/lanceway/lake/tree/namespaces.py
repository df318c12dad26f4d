"""Namespaces: made one by one or in whole chains, listed by parent, dropped only when nothing is inside.

A path of any depth is one look-up of its physical name. That no orphan is left, whichever transactions race, is the
foreign key's doing: a child holds its parent, and a parent that has children does not go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store import errors
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import KEEP, Audit, FastInsert, Keep, altered, change, described, execute_compiled
from lanceway.lake.store.schema import NAMESPACE, Name, catalogs, objects
from lanceway.lake.tree import names, settings
from lanceway.lake.tree.pages import page, page_of

_GIVEN = ("catalog_id", "parent_id", "kind", "managed", "name", "physical", "comment", "properties", "owner")
_INSERT = FastInsert(
    objects,
    (*_GIVEN, "created_by", "changed_by"),
    ("id", "created_at", "revision"),
    created_at=now(),
    changed_at=now(),
)
_BY_PATH = select(objects).where(objects.c.catalog_id == bindparam("catalog"), objects.c.physical == bindparam("path"))
_ID = _BY_PATH.with_only_columns(objects.c.id)
_NAMES = page(objects.c.name).where(objects.c.kind == NAMESPACE)
_CHANGE = change(objects).where(objects.c.id == bindparam("row")).returning(*objects.c)
# Held by all who make namespaces, so that no other transaction enables nested mode, changes the separator or renames a
# parent between the check of a name and the row that has it.
_CATALOG = (
    select(catalogs.c.name, catalogs.c.nested)
    .where(catalogs.c.id == bindparam("catalog"))
    .with_for_update(read=True, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Namespace:
    id: int
    identifier: Identifier
    comment: str | None
    properties: Mapping[str, str]
    owner: str | None
    audit: Audit

    @classmethod
    def of(cls, row: Row[Any]) -> Namespace:
        identifier = HierarchicalName.from_physical(row.physical)
        return cls(row.id, identifier, row.comment, row.properties, row.owner, Audit.of(row))


def create(
    connection: Connection,
    catalog: int,
    namespace: Identifier,
    *,
    by: str,
    parents: bool = False,
    owner: str | None = None,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Namespace:
    """Make a namespace in an existing parent, or with `parents` also what is missing above it.

    Parents that are made get the same owner, and neither comment nor properties; those there were stay as
    they are. Raises NamespaceAlreadyExistsError, also where a table has the name, and NamespaceNotFoundError.
    """
    path = _checked(connection, catalog, namespace, parents=parents)
    values = described(comment, properties, owner, by)
    parent = _chain(connection, catalog, path, values) if parents else find(connection, catalog, path.parent)
    new = _insert(connection, catalog, path, parent, values)
    if new is None:
        raise _taken(connection, parent, path)
    return new


def load(connection: Connection, catalog: int, namespace: Identifier) -> Namespace:
    """Return a namespace, which may be the root. Raises NamespaceNotFoundError."""
    return Namespace.of(_row(connection, catalog, namespace))


def find(connection: Connection, catalog: int, namespace: Identifier) -> int:
    """Return the id of a namespace. Raises NamespaceNotFoundError."""
    path = names.known(namespace)
    id_: int | None = connection.execute(_ID, {"catalog": catalog, "path": path.physical}).scalar()
    if id_ is None:
        raise missing(path)
    return id_


def children(
    connection: Connection, catalog: int, namespace: Identifier, *, after: str | None = None, limit: int | None = None
) -> Sequence[str]:
    """Return the first `limit` names after `after` of the namespaces directly inside, in code point order."""
    path = names.known(namespace)
    page_names = connection.execute(_NAMES, page_of(catalog, path, after, limit)).scalars().all()
    if not page_names:
        find(connection, catalog, path)
    return page_names


def alter(
    connection: Connection,
    catalog: int,
    namespace: Identifier,
    *,
    by: str,
    properties: Mapping[str, str | None] | None = None,
    comment: str | Keep | None = KEEP,
    owner: str | Keep = KEEP,
) -> Namespace:
    """Change what is given, of this namespace alone; a property given as None is taken away."""
    row = _row(connection, catalog, namespace, lock=True)
    values = altered(row, properties, by=by, comment=comment, owner=owner)
    outbox.record_object(connection, "namespace.altered", row.id, by=by, data={"revision": row.revision + 1})
    return Namespace.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one())


def drop(connection: Connection, catalog: int, namespace: Identifier, *, by: str | None = None) -> Namespace:
    """Drop an empty namespace. Raises NamespaceNotFoundError, NamespaceNotEmptyError."""
    path = _droppable(namespace)
    outbox.record_going(connection, "dropped", find(connection, catalog, path), by=by)
    gone = delete(objects).where(objects.c.catalog_id == catalog, objects.c.physical == path.physical)
    try:
        row = connection.execute(gone.returning(*objects.c)).one_or_none()
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise namespace_not_empty(
            f"The namespace {path} is not empty. Drop what is in it first, or drop it with all that is inside."
        ) from error
    if row is None:
        raise missing(path)
    return Namespace.of(row)


def missing(namespace: Identifier) -> NamespaceNotFoundError:
    return namespace_not_found(f"There is no namespace {namespace}. Create it first, or check the name.")


def _checked(connection: Connection, catalog: int, namespace: Identifier, *, parents: bool) -> HierarchicalName:
    """Return the name of a new namespace, checked, as are those of its parents if they are made too."""
    path = names.new(namespace)
    if path.is_root:
        raise NamespaceAlreadyExistsError("The root namespace always exists; give the names of the new one.")
    names.physical(path)  # before it is looked at as often as it has names
    row = execute_compiled(connection, _CATALOG, {"catalog": catalog}).one_or_none()
    if row is None:
        raise missing(path)
    separator = settings.separator(connection)
    for depth in range(1 if parents else path.depth, path.depth + 1):
        separator.check(names.new(Identifier(path[:depth])), nested=bool(row.nested), catalog=row.name)
    return path


def _chain(connection: Connection, catalog: int, path: HierarchicalName, own: Mapping[str, object]) -> int:
    """Return the id of the parent, made with everything that is missing above it.

    From the top down, as everybody does it: so two chains that meet wait for each other, and never in a circle.
    """
    bare = {**own, "comment": None, "properties": {}}
    chain = [HierarchicalName(path[:depth]) for depth in range(path.depth)]
    ids = _ids(connection, catalog, chain)
    parent = ids[""]
    for step in chain[1:]:
        parent = ids.get(step.physical) or _ensure(connection, catalog, step, parent, bare)
    return parent


def _ids(connection: Connection, catalog: int, chain: Sequence[HierarchicalName]) -> dict[str, int]:
    values = {f"path_{number}": step.physical for number, step in enumerate(chain)}
    rows = execute_compiled(connection, _ids_statement(len(chain)), {"catalog": catalog, **values})
    return {row.physical: row.id for row in rows}


@cache  # few: the length of a path has a limit
def _ids_statement(length: int) -> Select[Any]:
    paths = [bindparam(f"path_{number}", type_=Name) for number in range(length)]
    return select(objects.c.physical, objects.c.id).where(
        objects.c.catalog_id == bindparam("catalog"), objects.c.physical.in_(paths)
    )


def _ensure(
    connection: Connection, catalog: int, path: HierarchicalName, parent: int, values: Mapping[str, object]
) -> int:
    new = _insert(connection, catalog, path, parent, values)
    if new is not None:
        return new.id
    existing: int | None = connection.execute(_ID, {"catalog": catalog, "path": path.physical}).scalar()
    if existing is None:
        raise _taken(connection, parent, path)
    return existing


def _insert(
    connection: Connection, catalog: int, path: HierarchicalName, parent: int, values: Mapping[str, Any]
) -> Namespace | None:
    place = {"catalog_id": catalog, "parent_id": parent, "kind": NAMESPACE, "managed": False}
    try:
        row = _INSERT(connection, {**place, "name": path.name, "physical": path.physical, **values})
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        # It was there a moment ago. Started again, a chain makes it again, and a single namespace misses it.
        raise RetryError(f"The parent of the namespace {path} was dropped at the same time. Try again.") from error
    if row is None:
        return None
    by = str(values["created_by"])
    outbox.record_object(connection, "namespace.created", row.id, by=by)
    audit = Audit(by, row.created_at, by, row.created_at, row.revision)
    return Namespace(row.id, path, values["comment"], values["properties"], values["owner"], audit)


def _taken(connection: Connection, parent: int, path: Identifier) -> NamespaceAlreadyExistsError | RetryError:
    """Return why a row could not be made: its name is taken, or was a moment ago."""
    kind = kind_of(connection, parent, path.name)
    if kind is None:
        return RetryError(f"The name {path} was taken and given up at the same time. Try again.")
    if kind == NAMESPACE:
        return NamespaceAlreadyExistsError(f"The namespace {path} exists already. Use it, or choose another name.")
    return NamespaceAlreadyExistsError(
        f"{path} cannot be made a namespace: a {kind.replace('_', ' ')} has this name. Rename or drop it first."
    )


def kind_of(connection: Connection, parent: object, name: str) -> str | None:
    """Return the kind of object that has a name inside a namespace, None if the name is free."""
    statement = select(objects.c.kind).where(objects.c.parent_id == parent, objects.c.name == name)
    kind: str | None = connection.execute(statement).scalar()
    return kind


def _row(connection: Connection, catalog: int, namespace: Identifier, *, lock: bool = False) -> Row[Any]:
    path = names.known(namespace)
    statement = _BY_PATH.with_for_update(key_share=True) if lock else _BY_PATH
    row = connection.execute(statement, {"catalog": catalog, "path": path.physical}).one_or_none()
    if row is None:
        raise missing(path)
    return row


def _droppable(namespace: Identifier) -> HierarchicalName:
    if namespace.is_root:
        raise InvalidInputError("The root namespace cannot be dropped; drop what is in it, or the catalog.")
    return names.known(namespace)
