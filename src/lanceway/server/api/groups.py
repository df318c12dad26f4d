"""`/lanceway/v1/groups`: groups of the lake, and who is in them.

    GET    /lanceway/v1/groups                  by name: all for those who may manage groups, one's own for others
    POST   /lanceway/v1/groups                  {name}
    GET    /lanceway/v1/groups/{name}           with a page of its members
    POST   /lanceway/v1/groups/{name}/add       {user}
    POST   /lanceway/v1/groups/{name}/remove    {user}
    DELETE /lanceway/v1/groups/{name}           with its roles; what it owns is the administrator's then

Times in answers are milliseconds since 1970.
"""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from lanceway.access.rights import groups
from lanceway.lake.access.groups import Group
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, actor_of, derive, endpoint, page_type

GroupAnswer = derive("Group", Group, "A group. The time is in milliseconds since 1970.", without=("id",))
GroupMembers = derive(
    "GroupMembers",
    Group,
    "A group with a page of its members; `page_token` is null on the last one.",
    without=("id",),
    members=list[str],
    page_token=str | None,
)


class GroupRequest(Struct):
    """A new group."""

    name: str


class MemberRequest(Struct):
    """A user who is put into a group, or taken out."""

    user: str


class MemberChange(Struct):
    """Whether something was changed: a user may have been in the group already, or not."""

    group: str
    user: str
    changed: bool


@endpoint("GET", "/groups", page_type("Groups", "groups", GroupAnswer), anonymous=False)
async def list_groups(call: Call, query: PageQuery) -> object:
    """List the groups, or those that one is in."""
    list_page = partial(groups.described_page, call.store, actor_of(call))
    items, token = await call.run(partial(list_page, limit=query.size, page_token=query.page_token))
    return {"groups": items, "page_token": token}


@endpoint("POST", "/groups", GroupAnswer, status=201, anonymous=False)
async def create_group(call: Call, body: GroupRequest) -> object:
    """Make a group without members."""
    return await call.run(groups.create, call.store, actor_of(call), body.name)


@endpoint("POST", "/groups/{name:path}/add", MemberChange, anonymous=False)
async def add_member(call: Call, name: PathPart, body: MemberRequest) -> MemberChange:
    """Put a user into a group."""
    changed = await call.run(groups.add, call.store, actor_of(call), name, [body.user])
    return MemberChange(name, body.user, changed[body.user])


@endpoint("POST", "/groups/{name:path}/remove", MemberChange, anonymous=False)
async def remove_member(call: Call, name: PathPart, body: MemberRequest) -> MemberChange:
    """Take a user out of a group."""
    changed = await call.run(groups.remove, call.store, actor_of(call), name, [body.user])
    return MemberChange(name, body.user, changed[body.user])


@endpoint("GET", "/groups/{name:path}", GroupMembers, anonymous=False)
async def get_group(call: Call, name: PathPart, query: PageQuery) -> object:
    """Return a group with a page of its members."""
    show = partial(groups.show, call.store, actor_of(call), name)
    return await call.run(partial(show, limit=query.size, page_token=query.page_token))


@endpoint("DELETE", "/groups/{name:path}", GroupAnswer, anonymous=False)
async def delete_group(call: Call, name: PathPart) -> object:
    """Delete a group with its roles."""
    return await call.run(groups.delete, call.store, actor_of(call), name)


ENDPOINTS = (list_groups, create_group, add_member, remove_member, get_group, delete_group)
