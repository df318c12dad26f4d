"""`/lanceway/v1/roles`: roles, and the users and groups that have them.

    GET    /lanceway/v1/roles                by name: all for those who may manage roles, one's own for others
    POST   /lanceway/v1/roles                {name, comment}
    GET    /lanceway/v1/roles/{name}         with who has it, for those who may manage roles
    POST   /lanceway/v1/roles/{name}/give    {user} or {group}
    POST   /lanceway/v1/roles/{name}/take    {user} or {group}
    DELETE /lanceway/v1/roles/{name}         with all that it was granted

Times in answers are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from lanceway.access.rights import roles
from lanceway.errors import InvalidInputError
from lanceway.lake.access.roles import Role, RoleHolder
from lanceway.lake.store.schema import GROUP, USER
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, actor_of, derive, endpoint, page_type

RoleAnswer = derive(
    "Role", Role, "A role. The time is in milliseconds since 1970.", without=("id", "metalake_id"), sparse=True
)
HolderAnswer = derive("RoleHolder", RoleHolder, "A user or a group that has a role.")
RoleHolders = derive(
    "RoleHolders",
    Role,
    "A role with those who have it; they are left out for those who may not manage roles.",
    without=("id", "metalake_id"),
    sparse=True,
    holders=list[HolderAnswer] | None,  # type: ignore[valid-type]
)


class RoleRequest(Struct):
    """A new role, which may do nothing yet."""

    name: str
    comment: str | None = None


class HolderRequest(Struct):
    """Who gets or loses a role: either a user or a group."""

    user: str | None = None
    group: str | None = None

    @property
    def audited(self) -> list[dict[str, object]]:
        return [{"user": self.user, "group": self.group}]

    @property
    def holder(self) -> tuple[str, str]:
        if (self.user is None) == (self.group is None):
            raise InvalidInputError("A role is given to either a user or a group. Send one of `user` and `group`.")
        return (self.user, USER) if self.user is not None else (self.group or "", GROUP)


class HolderChange(Struct):
    """Whether something was changed: who is named may have had the role already, or not."""

    role: str
    name: str
    kind: str
    changed: bool


@endpoint("GET", "/roles", page_type("Roles", "roles", RoleAnswer), anonymous=False)
async def list_roles(call: Call, query: PageQuery) -> object:
    """List the roles, or those that one has."""
    list_page = partial(roles.described_page, call.store, actor_of(call))
    items, token = await call.run(partial(list_page, limit=query.size, page_token=query.page_token))
    return {"roles": items, "page_token": token}


@endpoint("POST", "/roles", RoleAnswer, status=201, anonymous=False)
async def create_role(call: Call, body: RoleRequest) -> object:
    """Make a role."""
    return await call.run(partial(roles.create, call.store, actor_of(call), body.name, comment=body.comment))


@endpoint("POST", "/roles/{name:path}/give", HolderChange, anonymous=False)
async def give_role(call: Call, name: PathPart, body: HolderRequest) -> HolderChange:
    """Give a role to a user or a group."""
    return await _change(call, roles.give, name, body)


@endpoint("POST", "/roles/{name:path}/take", HolderChange, anonymous=False)
async def take_role(call: Call, name: PathPart, body: HolderRequest) -> HolderChange:
    """Take a role from a user or a group."""
    return await _change(call, roles.take, name, body)


async def _change(call: Call, change: Callable[..., bool], role: str, body: HolderRequest) -> HolderChange:
    name, kind = body.holder
    return HolderChange(role, name, kind, await call.run(change, call.store, actor_of(call), role, name, kind))


@endpoint("GET", "/roles/{name:path}", RoleHolders, anonymous=False)
async def get_role(call: Call, name: PathPart) -> object:
    """Return a role with those who have it."""
    return await call.run(roles.show, call.store, actor_of(call), name)


@endpoint("DELETE", "/roles/{name:path}", RoleAnswer, anonymous=False)
async def delete_role(call: Call, name: PathPart) -> object:
    """Delete a role with all that it was granted."""
    return await call.run(roles.delete, call.store, actor_of(call), name)


ENDPOINTS = (list_roles, create_role, give_role, take_role, get_role, delete_role)
