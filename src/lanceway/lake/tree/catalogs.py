"""Catalogs: the first level of a metalake, each with a root namespace of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from lanceway.errors import namespace_not_empty, namespace_not_found
from lanceway.lake.feed import outbox
from lanceway.lake.store import errors
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import KEEP, Audit, Keep, altered, change, described, insert_audited
from lanceway.lake.store.schema import NAMESPACE, catalogs, objects
from lanceway.lake.store.schema import metalakes as metalake_rows
from lanceway.lake.tree import locations, metalakes, mounts, nesting, settings
from lanceway.lake.tree.names import checked_name, new_name
from lanceway.lake.tree.pages import at_most

LAKE = "lake"

_INSERT = insert_audited(catalogs)
_INSERT_ROOT = insert_audited(objects)
_BY_NAME: Select[Any] = (
    select(catalogs)
    .join_from(catalogs, metalake_rows, catalogs.c.metalake_id == metalake_rows.c.id)
    .where(metalake_rows.c.name == bindparam("metalake"), catalogs.c.name == bindparam("catalog"))
)
_CHANGING = _BY_NAME.with_for_update(key_share=True, of=catalogs)
_ALONE = _BY_NAME.with_for_update(of=catalogs)
_BY_ID = select(catalogs).where(catalogs.c.id == bindparam("catalog"))
_CHANGE = change(catalogs).where(catalogs.c.id == bindparam("row")).returning(*catalogs.c)


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """A catalog. New tables are under `location`, and `managed` by default; `nested` says which names are allowed."""

    id: int
    name: str
    kind: str
    nested: bool
    managed: bool
    location: str | None
    comment: str | None
    properties: Mapping[str, str]
    owner: str | None
    audit: Audit
    disabled: bool = False

    @classmethod
    def of(cls, row: Row[Any]) -> CatalogRow:
        flags = (row.kind, row.nested, row.managed, row.location)
        texts = (row.comment, row.properties, row.owner)
        return cls(row.id, row.name, *flags, *texts, Audit.of(row), row.disabled_at is not None)


def create(
    connection: Connection,
    metalake: str,
    name: str,
    *,
    by: str,
    kind: str = LAKE,
    nested: bool = False,
    managed: bool = True,
    location: str | None = None,
    owner: str | None = None,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> CatalogRow:
    """Make a catalog and its root. Raises NamespaceNotFoundError for the metalake, NamespaceAlreadyExistsError."""
    parent = metalakes.lock(connection, metalake)
    values = {
        "metalake_id": parent.id,
        "name": new_name("catalog", name),
        "kind": kind,
        "nested": nested,
        "managed": managed,
        "location": locations.claim_root(connection, location) if location else None,
        **described(comment, properties, owner, by),
    }
    row = None if mounts.has(connection, parent.id, str(values["name"])) else _insert(connection, values)
    if row is None:
        raise mounts.taken(metalake, name)
    _INSERT_ROOT(connection, _root(row.id, row.owner, by))
    outbox.record_catalog(connection, "catalog.created", row.id, by=by)
    return CatalogRow.of(row)


def load(connection: Connection, metalake: str, name: str) -> CatalogRow:
    """Return a catalog by its name. Raises NamespaceNotFoundError."""
    return CatalogRow.of(_row(connection, metalake, name, _BY_NAME))


def get(connection: Connection, catalog: int) -> CatalogRow:
    """Return a catalog by its id. Raises NamespaceNotFoundError."""
    row = connection.execute(_BY_ID, {"catalog": catalog}).one_or_none()
    if row is None:
        raise namespace_not_found("The catalog is gone: it was dropped. Connect again.")
    return CatalogRow.of(row)


def names(
    connection: Connection, metalake: str, *, after: str | None = None, limit: int | None = None
) -> Sequence[str]:
    """Return the first `limit` names after `after`, in code point order. Raises NamespaceNotFoundError."""
    parent = metalakes.load(connection, metalake)
    statement = select(catalogs.c.name).where(catalogs.c.metalake_id == parent.id, catalogs.c.name > (after or ""))
    return connection.execute(statement.order_by(catalogs.c.name).limit(at_most(limit))).scalars().all()


def alter(
    connection: Connection,
    metalake: str,
    name: str,
    *,
    by: str,
    properties: Mapping[str, str | None] | None = None,
    comment: str | Keep | None = KEEP,
    owner: str | Keep = KEEP,
    managed: bool | None = None,
) -> CatalogRow:
    """Change what is given; a property given as None is taken away. `managed` holds for tables made from now on."""
    row = _row(connection, metalake, name, _CHANGING)
    values = altered(row, properties, by=by, comment=comment, owner=owner)
    if managed is not None:
        values["managed"] = managed
    outbox.record_catalog(connection, "catalog.altered", row.id, by=by, data={"revision": row.revision + 1})
    return CatalogRow.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one())


def set_enabled(connection: Connection, metalake: str, name: str, enabled: bool, *, by: str) -> CatalogRow:
    """Enable or disable a catalog: a disabled one keeps its tables, which no server serves."""
    row = _row(connection, metalake, name, _CHANGING)
    values = mounts.enabling(row, enabled, by=by)
    outbox.record_catalog(connection, "catalog.altered", row.id, by=by, data={"enabled": enabled})
    settings.renew_mounts_revision(connection)
    return CatalogRow.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one())


def rename(connection: Connection, metalake: str, name: str, new: str, *, by: str) -> CatalogRow:
    """Give a catalog another name. Raises NamespaceNotFoundError, NamespaceAlreadyExistsError."""
    parent = metalakes.lock(connection, metalake)
    row = _row(connection, metalake, name, _ALONE)
    key = new_name("catalog", new)
    if mounts.is_taken(connection, parent.id, key):
        raise mounts.taken(metalake, new)
    mounts.rename_jobs(connection, metalake, row.name, key)
    settings.renew_mounts_revision(connection)
    renamed = connection.execute(_CHANGE.values(name=key, changed_by=by), {"row": row.id}).one()
    outbox.record_catalog(connection, "catalog.renamed", row.id, by=by, data={"previous": row.name})
    return CatalogRow.of(renamed)


def drop(connection: Connection, metalake: str, name: str, *, by: str | None = None) -> CatalogRow:
    """Drop an empty catalog. Raises NamespaceNotFoundError, NamespaceNotEmptyError."""
    row = _row(connection, metalake, name, _ALONE)
    outbox.record_catalog(connection, "catalog.dropped", row.id, by=by)
    try:
        connection.execute(delete(objects).where(objects.c.catalog_id == row.id, objects.c.physical == ""))
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise namespace_not_empty(f"The catalog {name!r} is not empty. Drop what is in it first.") from error
    connection.execute(delete(catalogs).where(catalogs.c.id == row.id))
    return CatalogRow.of(row)


def drop_tree(connection: Connection, metalake: str, name: str, *, by: str) -> tuple[CatalogRow, Sequence[str]]:
    """Drop a catalog with all that is inside; it, and the locations of its tables, recorded among the removals."""
    row = _row(connection, metalake, name, _ALONE)
    locations = nesting.clear(connection, row.id, by=by)
    connection.execute(delete(catalogs).where(catalogs.c.id == row.id))
    return CatalogRow.of(row), locations


def _insert(connection: Connection, values: Mapping[str, object]) -> Row[Any] | None:
    try:
        return _INSERT(connection, values)
    except IntegrityError as error:
        if not errors.is_missing_parent(error):
            raise
        raise RetryError("The metalake was dropped at the same time. Try again.") from error


def _root(catalog: int, owner: str, by: str) -> dict[str, object]:
    place = {"catalog_id": catalog, "kind": NAMESPACE, "name": "", "physical": "", "managed": False}
    return {**place, **described(None, None, owner, by)}


def _row(connection: Connection, metalake: str, name: str, statement: Select[Any]) -> Row[Any]:
    parameters = {"metalake": checked_name("metalake", metalake), "catalog": checked_name("catalog", name)}
    row = connection.execute(statement, parameters).one_or_none()
    if row is None:
        raise mounts.missing(metalake, name)
    return row
