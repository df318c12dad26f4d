"""Making, changing and dropping tables: a name in a namespace, and the location that it stands for.

Iceberg tables and views are rows of other kinds; they share the names, and have a metadata pointer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableAlreadyExistsError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store import errors
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import KEEP, Keep, altered, change, described, insert_audited
from lanceway.lake.store.schema import KINDS, NAMESPACE, TABLE, VIEW, catalogs, objects
from lanceway.lake.tree import clones, locations, lookups, names, namespaces
from lanceway.lake.tree.lookups import TableRow

_INSERT = insert_audited(objects)
_PLACE: Select[Any] = (
    select(objects.c.id.label("parent"), catalogs.c.location, catalogs.c.managed)
    .join_from(objects, catalogs, objects.c.catalog_id == catalogs.c.id)
    .where(objects.c.catalog_id == bindparam("catalog"), objects.c.physical == bindparam("path"))
)
_CHANGE = change(objects).where(objects.c.id == bindparam("row")).returning(*objects.c)
# A row that points elsewhere by now, or is gone, is left alone.
_POINT = (
    change(objects)
    .where(objects.c.id == bindparam("row"), objects.c.metadata_pointer == bindparam("before"))
    .values(metadata_pointer=bindparam("pointer"), changed_by=bindparam("by"))
    .returning(*objects.c)
)
_PLACE_AT = update(objects).where(objects.c.id == bindparam("row")).values(location=bindparam("place"))
_ADOPTED = update(objects).where(objects.c.id == bindparam("row")).values(adopted=True)
_DELETE = delete(objects).where(objects.c.id == bindparam("row"))


def create(
    connection: Connection,
    catalog: int,
    table: Identifier,
    *,
    by: str,
    kind: str = TABLE,
    location: str | None = None,
    managed: bool | None = None,
    metadata_pointer: str | None = None,
    owner: str | None = None,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
    event: str = "created",
    is_chosen: bool = True,
) -> TableRow:
    """Declare a table, or register the one at `location`; the feed has it by the verb `event`.

    Without a location it gets one under the catalog's root. One that `locations.under` made, and no user chose, is
    not compared with others. It is `managed` as the catalog has it by default.
    Raises TableAlreadyExistsError, also where a namespace has the name, NamespaceNotFoundError, and
    InvalidInputError for a location that overlaps another one.
    """
    path = names.new(lookups.known(table))
    place = _place(connection, catalog, path)
    if location is not None:
        refuse_taken(connection, place.parent, path)  # or its own location would be in the way
    values = {
        "catalog_id": catalog,
        "parent_id": place.parent,
        "kind": _checked_kind(kind),
        "name": path.name,
        "managed": kind == TABLE and (place.managed if managed is None else managed),
        "metadata_pointer": metadata_pointer,
        "adopted": True,
        "location": location if not is_chosen else _location(connection, place.location, path, kind, location),
        **described(comment, properties, owner, by),
    }
    row = _insert(connection, values, path)
    outbox.record_object(connection, _event(kind, event), row.id, by=by, data={"managed": row.managed})
    return TableRow.of(row, path)


def alter(
    connection: Connection,
    catalog: int,
    table: Identifier,
    *,
    by: str,
    kind: str = TABLE,
    properties: Mapping[str, str | None] | None = None,
    comment: str | Keep | None = KEEP,
    owner: str | Keep = KEEP,
    managed: bool | None = None,
    metadata_pointer: str | Keep = KEEP,
    expected: int | None = None,
) -> TableRow:
    """Change what is given; a property given as None is taken away.

    Raises ConcurrentModificationError if a revision is `expected` and the table has another one.
    """
    row = lookups.lock(connection, catalog, table, kind=kind)
    if expected is not None and expected != row.audit.revision:
        raise ConcurrentModificationError(f"The table {row.identifier} was changed by others. Load it again.")
    values = altered(row, properties, by=by, comment=comment, owner=owner, metadata_pointer=metadata_pointer)
    if managed is not None:
        values["managed"] = managed
    changed = {"revision": row.audit.revision + 1} | ({} if managed is None else {"managed": managed})
    outbox.record_object(connection, _event(kind, "altered"), row.id, by=by, data=changed)
    return TableRow.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one(), row.identifier)


def point(
    connection: Connection, row: TableRow, pointer: str, *, by: str, location: str | None = None
) -> TableRow | None:
    """Have an Iceberg table or a view point to other metadata, if it still points to what `row` says; else None.

    With a `location`, it moves there. Raises InvalidInputError for one that overlaps another one.
    """
    values = {"row": row.id, "before": row.metadata_pointer, "pointer": pointer, "by": by}
    pointed = connection.execute(_POINT, values).one_or_none()
    if pointed is None:
        return None
    if location is not None and location != row.location:
        connection.execute(_PLACE_AT, {"row": row.id, "place": None})  # or its own location would be in the way
        connection.execute(_PLACE_AT, {"row": row.id, "place": locations.claim(connection, location)})
        if row.location is not None:
            locations.retire(connection, [row.location])
    data = {"revision": pointed.revision}
    outbox.record_object(connection, _event(row.kind, "altered"), row.id, by=by, data=data)
    return TableRow.of(pointed, row.identifier)


def mark_adopted(connection: Connection, table: TableRow) -> None:
    """Record that the tags, branches and definitions of a table are rows. The table must be locked."""
    connection.execute(_ADOPTED, {"row": table.id})


def rename(
    connection: Connection, catalog: int, table: Identifier, target: Identifier, *, by: str, kind: str = TABLE
) -> TableRow:
    """Give a table another name, in another namespace too. Its data stays where it is.

    Raises TableNotFoundError, TableAlreadyExistsError, NamespaceNotFoundError.
    """
    path = names.new(lookups.known(target))
    current = lookups.lock(connection, catalog, table, kind=kind)
    parent = namespaces.find(connection, catalog, path.parent)
    before = namespaces.find(connection, catalog, current.identifier.parent)
    refuse_taken(connection, parent, path)
    values = {"parent_id": parent, "name": path.name, "changed_by": by}
    try:
        row = connection.execute(_CHANGE.values(values), {"row": current.id}).one()
    except IntegrityError as error:
        raise _raced(error, path) from error
    data = {"previous": list(current.identifier), "previous_parent": before}
    outbox.record_object(connection, _event(kind, "renamed"), row.id, by=by, data=data)
    return TableRow.of(row, path)


def deregister(
    connection: Connection, catalog: int, table: Identifier, *, by: str | None = None, kind: str = TABLE
) -> TableRow:
    """Forget a table and its versions, and keep its data.

    Raises TableNotFoundError, and InvalidTableStateError for one that has clones or is one.
    """
    row = lookups.lock(connection, catalog, table, kind=kind)
    clones.refuse_forgotten(connection, row)
    _forget(connection, row, "deregistered", by)
    return row


def drop(connection: Connection, catalog: int, table: Identifier, *, by: str, kind: str = TABLE) -> TableRow:
    """Forget a table and its versions, and record its location among the removals.

    Raises TableNotFoundError, and InvalidTableStateError for one that has clones.
    """
    row = lookups.lock(connection, catalog, table, kind=kind)
    _forget(connection, row, "dropped", by)
    if row.location is not None:
        locations.record(connection, [row.location], by=by)
    return row


def _forget(connection: Connection, row: TableRow, verb: str, by: str | None) -> None:
    clones.refuse_source(connection, row)
    outbox.record_going(connection, verb, row.id, by=by)
    connection.execute(_DELETE, {"row": row.id})
    if row.location is not None:
        locations.retire(connection, [row.location])


def refuse_taken(connection: Connection, parent: object, path: Identifier) -> None:
    """Raise TableAlreadyExistsError if anything has the name."""
    kind = namespaces.kind_of(connection, parent, path.name)
    if kind == NAMESPACE:
        raise TableAlreadyExistsError(f"{path} cannot be made a table: a namespace has this name. Use another name.")
    if kind is not None:
        raise TableAlreadyExistsError(
            f"The {kind.replace('_', ' ')} {path} exists already. Use it, drop it first, or choose another name."
        )


def _place(connection: Connection, catalog: int, path: HierarchicalName) -> Row[Any]:
    parent = HierarchicalName(path.parent)
    row = connection.execute(_PLACE, {"catalog": catalog, "path": parent.physical}).one_or_none()
    if row is None:
        raise namespaces.missing(parent)
    return row


def _location(
    connection: Connection, root: str | None, path: Identifier, kind: str, location: str | None
) -> str | None:
    if location is not None:
        return locations.claim(connection, location)
    if kind == VIEW:
        return None
    if root is None:
        raise InvalidInputError(f"The table {path} needs a location: its catalog has none to put it under.")
    return locations.under(root)


def _insert(connection: Connection, values: Mapping[str, object], path: Identifier) -> Row[Any]:
    try:
        row = _INSERT(connection, values)
    except IntegrityError as error:
        raise _raced(error, path) from error
    if row is None:
        refuse_taken(connection, values["parent_id"], path)
        raise RetryError(f"The name or the location of the table {path} was taken at the same time. Try again.")
    return row


def _raced(error: IntegrityError, path: Identifier) -> RetryError:
    """Return a RetryError for a name taken or a namespace dropped since we looked: the next attempt sees it."""
    if not errors.is_taken(error) and not errors.is_missing_parent(error):
        raise error
    return RetryError(f"The name of the table {path} or its namespace was changed at the same time. Try again.")


def _event(kind: str, verb: str) -> str:
    return f"{outbox.kind_of_leaf(kind)}.{verb}"


def _checked_kind(kind: str) -> str:
    if kind not in KINDS or kind == NAMESPACE:
        raise InvalidInputError(f"A table cannot be of the kind {kind!r}. Use one of {', '.join(KINDS[1:])}.")
    return kind
