"""Reviews: who can do what here, what a user can do, what one may hand on, and what a change would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.access import privileges
from lanceway.access.decisions import Rights, Verdict, judge_enabled
from lanceway.access.privileges import Privilege
from lanceway.access.rules import BY_NAME, OWN
from lanceway.lake import users
from lanceway.lake.access import facts, grants, groups, owners, roles, securables, subtrees
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import Grant, GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.roles import RoleHolder
from lanceway.lake.access.securables import METALAKE, Securable
from lanceway.lake.store.schema import USER

MOST_HOLDERS = 100
MOST_GRANTS = 1000  # that are shown of a place, or of a role


def grant_rule(place: Securable) -> str:
    """Return the name of the rule that who changes grants on a place must keep."""
    return f"manage grants on {place.level}"


def apply(connection: Connection, caller: Caller, changes: Sequence[GrantChange]) -> list[bool]:
    """Make grants, denials and revocations as a caller: all of them, if it may make each one, or none.

    Return which of them changed something. Rights are read in the transaction that makes the changes. Raises
    PermissionDeniedError, InvalidInputError for a privilege that cannot be granted there, and what `grants.apply`
    raises.
    """
    if not changes:
        return []
    checked = [_checked(change) for change in changes]
    for place in dict.fromkeys(change.place for change in checked):
        judge_enabled(facts.load(connection, caller, place), BY_NAME[grant_rule(place)]).require()
    return grants.apply(connection, checked[0].place.metalake, checked, by=caller.user)


def change_owner(connection: Connection, caller: Caller, place: Securable, owner: Owner) -> Owner:
    """Give a place to another owner as a caller, who must own it or what is around it. Return the owner before."""
    judge_enabled(facts.load(connection, caller, place), BY_NAME[OWN[place.level]]).require()
    return owners.change_owner(connection, place, owner, by=caller.user)


def _checked(change: GrantChange) -> GrantChange:
    privilege = privileges.check_binding(change.privilege, change.place.level).name
    values = (change.role, change.place, privilege, change.deny, change.revoke, change.expected)
    return GrantChange(*values)


# -- questions -----------------------------------------------------------------------------------


def grantable(connection: Connection, caller: Caller, place: Securable) -> tuple[Privilege, ...]:
    """Return the privileges that a caller may grant and deny on a place: all that can be, or none."""
    verdict = judge_enabled(facts.load(connection, caller, place), BY_NAME[grant_rule(place)])
    return privileges.grantable(place.level) if verdict else ()


def held(connection: Connection, caller: Caller, place: Securable) -> tuple[str, ...]:
    """Return the privileges that a caller has on a place, from wherever they come. Owners need none of them."""
    found = facts.load(connection, caller, place)
    rights = Rights(found)
    return tuple(privilege.name for privilege in privileges.PRIVILEGES if rights.has(privilege.name))


def verdicts(connection: Connection, caller: Caller, place: Securable) -> dict[str, Verdict]:
    """Return every rule's verdict on a place, from one statement."""
    found = facts.load(connection, caller, place)
    return {name: judge_enabled(found, rule) for name, rule in BY_NAME.items()}


@dataclass(frozen=True, slots=True)
class PlaceReview:
    """Who can do what at a place: its owner and those above, and all grants and denials that count there."""

    place: Securable
    owners: tuple[tuple[Securable, Owner], ...]
    grants: tuple[Grant, ...]
    holders: tuple[RoleHolder, ...]
    truncated: bool


def review_place(connection: Connection, place: Securable, *, limit: int = MOST_GRANTS) -> PlaceReview:
    """Return who can do what at a place, with who has the roles: the first `limit` grants on each place on the way.

    It is `truncated` where there are more.
    """
    way = _way(place)
    pages = [grants_on(connection, each, limit=limit + 1) for each in way]
    found = [grant for page in pages for grant in page[:limit]]
    holders = roles.holders_of(connection, place.metalake, sorted({grant.role for grant in found}))
    owned = tuple((each, owners.find(connection, each)) for each in way if is_recorded(connection, each))
    truncated = any(len(page) > limit for page in pages)
    return PlaceReview(place, owned, tuple(found), tuple(holders), truncated)


@dataclass(frozen=True, slots=True)
class UserReview:
    """What a user has: by which groups and roles, and all that these are granted and denied."""

    user: str
    is_admin: bool
    groups: tuple[str, ...]
    roles: tuple[RoleHolder, ...]
    grants: tuple[Grant, ...]
    truncated: bool


def review_user(connection: Connection, caller: Caller, metalake: str, *, limit: int = MOST_GRANTS) -> UserReview:
    """Return what a user can do in a metalake: the first `limit` grants of each role.

    It is `truncated` where there are more. The groups that an issuer names are those of the caller: of users who do
    not ask themselves they are not known.
    """
    user = users.find(connection, caller.user)
    named = tuple(sorted({*caller.groups, *groups.of_user(connection, caller.user)}))
    given = roles.of_holders(connection, metalake, caller.user, named)
    names = dict.fromkeys(holder.role for holder in given)
    pages = [grants.of_role(connection, metalake, name, limit=limit + 1) for name in names]
    found = tuple(grant for page in pages for grant in page[:limit])
    truncated = any(len(page) > limit for page in pages)
    return UserReview(caller.user, user is not None and user.admin, named, tuple(given), found, truncated)


# -- what if -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change would do for one user or group that has the role: on how many objects the privilege is gained or
    lost, of all those at and below the place; None where the place is another service's, which is not asked."""

    holder: RoleHolder
    gained: int | None
    lost: int | None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a change would do for those who have the role: the first of them, and how many there are."""

    effects: tuple[Effect, ...]
    count: int


def what_if(connection: Connection, change: GrantChange, *, limit: int = MOST_HOLDERS) -> WhatIf:
    """Return whom a grant, a denial or a revocation would concern, and on how many objects, without making it.

    A group stands for those who are in it, by its own roles alone. At most `limit` are looked at, the first by name.
    Nothing is written: the change is counted as if it were there. What is in mounted catalogs is not counted.
    """
    change = _checked(change)
    found = roles.holders(connection, roles.load(connection, change.place.metalake, change.role))
    if change.place.mounted:
        return WhatIf(tuple(Effect(holder, None, None) for holder in found[:limit]), len(found))
    row = securables.find(connection, change.place)
    effects = []
    for holder in found[:limit]:
        caller = Caller(holder.name) if holder.kind == USER else Caller("", (holder.name,))
        before = subtrees.count(connection, caller, row, change.privilege)
        after = subtrees.count(connection, caller, row, change.privilege, change)
        effects.append(Effect(holder, max(0, after - before), max(0, before - after)))
    return WhatIf(tuple(effects), len(found))


def _way(place: Securable) -> list[Securable]:
    way = [place]
    while way[-1].level != METALAKE:
        way.append(way[-1].parent)
    return list(reversed(way))


def is_recorded(connection: Connection, place: Securable) -> bool:
    """Return whether a place has a row: of a mounted catalog, only what was granted or owned has one."""
    return not place.mounted or securables.has_row(connection, place)


def grants_on(connection: Connection, place: Securable, *, after: int = 0, limit: int | None = None) -> Sequence[Grant]:
    """Return the first `limit` grants and denials on a place itself after an id; none if it has no row."""
    return grants.on_place(connection, place, after=after, limit=limit) if is_recorded(connection, place) else ()
