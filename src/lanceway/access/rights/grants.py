"""Grants as an actor sees and changes them, and what a change would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from lanceway.access import privileges
from lanceway.access.rights import reviews, roles
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder, WrittenPlace
from lanceway.access.rights.reviews import grant_rule
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start_id
from lanceway.errors import InvalidInputError
from lanceway.lake.access import grants
from lanceway.lake.access.grants import MOST_CHANGES, Grant, GrantChange
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import DENY

Page = tuple[list[dict[str, Any]], str | None]


@dataclass(frozen=True, slots=True)
class WantedChange:
    """A grant, a denial or a revocation as it is asked for, with the object as it is written."""

    role: str
    object: WrittenPlace
    privilege: str
    deny: bool = False
    revoke: bool = False
    expected: bool | None = None


def apply(store: LakeStore, actor: Actor, places: PlaceFinder, wanted: Sequence[WantedChange]) -> list[bool]:
    """Make all changes or none; return which of them changed something.

    Raises PermissionDeniedError, PlaceNotFoundError, RoleNotFoundError, InvalidInputError for a privilege that is not
    known or cannot be granted there, and ConcurrentModificationError where others were faster.
    """
    _check(wanted)

    def work(connection: Connection) -> list[bool]:
        return _apply(connection, actor, [_change(connection, actor, places, each) for each in wanted])

    return store.transact(work)


def create_role(
    store: LakeStore,
    actor: Actor,
    places: PlaceFinder,
    name: str,
    wanted: Sequence[WantedChange],
    *,
    comment: str | None = None,
) -> dict[str, Any]:
    """Make a role with what it is granted and denied: all of it, or nothing. Raises what `apply` raises."""
    _check(wanted)

    def work(connection: Connection) -> dict[str, Any]:
        role = roles.add(connection, actor, name, comment)
        _apply(connection, actor, [_change(connection, actor, places, each) for each in wanted])
        return roles.described(role)

    return store.transact(work)


def replace(store: LakeStore, actor: Actor, places: PlaceFinder, role: str, wanted: Sequence[WantedChange]) -> None:
    """Have a role be granted and denied exactly what is wanted: all changes that it takes, or none."""
    _check(wanted)

    def work(connection: Connection) -> None:
        actor.require(connection, roles.MANAGE)
        new = [_change(connection, actor, places, each) for each in wanted]
        kept = {(change.place, change.privilege, change.effect) for change in new}
        gone = [
            GrantChange(role, grant.place, grant.privilege, grant.effect == DENY, revoke=True)
            for grant in grants.of_role(connection, actor.metalake, role)
            if not grant.dangling and (grant.place, grant.privilege, grant.effect) not in kept
        ]
        _apply(connection, actor, [*gone, *new])

    store.transact(work)


def _check(wanted: Sequence[WantedChange]) -> None:
    if len(wanted) > MOST_CHANGES:
        raise InvalidInputError(f"{len(wanted)} grants cannot be changed at once. Send at most {MOST_CHANGES}.")
    for each in wanted:
        privileges.find(each.privilege)


def _apply(connection: Connection, actor: Actor, changes: Sequence[GrantChange]) -> list[bool]:
    if actor.trusted:
        return grants.apply(connection, actor.metalake, changes, by=actor.name)
    return reviews.apply(connection, actor.caller, changes)


def purge_dangling(store: LakeStore, actor: Actor) -> int:
    """Delete grants and denials on objects that mounted catalogs have no longer, and return how many there were.

    Raises PermissionDeniedError for those who may not manage the grants of the whole metalake.
    """

    def work(connection: Connection) -> int:
        actor.require(connection, grant_rule(Securable(actor.metalake)))
        return grants.purge_dangling(connection, actor.metalake, by=actor.name)

    return store.transact(work)


def what_if(store: LakeStore, actor: Actor, places: PlaceFinder, wanted: WantedChange) -> dict[str, Any]:
    """Return for whom a change would add and take a privilege, and on how many objects, without making it.

    Of all users and groups that have the role, whose number is told, the first are looked at. In a mounted catalog
    nothing is counted.
    """

    def work(connection: Connection) -> dict[str, Any]:
        change = _change(connection, actor, places, wanted)
        actor.require(connection, grant_rule(change.place), change.place)
        found = reviews.what_if(connection, change)
        effects = [
            {"kind": effect.holder.kind, "name": effect.holder.name, "gained": effect.gained, "lost": effect.lost}
            for effect in found.effects
        ]
        return {"effects": effects, "effects_count": found.count}

    return store.read(work)


def grantable(store: LakeStore, actor: Actor, places: PlaceFinder, written: WrittenPlace) -> list[dict[str, Any]]:
    """Return the privileges that the actor may grant on an object, with what each allows there."""

    def work(connection: Connection) -> list[dict[str, Any]]:
        place = places.find(connection, actor, written)
        if not actor.may(connection, grant_rule(place), place=place):
            return []
        return [
            {**described_privilege(privilege), "allows": privilege.allows[place.level]}
            for privilege in privileges.grantable(place.level)
        ]

    return store.read(work)


def described_privilege(privilege: privileges.Privilege) -> dict[str, Any]:
    return {
        "name": privilege.name,
        "title": privilege.title,
        "description": privilege.description,
        "category": privilege.category,
    }


def described(grant: Grant, places: PlaceFinder, delimiter: str) -> dict[str, Any]:
    """Describe a grant or a denial. Times are milliseconds since 1970."""
    return {
        "role": grant.role,
        "privilege": grant.privilege,
        "effect": grant.effect,
        **places.write(grant.place, delimiter),
        "granted_by": grant.granted_by,
        "granted_at": grant.granted_at,
        "dangling": grant.dangling,
    }


@dataclass(frozen=True, slots=True)
class GrantList:
    """Which grants are listed: exactly one of a role's, those on an object, and those that dangle."""

    role: str | None = None
    object: WrittenPlace | None = None
    dangling: bool = False

    def __post_init__(self) -> None:
        if (self.role is not None) + (self.object is not None) + self.dangling != 1:
            raise InvalidInputError(
                "Say whose grants are listed: those of a role, those on an object, or dangling ones."
            )

    @property
    def scope(self) -> str:
        """What page tokens of the list are made for."""
        return f"grants\0{self.role}\0{self.object}\0{self.dangling}"


def described_page(
    store: LakeStore,
    actor: Actor,
    places: PlaceFinder,
    wanted: GrantList,
    *,
    delimiter: str,
    limit: int | None,
    page_token: str | None,
) -> Page:
    """Return a page of grants and denials, the oldest first, and the token of the next.

    The grants of a role are shown to those who have it and to those who may manage roles; the grants on an object to
    those who may change them.
    """
    after, size = page_start_id(wanted.scope, page_token) or 0, page_limit(limit)
    rows = store.read(_rows, actor, places, wanted, after, size and size + 1)
    items, token = page_of(rows, size, wanted.scope, lambda grant: str(grant.id))
    return [described(grant, places, delimiter) for grant in items], token


def _rows(
    connection: Connection, actor: Actor, places: PlaceFinder, wanted: GrantList, after: int, limit: int | None
) -> Sequence[Grant]:
    if wanted.object is not None:
        place = places.find(connection, actor, wanted.object)
        actor.require(connection, grant_rule(place), place)
        return reviews.grants_on(connection, place, after=after, limit=limit)
    if wanted.role is None:
        actor.require(connection, roles.MANAGE)
        return grants.dangling(connection, actor.metalake, after=after, limit=limit)
    if actor.trusted or wanted.role not in roles.held(connection, actor):
        actor.require(connection, roles.MANAGE)
    return grants.of_role(connection, actor.metalake, wanted.role, after=after, limit=limit)


def _change(connection: Connection, actor: Actor, places: PlaceFinder, wanted: WantedChange) -> GrantChange:
    place = places.find(connection, actor, wanted.object)
    privilege = privileges.check_binding(wanted.privilege, place.level).name
    return GrantChange(wanted.role, place, privilege, wanted.deny, wanted.revoke, wanted.expected)
