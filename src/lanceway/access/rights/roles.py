"""Roles as an actor sees and changes them: who may manage roles all of them, others those that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from lanceway.access.rights.actor import Actor
from lanceway.access.rights.people import check_holder
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start
from lanceway.errors import InvalidInputError
from lanceway.lake.access import groups, roles
from lanceway.lake.access.roles import Role
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import USER

MANAGE, CREATE = "manage roles", "create role"

Page = tuple[list[dict[str, Any]], str | None]


class RoleExistsError(InvalidInputError):
    """Another role has the name."""

    status = 409


def described(role: Role) -> dict[str, Any]:
    facts = {
        "name": role.name,
        "comment": role.comment,
        "created_by": role.created_by,
        "created_at": role.created_at,
    }
    return {key: value for key, value in facts.items() if value is not None}


def held(connection: Connection, actor: Actor) -> list[str]:
    """Return the names of the roles that the actor has, itself or by a group."""
    named = sorted({*actor.caller.groups, *groups.of_user(connection, actor.name)})
    return sorted({given.role for given in roles.of_holders(connection, actor.metalake, actor.name, named)})


def is_visible(connection: Connection, actor: Actor, name: str) -> bool:
    """Return whether the actor may see what a role is granted."""
    return actor.may(connection, MANAGE) or name in held(connection, actor)


def described_page(store: LakeStore, actor: Actor, *, limit: int | None, page_token: str | None) -> Page:
    """Return a page of roles, by name, and the token of the next: of all, or of those that the actor has."""
    list_ = f"roles\0{actor.metalake}"
    after, size = page_start(list_, page_token), page_limit(limit)

    def work(connection: Connection) -> list[Role]:
        wanted = None if size is None else size + 1
        if actor.may(connection, MANAGE, CREATE):
            return list(roles.page(connection, actor.metalake, after=after, limit=wanted))
        names = [name for name in held(connection, actor) if name > (after or "")][:wanted]
        return [roles.load(connection, actor.metalake, name) for name in names]

    items, token = page_of(store.read(work), size, list_, lambda role: role.name)
    return [described(role) for role in items], token


def create(store: LakeStore, actor: Actor, name: str, *, comment: str | None = None) -> dict[str, Any]:
    """Make a role, which may do nothing yet. Raises RoleExistsError."""
    return described(store.transact(add, actor, name, comment))


def add(connection: Connection, actor: Actor, name: str, comment: str | None) -> Role:
    """Make a role in the transaction of more. Raises RoleExistsError."""
    actor.require(connection, CREATE)
    role = roles.create(connection, actor.metalake, name, by=actor.name, comment=comment)
    if role is None:
        raise RoleExistsError(f"There is a role {name!r} already. Show it: lanceway roles show {name}")
    return role


def show(store: LakeStore, actor: Actor, name: str) -> dict[str, Any]:
    """Return a role; with who has it, for those who may manage roles."""

    def work(connection: Connection) -> dict[str, Any]:
        if not actor.may(connection, MANAGE):
            if name not in held(connection, actor):
                actor.require(connection, MANAGE)
            return described(roles.load(connection, actor.metalake, name))
        role = roles.load(connection, actor.metalake, name)
        return {**described(role), "holders": [asdict(each) for each in roles.holders(connection, role)]}

    return store.read(work)


def delete(store: LakeStore, actor: Actor, name: str) -> dict[str, Any]:
    """Delete a role with all that it was granted, and take it from all who have it."""

    def work(connection: Connection) -> Role:
        actor.require(connection, MANAGE)
        return roles.remove(connection, actor.metalake, name, by=actor.name)

    return described(store.transact(work))


def give(store: LakeStore, actor: Actor, name: str, holder: str, kind: str) -> bool:
    """Give a role to a known user or group; return whether it was without it."""
    return give_all(store, actor, [name], holder, kind)[0]


def give_all(store: LakeStore, actor: Actor, names: Sequence[str], holder: str, kind: str) -> list[bool]:
    """Give roles to a known user or group, all or none; return which of them it was without."""

    def work(connection: Connection) -> list[bool]:
        actor.require(connection, MANAGE)
        known = [roles.load(connection, actor.metalake, name).name for name in names]
        who = check_holder(connection, holder, kind)
        return [roles.give(connection, actor.metalake, role, who, kind, by=actor.name) for role in known]

    return store.transact(work)


def take(store: LakeStore, actor: Actor, name: str, holder: str, kind: str) -> bool:
    """Take a role from a user or a group; return whether it had it."""
    return take_all(store, actor, [name], holder, kind)[0]


def take_all(store: LakeStore, actor: Actor, names: Sequence[str], holder: str, kind: str) -> list[bool]:
    """Take roles from a user or a group, all or none; return which of them it had."""

    def work(connection: Connection) -> list[bool]:
        actor.require(connection, MANAGE)
        known = [roles.load(connection, actor.metalake, name).name for name in names]
        who = check_holder(connection, holder, kind)
        return [roles.take(connection, actor.metalake, role, who, kind, by=actor.name) for role in known]

    return store.transact(work)


def of_holders(store: LakeStore, actor: Actor, names: Sequence[str], kind: str) -> dict[str, list[str]]:
    """Return the roles that users or groups have themselves: those that the actor may know of."""

    def work(connection: Connection) -> dict[str, list[str]]:
        known = None if actor.may(connection, MANAGE) else set(held(connection, actor))
        found: dict[str, list[str]] = {name: [] for name in names}
        for name in names:
            user, group_names = (name, []) if kind == USER else ("", [name])
            given = roles.of_holders(connection, actor.metalake, user, group_names)
            found[name] = [each.role for each in given if known is None or each.role in known]
        return found

    return store.read(work)
