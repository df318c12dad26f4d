"""Events as they are written: each in the transaction of its change, so that there is either both or neither.

What changes a row of the lake calls one of these functions with the connection of the change. `record_object` reads
the names of the object from its rows: call it when they are as the event is to have them, so before the object goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    CTE,
    JSON,
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Text,
    bindparam,
    case,
    cast,
    exists,
    func,
    insert,
    literal,
    null,
    select,
)

from lanceway.lake.feed.order import turn
from lanceway.lake.feed.types import TYPES
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import execute_compiled
from lanceway.lake.store.schema import DENY, NAMESPACE, TABLE, VIEW, catalogs, feed, grants, metalakes, objects

# What a row is about, where it is no namespace, table or view.
METALAKE, CATALOG = "metalake", "catalog"

COLUMNS = [column.name for column in feed.c if column.name != "id"]
_around = objects.alias("around")
_IS_LEAF = objects.c.physical.is_(None)
_KIND = case((objects.c.physical == "", CATALOG), else_=objects.c.kind)
_TYPE = bindparam("event", type_=Text)
_ACTOR = bindparam("actor", type_=Text)
_DATA = bindparam("facts", type_=JSON)


def object_event(
    event: ColumnElement[Any],
    actor: ColumnElement[Any],
    data: ColumnElement[Any],
    *,
    undenied: ColumnElement[Any] | None = None,
    start: FromClause | None = None,
) -> Select[Any]:
    """Return a query for the rows of an event about objects; the caller says which objects, or where to start."""
    tables = objects if start is None else start.join(objects, literal(1) == literal(1))
    return select(
        turn(),
        now(),
        event,
        actor,
        metalakes.c.name,
        catalogs.c.name,
        func.coalesce(objects.c.physical, _around.c.physical),
        _KIND,
        case((_IS_LEAF, objects.c.name), else_=""),
        objects.c.catalog_id,
        objects.c.parent_id,
        objects.c.id,
        cast(null(), Boolean) if undenied is None else undenied,
        data,
    ).select_from(
        tables.join(catalogs, catalogs.c.id == objects.c.catalog_id)
        .join(metalakes, metalakes.c.id == catalogs.c.metalake_id)
        .outerjoin(_around, _around.c.id == objects.c.parent_id)
    )


_OBJECT = insert(feed).from_select(
    COLUMNS, object_event(_TYPE, _ACTOR, _DATA).where(objects.c.id == bindparam("object", type_=BigInteger))
)
_CATALOG = insert(feed).from_select(
    COLUMNS,
    object_event(_TYPE, _ACTOR, _DATA).where(
        objects.c.catalog_id == bindparam("catalog_row", type_=BigInteger), objects.c.physical == ""
    ),
)
_UNDENIED = ~exists().where(grants.c.object_id == objects.c.id, grants.c.effect == DENY)
_NOUN = case((_IS_LEAF & (objects.c.kind == VIEW), VIEW), (_IS_LEAF, TABLE), else_=_KIND)
_GOES = object_event(_NOUN.concat(bindparam("verb", type_=Text)), _ACTOR, _DATA, undenied=cast(_UNDENIED, Boolean))
_OTHER = insert(feed).values(turn=turn(), at=now())


def record_object(
    connection: Connection, event: str, object_: int, *, by: str | None, data: Mapping[str, object] | None = None
) -> None:
    """Record what has happened to an object of the tree, or to what belongs to it, such as a version."""
    values = {"event": _known(event), "object": object_, "actor": by, "facts": dict(data or {})}
    execute_compiled(connection, _OBJECT, values)


def record_catalog(
    connection: Connection, event: str, catalog: int, *, by: str | None, data: Mapping[str, object] | None = None
) -> None:
    """Record what has happened to a catalog."""
    values = {"event": _known(event), "catalog_row": catalog, "actor": by, "facts": dict(data or {})}
    connection.execute(_CATALOG, values)


def record_going(connection: Connection, verb: str, which: int | CTE, *, by: str | None) -> None:
    """Record that objects are about to go: one, or all whose ids a query has, from the inside out."""
    ids = objects.c.id == which if isinstance(which, int) else objects.c.id.in_(select(which.c.id))
    # Tables first, then the deepest namespaces.
    rows = _GOES.where(ids).order_by(objects.c.physical.is_not(None), objects.c.physical.desc(), objects.c.id)
    _known(f"{TABLE}.{verb}")
    connection.execute(insert(feed).from_select(COLUMNS, rows), {"verb": f".{verb}", "actor": by, "facts": {}})


def record(
    connection: Connection,
    event: str,
    name: str,
    *,
    by: str | None,
    row: int | None = None,
    metalake: str | None = None,
    catalog: str | None = None,
    space: str | None = None,
    data: Mapping[str, object] | None = None,
) -> None:
    """Record what has happened to something else: to a metalake, a user, a group, a role, a job or a run."""
    values = {
        "type": _known(event),
        "actor": by,
        "metalake": metalake,
        "catalog": catalog,
        "space": space,
        "kind": event.partition(".")[0],
        "name": name,
        "row_id": row,
        "data": dict(data or {}),
    }
    connection.execute(_OTHER, values)


def _known(event: str) -> str:
    assert event in TYPES, f"{event} is not among the types of events"
    return event


def kind_of_leaf(kind: str) -> str:
    """Return the word for a kind of object in the types of events: Iceberg tables are tables."""
    return kind if kind in (NAMESPACE, VIEW) else TABLE
