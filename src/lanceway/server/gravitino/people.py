"""Users and groups of the metalake, with the roles that they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lanceway.access import users
from lanceway.access.rights import groups, roles
from lanceway.access.users import UserNotFoundError
from lanceway.errors import PermissionDeniedError
from lanceway.lake.access.groups import GroupNotFoundError
from lanceway.lake.store.schema import GROUP, USER
from lanceway.server.gravitino.calls import GravitinoCall, Handler, audited


def _described(call: GravitinoCall, found: Sequence[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return users or groups, with those of their roles that the caller may know of."""
    given = roles.of_holders(call.store, call.actor, [each["name"] for each in found], kind)
    return [
        {
            "name": each["name"],
            "roles": given[each["name"]],
            "audit": audited(each.get("created_by"), each.get("created_at")),
        }
        for each in found
    ]


def _one(call: GravitinoCall, found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {kind: _described(call, [found], kind)[0]}


def _all(call: GravitinoCall, found: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Any]:
    if call.flag("details"):
        return {f"{kind}s": _described(call, found, kind)}
    return {"names": [each["name"] for each in found]}


def list_users(call: GravitinoCall) -> dict[str, Any]:
    """List the users, as one who may manage them."""
    found, _ = users.described_page(call.store, disabled=None, limit=None, page_token=None, actor=call.actor)
    return _all(call, found, USER)


def add_user(call: GravitinoCall) -> dict[str, Any]:
    """Make a user, who has no token yet."""
    user = users.create(call.store, call.body.name, by=call.principal.name, actor=call.actor)
    return _one(call, users.described(user), USER)


def get_user(call: GravitinoCall) -> dict[str, Any]:
    """Return a user: oneself, or any as one who may manage users."""
    name, actor = call.names["user"], call.actor
    user = users.find(call.store, name, actor=None if name == actor.name else actor)
    return _one(call, users.described(user), USER)


def remove_user(call: GravitinoCall) -> dict[str, Any]:
    """Delete a user with its tokens."""
    try:
        users.delete(call.store, call.names["user"], actor=call.actor)
    except UserNotFoundError:
        return {"removed": False}
    return {"removed": True}


def list_groups(call: GravitinoCall) -> dict[str, Any]:
    """List the groups, or those that one is in."""
    found, _ = groups.described_page(call.store, call.actor, limit=None, page_token=None)
    return _all(call, found, GROUP)


def add_group(call: GravitinoCall) -> dict[str, Any]:
    """Make a group without members."""
    return _one(call, groups.create(call.store, call.actor, call.body.name), GROUP)


def get_group(call: GravitinoCall) -> dict[str, Any]:
    """Return a group: one that one is in, or any as one who may manage groups."""
    name = call.names["group"]
    try:
        group = groups.show(call.store, call.actor, name, limit=1, page_token=None)
    except PermissionDeniedError:
        own, _ = groups.described_page(call.store, call.actor, limit=None, page_token=None)
        mine = [each for each in own if each["name"] == name]
        if not mine:
            raise
        group = mine[0]
    return _one(call, group, GROUP)


def remove_group(call: GravitinoCall) -> dict[str, Any]:
    """Delete a group with its roles."""
    try:
        groups.delete(call.store, call.actor, call.names["group"])
    except GroupNotFoundError:
        return {"removed": False}
    return {"removed": True}


def _change_roles(call: GravitinoCall, kind: str, *, give: bool) -> dict[str, Any]:
    """Give roles to a user or a group, or take them: all or none."""
    name = call.names[kind]
    change = roles.give_all if give else roles.take_all
    change(call.store, call.actor, call.body.names, name, kind)
    # Who gives roles need not be able to manage users, and knows the name already.
    return _one(call, {"name": name}, kind)


HANDLERS: Mapping[str, Handler] = {
    "list_users": list_users,
    "add_user": add_user,
    "get_user": get_user,
    "remove_user": remove_user,
    "list_groups": list_groups,
    "add_group": add_group,
    "get_group": get_group,
    "remove_group": remove_group,
    "grant_roles_to_user": partial(_change_roles, kind=USER, give=True),
    "revoke_roles_from_user": partial(_change_roles, kind=USER, give=False),
    "grant_roles_to_group": partial(_change_roles, kind=GROUP, give=True),
    "revoke_roles_from_group": partial(_change_roles, kind=GROUP, give=False),
}
