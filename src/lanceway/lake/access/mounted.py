"""What a caller may do in a mounted catalog, all of it at once: enough to decide about any of its objects.

A service lists its objects, and the lake knows which of them are granted. So a list needs all of the caller's grants
there, which are few, and not one statement for each object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, or_, select

from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access import facts
from lanceway.lake.access.facts import AccessFacts, Caller, HeldGrant, PlaceOnWay, bind_caller, callers, one_of
from lanceway.lake.access.securables import SCHEMA, RecordedObject, Securable, ServiceObject
from lanceway.lake.store.schema import GROUP, NAMESPACE, USER, foreign_objects, grants, metalakes, roles

_ROW = foreign_objects.c
_IDENTITY = (_ROW.kind, _ROW.path, _ROW.id, _ROW.service_id, _ROW.made_at)
_INSIDE = and_(
    metalakes.c.name == bindparam("metalake"),
    _ROW.metalake_id == metalakes.c.id,
    _ROW.catalog == bindparam("catalog"),
    _ROW.path != "",
    _ROW.lapsed_at.is_(None),
)


def _granted() -> Any:
    _, _, held = callers()
    return (
        select(
            *_IDENTITY,
            grants.c.privilege,
            grants.c.effect,
            roles.c.name.label("role"),
            held.c.via,
            grants.c.granted_by,
            grants.c.granted_at,
        )
        .join_from(held, grants, grants.c.role_id == held.c.role_id)
        .join(roles, roles.c.id == grants.c.role_id)
        .join(foreign_objects, _ROW.id == grants.c.foreign_id)
        .join(metalakes, _ROW.metalake_id == metalakes.c.id)
        .where(_INSIDE)
    )


def _owned() -> Any:
    _, groups, _ = callers()
    by_user = and_(_ROW.owner == bindparam("user"), _ROW.owner_kind == USER)
    by_group = or_(_ROW.owner.in_(select(groups.c.name)), one_of(_ROW.owner, "groups"))
    return (
        select(*_IDENTITY, _ROW.owner, _ROW.owner_kind)
        .join_from(foreign_objects, metalakes, _ROW.metalake_id == metalakes.c.id)
        .where(_INSIDE, or_(by_user, and_(_ROW.owner_kind == GROUP, by_group)))
    )


_GRANTED, _OWNED = _granted(), _owned()


@dataclass(frozen=True, slots=True)
class MountedFacts:
    """The facts of a mounted catalog. `granted` and `owned` are by kind and physical path."""

    catalog: AccessFacts
    granted: dict[tuple[str, str], tuple[HeldGrant, ...]]
    owned: dict[tuple[str, str], PlaceOnWay]

    def at(self, path: Identifier, kind: str = NAMESPACE) -> AccessFacts:
        """Return what a decision about an object of the catalog is made from."""
        place = replace(self.catalog.place, path=path, kind=kind)
        parameters = place.parameters
        keys = [(NAMESPACE, physical) for physical in parameters["paths"]]
        if kind != NAMESPACE:
            keys.append((kind, HierarchicalName(path).physical))
        return replace(
            self.catalog,
            place=place,
            places=(*self.catalog.places, *(self.owned[key] for key in keys if key in self.owned)),
            grants=(*self.catalog.grants, *(grant for key in keys for grant in self.granted.get(key, ()))),
        )

    def known(self, kind: str) -> Iterator[Identifier]:
        """Yield the objects of a kind of which something is recorded for the caller."""
        for other, path in {*self.granted, *self.owned}:
            if other == kind:
                yield Identifier(HierarchicalName.from_physical(path))


def load(connection: Connection, caller: Caller, place: Securable) -> MountedFacts:
    """Return all that a caller's rights in a mounted catalog follow from."""
    values = {**bind_caller(caller), "metalake": place.metalake, "catalog": place.catalog}
    granted: dict[tuple[str, str], tuple[HeldGrant, ...]] = {}
    for row in connection.execute(_GRANTED, values):
        key = row.kind, row.path
        grant = HeldGrant(_level(row), _own(row), *row[len(_IDENTITY) :])
        granted[key] = (*granted.get(key, ()), replace(grant, recorded=_recorded(row)))
    rows: Sequence[Any] = connection.execute(_OWNED, values).all()
    owned = {
        (row.kind, row.path): PlaceOnWay(_level(row), _own(row), row.owner, row.owner_kind, _recorded(row))
        for row in rows
    }
    return MountedFacts(facts.load(connection, caller, place), granted, owned)


def _level(row: Any) -> str:
    return SCHEMA if row.kind == NAMESPACE else str(row.kind)


def _recorded(row: Any) -> RecordedObject:
    path = Identifier(HierarchicalName.from_physical(row.path))
    return RecordedObject(row.id, path, row.kind, ServiceObject(row.service_id, row.made_at))


def _own(row: Any) -> str:
    """Return the path as facts have it: that of a namespace whole, of others the last name."""
    return str(row.path) if row.kind == NAMESPACE else HierarchicalName.from_physical(row.path).name
