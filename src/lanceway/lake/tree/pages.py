"""Pages of what lies directly in a namespace: by name, beginning after a name."""

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
    """A query for a page, made once; `page_of` binds it. An empty page says nothing of the namespace itself."""
    return (
        select(*columns)
        .where(objects.c.parent_id == _PARENT, objects.c.name > bindparam("after"))
        .order_by(objects.c.name)
        .limit(bindparam("limit", type_=BigInteger))
    )


def page_of(catalog: int, path: HierarchicalName, after: str | None, limit: int | None) -> dict[str, object]:
    return {"catalog": catalog, "path": path.physical, "after": after or "", "limit": at_most(limit)}


def at_most(limit: int | None) -> int:
    """A limit that both databases can count to."""
    return _ALL if limit is None else min(limit, _ALL)
