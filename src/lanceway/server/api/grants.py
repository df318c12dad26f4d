"""`/lanceway/v1/grants`: what roles are granted and denied on which objects.

    GET    /lanceway/v1/grants              ?role=, ?object=lake$team (with ?kind=, ?delimiter=) or ?dangling=true
    POST   /lanceway/v1/grants              {changes: [{role, object, privilege, deny, revoke, expected}]}: all or none
    DELETE /lanceway/v1/grants/dangling     all that hold no longer, as their objects are gone
    GET    /lanceway/v1/grants/grantable    ?object=: the privileges that one may grant there
    POST   /lanceway/v1/grants/what-if      one change: for whom it would add or take a privilege, on how many objects

An object is `metalake`, a catalog such as `lake`, or its names joined by the delimiter. `kind` says what it is; it is
looked up without it, but not in mounted catalogs. Changes may be sent again: what is so already stays as it is.
Times in answers are milliseconds since 1970.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lanceway.access.rights import grants
from lanceway.access.rights.grants import GrantList, WantedChange
from lanceway.access.rights.places import WrittenPlace
from lanceway.lake.access.grants import MOST_CHANGES
from lanceway.lake.store.schema import ALLOW, DENY
from lanceway.server.api.endpoints import Call, PageQuery, actor_of, endpoint, page_type, places_of
from lanceway.wire.lance import DELIMITER

Kind = Literal["metalake", "catalog", "schema", "table", "view"]
ObjectText = Annotated[str, Meta(description="metalake, a catalog, or names that a delimiter joins: lake$team$sales.")]
KindText = Annotated[Kind, Meta(description="What the object is; looked up without it, but not in mounted catalogs.")]
Delimiter = Annotated[str, Meta(description="What joins the names of an object; $ without it.")]


class ObjectQuery(Struct):
    object: ObjectText
    kind: KindText | None = None
    delimiter: Delimiter | None = None

    @property
    def written(self) -> WrittenPlace:
        return WrittenPlace(self.object, self.kind, self.delimiter or DELIMITER)


class GrantQuery(PageQuery):
    role: Annotated[str, Meta(description="The grants of this role.")] | None = None
    object: Annotated[str, Meta(description="The grants on this object itself.")] | None = None
    dangling: Annotated[bool, Meta(description="Grants on objects that mounted catalogs have no longer.")] = False
    kind: KindText | None = None
    delimiter: Delimiter | None = None

    @property
    def wanted(self) -> GrantList:
        delimiter = self.delimiter or DELIMITER
        written = None if self.object is None else WrittenPlace(self.object, self.kind, delimiter)
        return GrantList(self.role, written, self.dangling)


class GrantAnswer(Struct):
    """A privilege that a role is granted (allow) or denied (deny) on an object. A dangling one holds no longer."""

    role: str
    privilege: str
    effect: str
    object: str
    kind: str
    names: list[str]
    granted_by: str
    granted_at: int
    dangling: bool


class GrantRequest(Struct):
    """A grant; with `deny` a denial; with `revoke` it is taken back. `expected` is whether it is there before."""

    role: str
    object: ObjectText
    privilege: str
    deny: bool = False
    revoke: bool = False
    expected: bool | None = None
    kind: KindText | None = None
    delimiter: Delimiter | None = None

    @property
    def wanted(self) -> WantedChange:
        written = WrittenPlace(self.object, self.kind, self.delimiter or DELIMITER)
        return WantedChange(self.role, written, self.privilege, self.deny, self.revoke, self.expected)

    @property
    def facts(self) -> dict[str, Any]:
        effect = DENY if self.deny else ALLOW
        revoke = True if self.revoke else None
        return {
            "role": self.role,
            "privilege": self.privilege,
            "object": self.object,
            "effect": effect,
            "revoke": revoke,
        }


class GrantRequests(Struct):
    """Changes that are made together, or not at all."""

    changes: Annotated[list[GrantRequest], Meta(min_length=1, max_length=MOST_CHANGES)]

    @property
    def audited(self) -> list[dict[str, Any]]:
        return [change.facts for change in self.changes]


class GrantsChanged(Struct):
    """Which of the changes changed something, in their order."""

    changed: list[bool]


class GrantsPurged(Struct):
    """How many dangling grants and denials were deleted."""

    deleted: int


class GrantablePrivilege(Struct):
    """A privilege that one may grant on an object, with what it allows there."""

    name: str
    title: str
    description: str
    category: str
    allows: str


class Grantable(Struct):
    """The privileges that one may grant on an object; none for those who may not manage its grants."""

    privileges: list[GrantablePrivilege]


class GrantEffect(Struct):
    """On how many objects a user or a group would gain or lose the privilege; null in a mounted catalog."""

    kind: str
    name: str
    gained: int | None
    lost: int | None


class GrantEffects(Struct):
    """Whom a change would concern: the first hundred users and groups that have the role, and how many there are."""

    effects: list[GrantEffect]
    effects_count: int


@endpoint("GET", "/grants", page_type("Grants", "grants", GrantAnswer), anonymous=False)
async def list_grants(call: Call, query: GrantQuery) -> object:
    """List grants and denials: of a role, on an object, or those that dangle."""
    list_page = partial(grants.described_page, call.store, actor_of(call), places_of(call), query.wanted)
    options = {"limit": query.size, "page_token": query.page_token}
    items, token = await call.run(partial(list_page, delimiter=query.delimiter or DELIMITER, **options))
    return {"grants": items, "page_token": token}


@endpoint("POST", "/grants", GrantsChanged, anonymous=False)
async def change_grants(call: Call, body: GrantRequests) -> GrantsChanged:
    """Grant, deny and revoke privileges: all of the changes, or none."""
    wanted = [change.wanted for change in body.changes]
    return GrantsChanged(await call.run(grants.apply, call.store, actor_of(call), places_of(call), wanted))


@endpoint("DELETE", "/grants/dangling", GrantsPurged, anonymous=False)
async def purge_dangling_grants(call: Call) -> GrantsPurged:
    """Delete the grants and denials on objects that mounted catalogs have no longer."""
    return GrantsPurged(await call.run(grants.purge_dangling, call.store, actor_of(call)))


@endpoint("GET", "/grants/grantable", Grantable, anonymous=False)
async def list_grantable(call: Call, query: ObjectQuery) -> object:
    """List the privileges that one may grant on an object."""
    return {"privileges": await call.run(grants.grantable, call.store, actor_of(call), places_of(call), query.written)}


@endpoint("POST", "/grants/what-if", GrantEffects, anonymous=False, audited=False)
async def try_grant(call: Call, body: GrantRequest) -> object:
    """Return what a change would do, without making it."""
    return await call.run(grants.what_if, call.store, actor_of(call), places_of(call), body.wanted)


ENDPOINTS = (list_grants, change_grants, purge_dangling_grants, list_grantable, try_grant)
