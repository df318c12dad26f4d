"""Roles as an actor sees and changes them: who may manage roles all of them, others those that they have."""

from __future__ import annotations

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

    def work(connection: Connection) -> Role:
        actor.require(connection, CREATE)
        role = roles.create(connection, actor.metalake, name, by=actor.name, comment=comment)
        if role is None:
            raise RoleExistsError(f"There is a role {name!r} already. Show it: lanceway roles show {name}")
        return role

    return described(store.transact(work))


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

    def work(connection: Connection) -> bool:
        actor.require(connection, MANAGE)
        role = roles.load(connection, actor.metalake, name).name
        who = check_holder(connection, holder, kind)
        return roles.give(connection, actor.metalake, role, who, kind, by=actor.name)

    return store.transact(work)


def take(store: LakeStore, actor: Actor, name: str, holder: str, kind: str) -> bool:
    """Take a role from a user or a group; return whether it had it."""

    def work(connection: Connection) -> bool:
        actor.require(connection, MANAGE)
        role = roles.load(connection, actor.metalake, name).name
        return roles.take(connection, actor.metalake, role, check_holder(connection, holder, kind), kind, by=actor.name)

    return store.transact(work)
