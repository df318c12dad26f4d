"""Pages of the objects directly inside a namespace: by name, beginning after a name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Select, bindparam, select

from lanceway.identifiers import HierarchicalName
from lanceway.lake.store.schema import objects

_ALL = 2**62

_parents = objects.alias()
_PARENT = (
    select(_parents.c.id)
    .where(_parents.c.catalog_id == bindparam("catalog"), _parents.c.physical == bindparam("path"))
    .scalar_subquery()
)


def page(*columns: Column[Any] | ColumnElement[Any]) -> Select[Any]:
    """Return a query for a page; `page_of` binds it. An empty page does not tell whether the namespace exists."""
    return (
        select(*columns)
        .where(objects.c.parent_id == _PARENT, objects.c.name > bindparam("after"))
        .order_by(objects.c.name)
        .limit(bindparam("limit", type_=BigInteger))
    )


def page_of(catalog: int, path: HierarchicalName, after: str | None, limit: int | None) -> dict[str, object]:
    return {"catalog": catalog, "path": path.physical, "after": after or "", "limit": at_most(limit)}


def at_most(limit: int | None) -> int:
    """Return a limit that both databases accept."""
    return _ALL if limit is None else min(limit, _ALL)
