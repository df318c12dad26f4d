"""Lists of what a caller is shown in the lake: what it may see, and the bare names of what leads there."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection

from lanceway.access.decisions import AccessDeniedError, judge
from lanceway.access.mounted.lists import MountedLists
from lanceway.access.privileges import USE_CATALOG, USE_SCHEMA
from lanceway.access.rules import BY_NAME, VISIBLE
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access import facts, holdings, mounted, securables, visible
from lanceway.lake.access.facts import AccessFacts, Caller
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, RecordedObject, Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import ICEBERG_TABLE, NAMESPACE, TABLE
from lanceway.lake.tree import catalogs, lookups, names, namespaces


def child_namespaces(
    connection: Connection, caller: Caller, place: Securable, *, after: str | None = None, limit: int | None = None
) -> Sequence[str]:
    """Return the first `limit` names after `after` of the namespaces in a namespace that the caller is shown.

    Shown is what it may load, and what leads there, which it may not. A namespace that is hidden and one that is
    missing have nothing inside; NamespaceNotFoundError is raised only where the caller may load the namespace around
    it, and so sees what is there. Raises PermissionDeniedError without the right to use the catalog.
    """
    found = facts.load(connection, caller, place)
    gate = judge(found, BY_NAME["use catalog"])
    gate.require()
    if not found.found:
        return _missing(connection, caller, place)
    path, held = names.known(place.path), Holdings.of(found)
    if shows_all(held):
        catalog = catalogs.load(connection, place.metalake, str(place.catalog))
        return namespaces.children(connection, catalog.id, path, after=after, limit=limit)
    return _page(connection, found, held, path, NAMESPACE, (USE_SCHEMA,), after, limit)


def child_leaves(
    connection: Connection,
    caller: Caller,
    place: Securable,
    *,
    kinds: Sequence[str] = (TABLE,),
    after: str | None = None,
    limit: int | None = None,
) -> Sequence[str]:
    """Return the first `limit` names after `after` of the tables, or others, in a namespace that the caller may load.

    The namespace must be one that it may load; the root is one for those who may use the catalog. Raises
    PermissionDeniedError, NamespaceNotFoundError.
    """
    found = facts.load(connection, caller, place)
    judge(found, BY_NAME["use catalog" if place.level == CATALOG else "load schema"]).require()
    if not found.found:
        raise securables.missing(place)
    path, held = names.known(place.path), Holdings.of(found)
    if shows_all(held):
        catalog = catalogs.load(connection, place.metalake, str(place.catalog)).id
        pages = [lookups.children(connection, catalog, path, kind=kind, after=after, limit=limit) for kind in kinds]
    elif held.has(USE_SCHEMA):
        pages = [
            _page(connection, found, held, path, kind, VISIBLE[TABLE if kind == ICEBERG_TABLE else kind], after, limit)
            for kind in kinds
        ]
    else:
        return []
    # No two have one name, and what is on none of these pages comes after all that is on the one returned.
    return pages[0] if len(pages) == 1 else list(heapq.merge(*pages))[:limit]


def visible_catalogs(
    connection: Connection,
    caller: Caller,
    metalake: str,
    names: Sequence[str],
    mounted_names: Collection[str],
    *,
    as_enabled: bool = False,
) -> list[str]:
    """Return those of some catalogs that the caller may use, in order; `as_enabled`, with access control on."""
    lake = [name for name in names if name not in mounted_names]
    mine = [name for name in names if name in mounted_names]
    held = holdings.load_catalogs(connection, caller, metalake, lake, mine, as_enabled=as_enabled)
    return [name for name in names if BY_NAME["use catalog"].allows(held[name])]


@dataclass(frozen=True, slots=True)
class VisibleTree:
    """What a caller is shown in the lists of a tree: of the lake's catalogs and of those that are mounted."""

    store: LakeStore
    metalake: str
    caller: Caller
    mounted_names: Callable[[], Collection[str]]
    still_holds: Callable[[str, RecordedObject], bool]

    def catalogs(self, names: Sequence[str]) -> Sequence[str]:
        return self.store.read(visible_catalogs, self.caller, self.metalake, names, self.mounted_names())

    def namespaces(self, catalog: str, parent: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        place = Securable(self.metalake, catalog, parent)
        return self.store.read(child_namespaces, self.caller, place, after=after, limit=limit)

    def tables(self, catalog: str, parent: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return a page of tables; none where the caller may not enter, as on the way to what it may see."""
        return self.leaves(catalog, parent, (TABLE,), after, limit)

    def leaves(
        self, catalog: str, parent: Identifier, kinds: Sequence[str], after: str | None, limit: int | None
    ) -> Sequence[str]:
        place = Securable(self.metalake, catalog, parent)
        with suppress(AccessDeniedError):
            return self.store.read(child_leaves, self.caller, place, kinds=kinds, after=after, limit=limit)
        return []

    def listed(self, catalog: str, operation: str, request: BaseModel, ask: Callable[[str, BaseModel], Any]) -> Any:
        known = self.store.read(mounted.load, self.caller, Securable(self.metalake, catalog, mounted=True))
        if not known.catalog.is_enabled or known.catalog.is_admin:
            return ask(operation, request)
        return MountedLists(known, ask, partial(self.still_holds, catalog)).answer(operation, request)


def shows_all(held: Holdings) -> bool:
    """Return whether the caller administers or owns what a list is of, so that nothing in it is hidden."""
    if held.passes or METALAKE in held.owned or CATALOG in held.owned:
        return True
    return SCHEMA in held.owned and held.has(USE_CATALOG)


def _page(
    connection: Connection,
    found: AccessFacts,
    held: Holdings,
    path: HierarchicalName,
    kind: str,
    privileges: Sequence[str],
    after: str | None,
    limit: int | None,
) -> Sequence[str]:
    return visible.page(
        connection,
        found.caller,
        found.place.metalake_key,
        found.place.catalog_key,
        path,
        kind=kind,
        reaching=[privilege for privilege in privileges if held.has(privilege)],
        open_=[privilege for privilege in privileges if privilege not in held.denied],
        after=after,
        limit=limit,
    )


def _missing(connection: Connection, caller: Caller, place: Securable) -> Sequence[str]:
    """Return an empty page, or raise NamespaceNotFoundError where the caller sees all that is around the namespace."""
    if place.level != SCHEMA:
        raise securables.missing(place)
    around = Holdings.of(facts.load(connection, caller, place.parent))
    if shows_all(around) or around.has(USE_SCHEMA):
        raise securables.missing(place)
    return []
