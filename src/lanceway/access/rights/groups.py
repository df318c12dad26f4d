"""Groups as an actor sees and changes them: who may manage groups all of them, others those that they are in.

To be in a group that has roles, or owns something, is to have its rights, and to leave one may be to lose a denial. So
who changes such a group must be able to give these rights: it must be able to manage roles, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from lanceway.access.rights.actor import Actor
from lanceway.access.rights.people import check_user
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start
from lanceway.errors import InvalidInputError
from lanceway.lake.access import groups
from lanceway.lake.access.groups import Group
from lanceway.lake.store.database import LakeStore

MANAGE, GIVE = "manage groups", "manage roles"
# Who gives roles must be able to name groups, too.
_SEE = (MANAGE, GIVE)

Page = tuple[list[dict[str, Any]], str | None]


class GroupExistsError(InvalidInputError):
    """Another group has the name."""

    status = 409


def described(group: Group) -> dict[str, Any]:
    return {"name": group.name, "created_by": group.created_by, "created_at": group.created_at}


def described_page(store: LakeStore, actor: Actor, *, limit: int | None, page_token: str | None) -> Page:
    """Return a page of groups, by name, and the token of the next: of all, or of those that the actor is in."""
    list_ = "groups"
    after, size = page_start(list_, page_token), page_limit(limit)

    def work(connection: Connection) -> list[Group]:
        wanted = None if size is None else size + 1
        if actor.may(connection, *_SEE):
            return list(groups.page(connection, after=after, limit=wanted))
        mine = sorted({*actor.caller.groups, *groups.of_user(connection, actor.name)})
        found = [groups.find(connection, name) for name in mine if name > (after or "")]
        return [group for group in found if group is not None][:wanted]

    items, token = page_of(store.read(work), size, list_, lambda group: group.name)
    return [described(group) for group in items], token


def create(store: LakeStore, actor: Actor, name: str) -> dict[str, Any]:
    """Make a group without members. Raises GroupExistsError."""

    def work(connection: Connection) -> Group:
        actor.require(connection, MANAGE)
        group = groups.create(connection, name, by=actor.name)
        if group is None:
            raise GroupExistsError(f"There is a group {name!r} already. Show it: lanceway groups show {name}")
        return group

    return described(store.transact(work))


def show(store: LakeStore, actor: Actor, name: str, *, limit: int | None, page_token: str | None) -> dict[str, Any]:
    """Return a group with a page of its members. Those who are in it by their issuer alone are not known here."""
    list_ = f"members\0{name}"
    after, size = page_start(list_, page_token), page_limit(limit)

    def work(connection: Connection) -> tuple[Group, list[str]]:
        if not actor.may(connection, *_SEE):
            actor.require(connection, MANAGE)
        group = groups.load(connection, name)
        return group, list(groups.member_names(connection, name, after=after, limit=size and size + 1))

    group, names = store.read(work)
    members, token = page_of(names, size, list_, str)
    return {**described(group), "members": members, "page_token": token}


def delete(store: LakeStore, actor: Actor, name: str) -> dict[str, Any]:
    """Delete a group with its roles; what it owns is the administrator's from then on."""

    def work(connection: Connection) -> Group:
        return groups.remove(connection, _changeable(connection, actor, name).name, by=actor.name)

    return described(store.transact(work))


def add(store: LakeStore, actor: Actor, name: str, users: Sequence[str]) -> dict[str, bool]:
    """Put known users into a group, all or none; return which of them were not in it before."""

    def work(connection: Connection) -> dict[str, bool]:
        group = _changeable(connection, actor, name).name
        known = {user: check_user(connection, user) for user in users}
        return {user: groups.add(connection, group, found, by=actor.name) for user, found in known.items()}

    return store.transact(work)


def remove(store: LakeStore, actor: Actor, name: str, users: Sequence[str]) -> dict[str, bool]:
    """Take users out of a group, all or none; return which of them were in it."""

    def work(connection: Connection) -> dict[str, bool]:
        group = _changeable(connection, actor, name).name
        known = {user: check_user(connection, user) for user in users}
        return {user: groups.discard(connection, group, found, by=actor.name) for user, found in known.items()}

    return store.transact(work)


def _changeable(connection: Connection, actor: Actor, name: str) -> Group:
    """Return a group that the actor may change."""
    actor.require(connection, MANAGE)
    group = groups.load(connection, name)
    if groups.has_rights(connection, group):
        actor.require(connection, GIVE)
    return group
