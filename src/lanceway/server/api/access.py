"""`/lanceway/v1/access`: whether access control is on, and questions about rights.

    GET  /lanceway/v1/access               whether it is on
    GET  /lanceway/v1/access/me            one's own groups, roles and grants
    GET  /lanceway/v1/access/why           ?action=, ?object= and, for others than oneself, ?user=: yes or no, and why
    GET  /lanceway/v1/access/who           ?object=: who can do what there
    GET  /lanceway/v1/access/user          ?name=: the groups, roles and grants of a user
    GET  /lanceway/v1/access/privileges    all privileges, with what each allows on what
    GET  /lanceway/v1/access/actions       all that one can ask `why` about, with the rights that are enough
    POST /lanceway/v1/access/enable        {confirm}: without it, only who would lose what
    POST /lanceway/v1/access/disable

Only those who may manage roles ask about others; only an admin switches access control on and off.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from lanceway.access.rights import actions, questions, switch
from lanceway.server.api.endpoints import Call, actor_of, endpoint, places_of
from lanceway.server.api.grants import Delimiter, GrantAnswer, ObjectQuery
from lanceway.server.api.owners import OwnerAnswer
from lanceway.server.api.roles import HolderAnswer
from lanceway.wire.lance import DELIMITER


class WhyQuery(ObjectQuery, kw_only=True):
    action: Annotated[str, Meta(description="A rule, an operation or a privilege: read table, query_table, …")]
    user: Annotated[str, Meta(description="About whom is asked; oneself without it.")] | None = None


class UserRightsQuery(Struct):
    name: Annotated[str, Meta(description="The user; oneself without it.")] | None = None
    delimiter: Delimiter | None = None


class AccessStatus(Struct):
    """Whether access control is on."""

    enabled: bool


class AccessDemand(Struct):
    """A rule that was asked of an object, and what it said."""

    rule: str
    object: str
    kind: str
    names: list[str]
    allowed: bool
    reason: str
    text: str


class AccessSummary(Struct):
    """A verdict with its reason."""

    allowed: bool
    reason: str
    text: str


class AccessVerdict(AccessSummary, kw_only=True):
    """Whether a user may do something, and why. `if_enabled` is there while access control is off.

    `not_asked` names rules about objects that only a request would name.
    """

    user: str
    action: str
    object: str
    enabled: bool
    demands: list[AccessDemand]
    not_asked: list[str]
    if_enabled: AccessSummary | None = None


class PlaceRights(Struct):
    """Who can do what to an object: owners and grants on it and above, and who has the roles.

    It is truncated where one of these objects has more grants than are shown: see GET /lanceway/v1/grants.
    """

    object: str
    kind: str
    names: list[str]
    owners: list[OwnerAnswer]
    grants: list[GrantAnswer]
    holders: list[HolderAnswer]  # type: ignore[valid-type]
    truncated: bool


class UserRights(Struct):
    """What a user has. Groups that its issuer names are known of oneself alone.

    It is truncated where one of the roles has more grants than are shown: see GET /lanceway/v1/grants.
    """

    user: str
    is_admin: bool
    enabled: bool
    groups: list[str]
    roles: list[HolderAnswer]  # type: ignore[valid-type]
    grants: list[GrantAnswer]
    truncated: bool


class PrivilegeAnswer(Struct):
    """A privilege, with what it allows on each level that it can be granted on."""

    name: str
    title: str
    description: str
    category: str
    allows: dict[str, str]


class PrivilegeTable(Struct):
    """All privileges."""

    privileges: list[PrivilegeAnswer]


class ActionDemand(Struct):
    """A rule, the object that it is asked of, and every set of rights that is enough."""

    of: str
    rule: str
    title: str
    sufficient: list[list[str]]


class ActionAnswer(Struct):
    """Something that one can do: a rule, an operation or a privilege."""

    name: str
    kind: str
    demands: list[ActionDemand]


class ActionTable(Struct):
    """All actions."""

    actions: list[ActionAnswer]


class EnableRequest(Struct):
    """Whether access control is to be switched on; without it, only what would be lost is told."""

    confirm: bool = False


class AccessLoss(Struct):
    """A user, with how many catalogs it still reaches, and how many objects it owns."""

    user: str
    catalogs: int
    objects: int
    effect: str


class AccessEnabled(Struct):
    """Whether access control is on now, and was before, and what each user who is not an admin keeps.

    Of these users the first hundred, those who are granted nothing before the others; their number, and that of all
    catalogs, of which each user reaches some.
    """

    enabled: bool
    was_enabled: bool
    losses: list[AccessLoss]
    losses_count: int
    catalogs_count: int


class AccessDisabled(Struct):
    """Whether access control is on now, and was before."""

    enabled: bool
    was_enabled: bool


@endpoint("GET", "/access", AccessStatus, anonymous=False)
async def get_access(call: Call) -> object:
    """Return whether access control is on."""
    return await call.run(switch.status, call.store)


@endpoint("GET", "/access/me", UserRights, anonymous=False)
async def get_own_rights(call: Call) -> object:
    """Return one's own groups, roles and grants."""
    return await call.run(questions.user, call.store, actor_of(call), places_of(call))


@endpoint("GET", "/access/why", AccessVerdict, anonymous=False)
async def explain_access(call: Call, query: WhyQuery) -> object:
    """Return whether a user may do something to an object, and why."""
    why = partial(questions.why, call.store, actor_of(call), places_of(call), query.action, query.written)
    return await call.run(partial(why, user=query.user))


@endpoint("GET", "/access/who", PlaceRights, anonymous=False)
async def get_place_rights(call: Call, query: ObjectQuery) -> object:
    """Return who can do what to an object."""
    return await call.run(questions.who, call.store, actor_of(call), places_of(call), query.written)


@endpoint("GET", "/access/user", UserRights, anonymous=False)
async def get_user_rights(call: Call, query: UserRightsQuery) -> object:
    """Return the groups, roles and grants of a user."""
    ask = partial(questions.user, call.store, actor_of(call), places_of(call), query.name)
    return await call.run(partial(ask, delimiter=query.delimiter or DELIMITER))


@endpoint("GET", "/access/privileges", PrivilegeTable, anonymous=False)
async def list_privileges(call: Call) -> object:
    """List all privileges."""
    return {"privileges": actions.described_privileges()}


@endpoint("GET", "/access/actions", ActionTable, anonymous=False)
async def list_actions(call: Call) -> object:
    """List all that one can ask about."""
    return {"actions": actions.described()}


@endpoint("POST", "/access/enable", AccessEnabled, anonymous=False)
async def enable_access(call: Call, body: EnableRequest | None) -> object:
    """Switch access control on, or tell who would lose what."""
    confirm = body is not None and body.confirm
    return await call.run(partial(switch.enable, call.store, actor_of(call), places_of(call), confirm=confirm))


@endpoint("POST", "/access/disable", AccessDisabled, anonymous=False)
async def disable_access(call: Call) -> object:
    """Switch access control off."""
    return await call.run(switch.disable, call.store, actor_of(call))


ENDPOINTS = (
    get_access,
    get_own_rights,
    explain_access,
    get_place_rights,
    get_user_rights,
    list_privileges,
    list_actions,
    enable_access,
    disable_access,
)
