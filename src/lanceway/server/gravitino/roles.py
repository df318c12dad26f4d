"""Roles, what they are granted and denied, and the owners of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from lanceway.access import privileges
from lanceway.access.rights import grants, owners, roles
from lanceway.access.rights.grants import GrantList, WantedChange
from lanceway.access.rights.places import WrittenPlace
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.roles import RoleNotFoundError
from lanceway.lake.store.schema import GROUP, USER
from lanceway.server.gravitino import objects
from lanceway.server.gravitino.calls import GravitinoCall, Handler, audited
from lanceway.server.gravitino.envelope import IllegalPrivilegeError
from lanceway.wire.gravitino_requests import GravitinoPrivilege, GravitinoSecurable

_COMMENT = "comment"
_CONDITIONS = {"allow": False, "deny": True}
# Privileges of Lanceway's own, which clients of this protocol do not know and could not read.
_OWN = frozenset({privileges.BOOTSTRAP_SCHEMA})
# Privileges of Gravitino's on objects that Lanceway does not have.
_FOREIGN = ("FILESET", "TOPIC", "MODEL", "TAG", "POLICY", "JOB_TEMPLATE", "FUNCTION")
_PAGE = 1000


def _role(call: GravitinoCall, described: Mapping[str, Any]) -> dict[str, Any]:
    comment = described.get("comment")
    return {
        "role": {
            "name": described["name"],
            "properties": {} if comment is None else {_COMMENT: comment},
            "securableObjects": _securables(call, described["name"]),
            "audit": audited(described.get("created_by"), described.get("created_at")),
        }
    }


def _grants(call: GravitinoCall, wanted: GrantList) -> Iterable[dict[str, Any]]:
    token: str | None = None
    list_ = partial(grants.described_page, call.store, call.actor, call.places, wanted, delimiter=".", limit=_PAGE)
    while True:
        found, token = list_(page_token=token)
        yield from found
        if not token:
            return


def _securables(call: GravitinoCall, role: str) -> list[dict[str, Any]]:
    """Return what a role is granted and denied, by object."""
    separator = call.separator
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for grant in _grants(call, GrantList(role=role)):
        if grant["dangling"] or grant["privilege"] in _OWN:
            continue
        name = objects.full_name(grant["names"], grant["kind"], separator)
        privilege = {"name": grant["privilege"].lower(), "condition": grant["effect"].lower()}
        found.setdefault((name, grant["kind"]), []).append(privilege)
    return [{"fullName": name, "type": kind, "privileges": held} for (name, kind), held in found.items()]


def list_roles(call: GravitinoCall) -> dict[str, Any]:
    """List the names of the roles, or of those that one has."""
    found, _ = roles.described_page(call.store, call.actor, limit=None, page_token=None)
    return {"names": [role["name"] for role in found]}


def create_role(call: GravitinoCall) -> dict[str, Any]:
    """Make a role with what it is granted: all of it, or nothing."""
    properties = dict(call.body.properties or {})
    comment = properties.pop(_COMMENT, None)
    if properties:
        raise InvalidInputError(
            f"A role cannot have the property {next(iter(properties))!r}: it has a comment alone. Leave it out."
        )
    wanted = _of_objects(call, call.body.name, call.body.objects)
    role = grants.create_role(call.store, call.actor, call.places, call.body.name, wanted, comment=comment)
    return {
        "role": {
            "name": role["name"],
            "properties": {} if comment is None else {_COMMENT: comment},
            "securableObjects": [
                {
                    "fullName": each.full_name,
                    "type": each.type.lower(),
                    "privileges": [
                        {"name": given.name.lower(), "condition": given.condition.lower()} for given in each.privileges
                    ],
                }
                for each in call.body.objects
            ],
            "audit": audited(role.get("created_by"), role.get("created_at")),
        }
    }


def get_role(call: GravitinoCall) -> dict[str, Any]:
    """Return a role with what it is granted and denied."""
    return _role(call, roles.show(call.store, call.actor, call.names["role"]))


def delete_role(call: GravitinoCall) -> dict[str, Any]:
    """Delete a role with all that it was granted."""
    try:
        roles.delete(call.store, call.actor, call.names["role"])
    except RoleNotFoundError:
        return {"dropped": False, "deleted": False}
    return {"dropped": True, "deleted": True}


# -- grants and denials --------------------------------------------------------------------------


def _changes(
    role: str, place: WrittenPlace, wanted: Iterable[GravitinoPrivilege], *, revoke: bool = False
) -> list[WantedChange]:
    """Return the changes that privileges on one object are. Raises IllegalPrivilegeError."""
    chosen: dict[str, bool] = {}
    for each in wanted:
        deny = _CONDITIONS.get(each.condition.lower())
        if deny is None:
            raise IllegalPrivilegeError(f"{each.condition!r} is not a condition of a privilege. Use allow or deny.")
        name = _privilege(each.name, place.kind or "")
        if chosen.setdefault(name, deny) != deny:
            raise IllegalPrivilegeError(f"{name} is both allowed and denied on {place}. Send one of them.")
    return [WantedChange(role, place, name, deny, revoke) for name, deny in chosen.items()]


def _privilege(name: str, level: str) -> str:
    if any(noun in name.upper() for noun in _FOREIGN):
        raise UnsupportedOperationError(f"The privilege {name!r} is not supported: there are no such objects here.")
    try:
        return privileges.check_binding(name, level).name
    except InvalidInputError as error:
        raise IllegalPrivilegeError(str(error)) from error


def _of_objects(call: GravitinoCall, role: str, securables: Iterable[GravitinoSecurable]) -> list[WantedChange]:
    changes: list[WantedChange] = []
    seen: set[tuple[str, str | None]] = set()
    for each in securables:
        place = objects.written(call, each.type, each.full_name)
        if (place.text, place.kind) in seen:
            raise InvalidInputError(f"The object {each.full_name!r} is named twice. Send its privileges together.")
        seen.add((place.text, place.kind))
        changes += _changes(role, place, each.privileges)
    return changes


def _change_privileges(call: GravitinoCall, *, revoke: bool) -> dict[str, Any]:
    """Grant, deny or revoke privileges of a role on one object: all or none."""
    role = call.names["role"]
    place = objects.written(call, call.names["type"], call.names["object"])
    wanted = _changes(role, place, call.body.privileges, revoke=revoke)
    grants.apply(call.store, call.actor, call.places, wanted)
    return _changed_role(call, role)


def override_privileges(call: GravitinoCall) -> dict[str, Any]:
    """Have a role be granted and denied exactly what is sent."""
    role = call.names["role"]
    wanted = _of_objects(call, role, call.body.overrides)
    grants.replace(call.store, call.actor, call.places, role, wanted)
    return _changed_role(call, role)


def _changed_role(call: GravitinoCall, role: str) -> dict[str, Any]:
    """Return a role after a change. Who owns an object may grant on it, and sees no more of the role than its name."""
    if not call.store.read(roles.is_visible, call.actor, role):
        return {"role": {"name": role, "properties": {}, "securableObjects": [], "audit": {}}}
    return _role(call, roles.show(call.store, call.actor, role))


def list_object_roles(call: GravitinoCall) -> dict[str, Any]:
    """List the roles that are granted or denied something on an object, as one who may change that."""
    place = objects.written(call, call.names["type"], call.names["object"])
    return {"names": sorted({grant["role"] for grant in _grants(call, GrantList(object=place))})}


# -- owners --------------------------------------------------------------------------------------


def get_owner(call: GravitinoCall) -> dict[str, Any]:
    """Return the owner of an object."""
    place = objects.written(call, call.names["type"], call.names["object"])
    owner = owners.show(call.store, call.actor, call.places, place)
    return {"owner": {"name": owner["owner"], "type": owner["owner_kind"]}}


def set_owner(call: GravitinoCall) -> dict[str, Any]:
    """Give an object to another owner. What is inside keeps its own."""
    kind = call.body.type.lower()
    if kind not in (USER, GROUP):
        raise InvalidInputError(f"{call.body.type!r} is not a type of owner. Use {USER} or {GROUP}.")
    place = objects.written(call, call.names["type"], call.names["object"])
    owners.change(call.store, call.actor, call.places, place, Owner(call.body.name, kind))
    return {"set": True}


HANDLERS: Mapping[str, Handler] = {
    "list_roles": list_roles,
    "create_role": create_role,
    "get_role": get_role,
    "delete_role": delete_role,
    "grant_privileges": partial(_change_privileges, revoke=False),
    "revoke_privileges": partial(_change_privileges, revoke=True),
    "override_privileges": override_privileges,
    "list_object_roles": list_object_roles,
    "get_owner": get_owner,
    "set_owner": set_owner,
}
