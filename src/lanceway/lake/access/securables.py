"""Securables: the objects that rights are about, from the metalake down to a table, and the rows that they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    cast,
    null,
    or_,
    select,
    update,
)

from lanceway.errors import InvalidInputError, LanceNamespaceError, namespace_not_found, table_not_found
from lanceway.identifiers import ROOT, HierarchicalName, Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW, catalogs, foreign_objects, metalakes, mounts, objects
from lanceway.lake.tree import names
from lanceway.lake.tree.names import checked_name

# What a place is, from the top down.
METALAKE, CATALOG, SCHEMA = "metalake", "catalog", "schema"
LEVELS = (METALAKE, CATALOG, SCHEMA, TABLE, VIEW)
# Characters of a path: of a namespace, with the name of what is in it.
_LONGEST_PATH = names.LONGEST_INDEXED + 1 + names.LONGEST_NAME


@lru_cache(maxsize=1000)
def _stored(kind: str, name: str) -> str:
    return checked_name(kind, name)


def _refuse_endless(path: Identifier) -> None:
    """Refuse a path that is longer than any that is stored: to look for all above it would take its length squared."""
    length = sum(map(len, path)) + len(path) - 1  # with what is between them
    if length > _LONGEST_PATH:
        raise InvalidInputError(
            f"The path is too long: it has {length:,} characters, and no object here has more than {_LONGEST_PATH:,}. "
            "Check the names."
        )


@dataclass(frozen=True, slots=True)
class ServiceObject:
    """What tells an object of a mounted catalog from a later one of the same name: the service's own id for it, when
    the service made it, or both."""

    id: str | None = None
    made_at: int | None = None

    def is_other(self, recorded: ServiceObject) -> bool:
        """Return whether another object than this one was recorded. What is not known, tells nothing."""
        other_id = None not in (self.id, recorded.id) and self.id != recorded.id
        return other_id or (None not in (self.made_at, recorded.made_at) and self.made_at != recorded.made_at)


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """The row of an object of a mounted catalog, with what the service said of the object when it was recorded."""

    row: int
    path: Identifier
    kind: str
    service: ServiceObject


@dataclass(frozen=True, slots=True)
class Securable:
    """A metalake, one of its catalogs, or what is in a catalog: a namespace, a table or a view.

    `kind` tells the last three apart. A place in a `mounted` catalog is an object of a service, which `service` may
    identify.
    """

    metalake: str
    catalog: str | None = None
    path: Identifier = ROOT
    kind: str = NAMESPACE
    mounted: bool = False
    service: ServiceObject | None = None

    def __post_init__(self) -> None:
        if self.kind not in (NAMESPACE, TABLE, VIEW):
            raise InvalidInputError(f"A place cannot be of the kind {self.kind!r}. Use namespace, table or view.")
        if self.path.is_root and self.kind != NAMESPACE:
            raise InvalidInputError(f"A {self.kind} needs a name: its identifier is empty.")
        if self.catalog is None and self.path:
            raise InvalidInputError(f"{self.path} needs a catalog. Name the one that it is in.")

    @property
    def level(self) -> str:
        """Return what it is among the `LEVELS`."""
        if self.catalog is None:
            return METALAKE
        if self.path.is_root:
            return CATALOG
        return SCHEMA if self.kind == NAMESPACE else self.kind

    @property
    def parent(self) -> Securable:
        """Return the place around it. The metalake has none."""
        if self.path:
            return Securable(self.metalake, self.catalog, self.path.parent, mounted=self.mounted)
        if self.catalog is None:
            raise InvalidInputError("A metalake has nothing around it.")
        return Securable(self.metalake)

    @property
    def metalake_key(self) -> str:
        """Return the name that the metalake is stored by."""
        return _stored("metalake", self.metalake)

    @property
    def catalog_key(self) -> str:
        """Return the name that the catalog is stored by; empty where there is none."""
        return "" if self.catalog is None else _stored("catalog", self.catalog)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return what the statements about places bind.

        `paths` are the physical names of the namespaces on the way to it, itself included if it is one; not the
        root's. Of a table or a view, `parent` and `leaf` are its namespace and its name. Raises InvalidInputError for
        a path that no object can have.
        """
        _refuse_endless(self.path)
        path = names.known(self.path)
        paths = list(accumulate((HierarchicalName.encode(name) for name in path), "{}.{}".format))
        is_leaf = self.kind != NAMESPACE
        if is_leaf:
            paths.pop()
        return {
            "metalake": self.metalake_key,
            "catalog": self.catalog_key,
            "paths": paths,
            "parent": paths[-1] if is_leaf and paths else "",
            "leaf": path.name if is_leaf else "",
        }

    def __str__(self) -> str:
        if self.catalog is None:
            return f"the metalake {self.metalake}"
        if self.path.is_root:
            return f"the catalog {self.catalog}"
        return f"the {self.level} {self.path} of the catalog {self.catalog}"


def record(
    connection: Connection,
    event: str,
    place: Securable,
    data: Mapping[str, object],
    *,
    by: str | None,
    row: int | None = None,
) -> None:
    """Record an event about a place, which need not be an object of the lake."""
    path, is_leaf = names.known(place.path), place.kind != NAMESPACE
    around = HierarchicalName(path.parent) if is_leaf else path
    outbox.record(
        connection,
        event,
        path.name if is_leaf else "",
        by=by,
        row=row,
        metalake=place.metalake_key,
        catalog=place.catalog_key or None,
        space=None if place.catalog is None else around.physical,
        data={**data, "level": place.level, "mounted": place.mounted},
    )


@dataclass(frozen=True, slots=True)
class SecurableRow:
    """The row of a place: exactly one of the ids is given. A catalog of the lake has that of its root."""

    place: Securable
    metalake: int
    metalake_id: int | None = None
    object_id: int | None = None
    foreign_id: int | None = None
    parent_id: int | None = None
    kind: str | None = None
    name: str | None = None

    @property
    def key(self) -> dict[str, Any]:
        """Return the columns of a grant that say what it is about."""
        ids = {"metalake_id": self.metalake_id, "object_id": self.object_id, "foreign_id": self.foreign_id}
        return {**ids, "parent_id": self.parent_id, "kind": self.kind, "name": self.name}


_METALAKE = select(metalakes.c.id).where(metalakes.c.name == bindparam("metalake"))
_IN_CATALOG = (
    (metalakes.c.name == bindparam("metalake"))
    & (catalogs.c.metalake_id == metalakes.c.id)
    & (catalogs.c.name == bindparam("catalog"))
)
_COLUMNS = (
    catalogs.c.metalake_id.label("metalake"),
    objects.c.id,
    objects.c.parent_id,
    objects.c.kind,
    objects.c.name,
)
# Held, so that the object is still there when a grant on it is written.
_NAMESPACE: Select[Any] = (
    select(*_COLUMNS)
    .where(_IN_CATALOG, objects.c.catalog_id == catalogs.c.id, objects.c.physical == bindparam("path"))
    .with_for_update(of=objects, read=True, key_share=True)
)
_parents = objects.alias("parents")
_LEAF: Select[Any] = (
    select(*_COLUMNS)
    .where(
        _IN_CATALOG,
        _parents.c.catalog_id == catalogs.c.id,
        _parents.c.physical == bindparam("parent"),
        objects.c.parent_id == _parents.c.id,
        objects.c.name == bindparam("leaf"),
        objects.c.kind != NAMESPACE,
    )
    .with_for_update(of=objects, read=True, key_share=True)
)
_FOREIGN = select(foreign_objects).where(
    foreign_objects.c.metalake_id == bindparam("row"),
    foreign_objects.c.catalog == bindparam("catalog"),
    foreign_objects.c.path == bindparam("path"),
    foreign_objects.c.kind == bindparam("kind"),
    foreign_objects.c.lapsed_at.is_(None),
)
# With a catalog that was made through an interface go the rows of its objects.
_MOUNT = select(mounts.c.id).where(mounts.c.metalake_id == bindparam("row"), mounts.c.name == bindparam("catalog"))
_INSERT_FOREIGN = Insert(foreign_objects, created_at=now(), owner_kind="user", lapsed_at=cast(null(), BigInteger))
_LAPSE = (
    update(foreign_objects)
    .where(foreign_objects.c.id == bindparam("row"), foreign_objects.c.lapsed_at.is_(None))
    .values(lapsed_at=now())
)
_IDENTIFY = (
    update(foreign_objects)
    .where(foreign_objects.c.id == bindparam("row"))
    .values(service_id=bindparam("new_service_id"), made_at=bindparam("new_made_at"))
)
_IDENTIFY_FIRST = _IDENTIFY.where(
    foreign_objects.c.service_id.is_(None), foreign_objects.c.made_at.is_(None), foreign_objects.c.lapsed_at.is_(None)
)


def find(connection: Connection, place: Securable) -> SecurableRow:
    """Return the row of a place. Raises NamespaceNotFoundError, TableNotFoundError.

    A mounted catalog has only rows for what was granted or owned; `ensure` makes one.
    """
    row = _found(connection, place)
    if row is None:
        raise missing(place)
    return row


def has_row(connection: Connection, place: Securable) -> bool:
    """Return whether a place has a row."""
    return _found(connection, place) is not None


def ensure(connection: Connection, place: Securable, *, by: str, owner: str = "admin") -> SecurableRow:
    """Return the row of a place, which is made for an object of a mounted catalog that has none, with this owner.

    A row that was recorded for an earlier object of the same name lapses: what was granted on it does not hold for
    the new one.
    """
    if not place.mounted:
        return find(connection, place)
    metalake = _metalake(connection, place)
    row = _foreign(connection, metalake, place)
    recorded = ServiceObject() if row is None else ServiceObject(row.service_id, row.made_at)
    if row is not None and place.service is not None and place.service.is_other(recorded):
        connection.execute(_LAPSE, {"row": row.id})
        row = None
    service = place.service or ServiceObject()
    if row is None:
        mount = connection.execute(_MOUNT, {"row": metalake, "catalog": place.catalog}).scalar()
        values = {**_foreign_key(place), "metalake_id": metalake, "created_by": by, "owner": owner, "mount_id": mount}
        row = _INSERT_FOREIGN(connection, {**values, "service_id": service.id, "made_at": service.made_at})
        if row is None:
            raise RetryError(f"{place} was recorded by others at the same time. Try again.")
    elif service != ServiceObject():
        known = {"new_service_id": service.id or row.service_id, "new_made_at": service.made_at or row.made_at}
        connection.execute(_IDENTIFY, {"row": row.id, **known})
    return SecurableRow(place, metalake, foreign_id=row.id)


def lapse(connection: Connection, place: Securable) -> bool:
    """Record that a service has no such object any more, or another one; return whether there was a row.

    Grants on it hold no longer, and are shown as dangling.
    """
    row = _foreign(connection, _metalake(connection, place), place)
    if row is not None:
        connection.execute(_LAPSE, {"row": row.id})
    return row is not None


def lapse_row(connection: Connection, row: int) -> None:
    """Record that the object of a row is gone. A row that others have made for a later object stays.

    With a namespace goes what was inside: of what the service has not identified yet, nothing else would tell it.
    """
    if not connection.execute(_LAPSE, {"row": row}).rowcount:
        return
    gone = connection.execute(select(foreign_objects).where(foreign_objects.c.id == row)).one()
    if gone.kind == NAMESPACE:
        unknown = and_(foreign_objects.c.service_id.is_(None), foreign_objects.c.made_at.is_(None))
        _lapse_where(connection, gone.metalake_id, gone.catalog, and_(_below(gone.path), unknown))


def identify(connection: Connection, row: int, service: ServiceObject) -> bool:
    """Record what the service says of the object of a row; return False if it has lapsed, or others have done so."""
    known = {"new_service_id": service.id, "new_made_at": service.made_at}
    return bool(connection.execute(_IDENTIFY_FIRST, {"row": row, **known}).rowcount)


def forget_identity(connection: Connection, place: Securable) -> None:
    """Forget which object of the service a row is about: it was replaced here, and what was granted stays."""
    row = _foreign(connection, _metalake(connection, place), place)
    if row is not None:
        connection.execute(_IDENTIFY, {"row": row.id, "new_service_id": None, "new_made_at": None})


def lapse_all(connection: Connection, place: Securable) -> None:
    """Record that a service has a namespace no more, with all that was inside."""
    path = names.known(place.path).physical
    itself = and_(foreign_objects.c.path == path, foreign_objects.c.kind == NAMESPACE)
    _lapse_where(connection, _metalake(connection, place), place.catalog, or_(itself, _below(path)))


def _below(path: str) -> ColumnElement[bool]:
    return and_(foreign_objects.c.path > f"{path}.", foreign_objects.c.path < f"{path}/")


def _lapse_where(connection: Connection, metalake: int, catalog: str | None, where: ColumnElement[bool]) -> None:
    connection.execute(
        update(foreign_objects)
        .where(
            foreign_objects.c.metalake_id == metalake,
            foreign_objects.c.catalog == catalog,
            foreign_objects.c.lapsed_at.is_(None),
            where,
        )
        .values(lapsed_at=now())
    )


def rename(connection: Connection, place: Securable, path: Identifier) -> None:
    """Record that an object of a service has another name: what was granted on it goes with it.

    Some services can only make another object with the new name, so it is identified again.
    """
    row = _foreign(connection, _metalake(connection, place), place)
    if row is None:
        return
    lapse(connection, replace(place, path=path))
    renamed = update(foreign_objects).where(foreign_objects.c.id == row.id)
    connection.execute(renamed.values(path=names.known(path).physical, service_id=None, made_at=None))


def missing(place: Securable) -> LanceNamespaceError:
    if place.level in (TABLE, VIEW):
        return table_not_found(
            f"There is no {place.level} {place.path} in the catalog {place.catalog}. Check the name."
        )
    what = str(place).removeprefix("the ")
    return namespace_not_found(f"There is no {what}. Check the name, or create it first.")


def _found(connection: Connection, place: Securable) -> SecurableRow | None:
    if place.level == METALAKE:
        metalake = _metalake(connection, place)
        return SecurableRow(place, metalake, metalake_id=metalake)
    if place.mounted:
        metalake = _metalake(connection, place)
        row = _foreign(connection, metalake, place)
        return None if row is None else SecurableRow(place, metalake, foreign_id=row.id)
    parameters = place.parameters
    if place.kind == NAMESPACE:
        keys = {name: parameters[name] for name in ("metalake", "catalog")}
        row = connection.execute(_NAMESPACE, {**keys, "path": names.known(place.path).physical}).one_or_none()
    else:
        del parameters["paths"]
        row = connection.execute(_LEAF, parameters).one_or_none()
        if row is not None and (row.kind == VIEW) != (place.kind == VIEW):
            return None
    if row is None:
        return None
    return SecurableRow(place, row.metalake, object_id=row.id, parent_id=row.parent_id, kind=row.kind, name=row.name)


def _metalake(connection: Connection, place: Securable) -> int:
    metalake: int | None = connection.execute(_METALAKE, {"metalake": place.metalake}).scalar()
    if metalake is None:
        raise missing(Securable(place.metalake))
    return metalake


def _foreign_key(place: Securable) -> dict[str, Any]:
    return {"catalog": place.catalog, "path": names.known(place.path).physical, "kind": place.kind}


def _foreign(connection: Connection, metalake: int, place: Securable) -> Row[Any] | None:
    return connection.execute(_FOREIGN, {"row": metalake, **_foreign_key(place)}).one_or_none()
