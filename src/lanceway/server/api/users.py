"""`/lanceway/v1/users`: who may use a server. One sees oneself; an admin sees and changes all, and who may manage users
sees all, and makes, disables, enables and deletes those that are not admins.

    GET    /lanceway/v1/users                     in order of their names
    POST   /lanceway/v1/users                     {name, admin}
    GET    /lanceway/v1/users/{name}
    POST   /lanceway/v1/users/{name}/disable      its credentials are refused from the next request on
    POST   /lanceway/v1/users/{name}/enable
    POST   /lanceway/v1/users/{name}/promote      it becomes an admin
    POST   /lanceway/v1/users/{name}/demote
    POST   /lanceway/v1/users/{name}/rename       {name}
    DELETE /lanceway/v1/users/{name}              with its tokens

A user of an OpenID Connect issuer is called `name@alias`, and is listed once it has a row: it was disabled or made an
admin, or has a token. Times in answers are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from lanceway.access import users
from lanceway.errors import PermissionDeniedError
from lanceway.lake.users import User
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, actor_of, derive, endpoint, page_type

UserAnswer = derive(
    "User",
    User,
    "A user. `issuer` is the alias of the issuer that vouches for it. Times are milliseconds since 1970.",
    without=("id",),
    sparse=True,
    enabled=bool,
)


class UserQuery(PageQuery):
    disabled: Annotated[bool, Meta(description="Only users that are disabled, or only those that are not.")] | None = (
        None
    )


class UserRequest(Struct):
    """A new user."""

    name: str
    admin: bool = False


class RenameRequest(Struct):
    """The name that a user is to have."""

    name: str


class Renamed(Struct):
    """The new name of a user, and how many tables, namespaces, catalogs, jobs and runs are its own now."""

    name: str
    moved: int


@endpoint("GET", "/users", page_type("Users", "users", UserAnswer), anonymous=False)
async def list_users(call: Call, query: UserQuery) -> object:
    """List the users, as one who may manage them."""
    list_page = partial(users.described_page, call.store, disabled=query.disabled, actor=actor_of(call))
    items, token = await call.run(partial(list_page, limit=query.size, page_token=query.page_token))
    return {"users": items, "page_token": token}


@endpoint("POST", "/users", UserAnswer, status=201, anonymous=False)
async def create_user(call: Call, body: UserRequest) -> object:
    """Make a user, who has no token yet."""
    create = partial(users.create, call.store, body.name, by=call.principal.name, admin=body.admin)
    return users.described(await call.run(partial(create, actor=actor_of(call))))


@endpoint("GET", "/users/{name:path}", UserAnswer, anonymous=False)
async def get_user(call: Call, name: PathPart) -> object:
    """Return a user: oneself, or any as one who may manage users."""
    actor = None if name == call.principal.name else actor_of(call)
    return users.described(await call.run(partial(users.find, call.store, name, actor=actor)))


@endpoint("POST", "/users/{name:path}/disable", UserAnswer, anonymous=False)
async def disable_user(call: Call, name: PathPart) -> object:
    """Refuse a user and all of its credentials."""
    disable = partial(users.disable, call.store, name, by=call.principal.name, actor=actor_of(call))
    return users.described(await call.run(disable))


@endpoint("POST", "/users/{name:path}/enable", UserAnswer, anonymous=False)
async def enable_user(call: Call, name: PathPart) -> object:
    """Let a user in again."""
    return users.described(await call.run(partial(users.enable, call.store, name, actor=actor_of(call))))


@endpoint("POST", "/users/{name:path}/promote", UserAnswer, anonymous=False)
async def promote_user(call: Call, name: PathPart) -> object:
    """Make a user an admin."""
    return await _change(call, partial(users.promote, call.store, name, by=call.principal.name))


@endpoint("POST", "/users/{name:path}/demote", UserAnswer, anonymous=False)
async def demote_user(call: Call, name: PathPart) -> object:
    """Make an admin a user like others."""
    return await _change(call, partial(users.demote, call.store, name, by=call.principal.name))


@endpoint("POST", "/users/{name:path}/rename", Renamed, anonymous=False)
async def rename_user(call: Call, name: PathPart, body: RenameRequest) -> Renamed:
    """Give a user another name, with all that is its own."""
    _require_admin(call)
    return Renamed(*await call.run(partial(users.rename, call.store, name, body.name, by=call.principal.name)))


@endpoint("DELETE", "/users/{name:path}", UserAnswer, anonymous=False)
async def delete_user(call: Call, name: PathPart) -> object:
    """Delete a user with its tokens."""
    return users.described(await call.run(partial(users.delete, call.store, name, actor=actor_of(call))))


async def _change(call: Call, change: Callable[[], User]) -> dict[str, object]:
    _require_admin(call)
    return users.described(await call.run(change))


def _require_admin(call: Call) -> None:
    """Refuse others before anything is looked up, so that they do not learn which users there are."""
    if not call.principal.admin:
        raise PermissionDeniedError("Only an admin may make admins, and give users other names. Ask one.")


ENDPOINTS = (
    list_users,
    create_user,
    disable_user,
    enable_user,
    promote_user,
    demote_user,
    rename_user,
    get_user,
    delete_user,
)
