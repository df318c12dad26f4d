"""`/lanceway/v1/owners`: who owns an object.

GET /lanceway/v1/owners    ?object=lake$team (with ?kind=, ?delimiter=)
PUT /lanceway/v1/owners    {object, user} or {object, group}: give it to another owner
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from lanceway.access.rights import owners
from lanceway.access.rights.places import WrittenPlace
from lanceway.errors import InvalidInputError
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.schema import GROUP, USER
from lanceway.server.api.endpoints import Call, actor_of, endpoint, places_of
from lanceway.server.api.grants import Delimiter, KindText, ObjectQuery, ObjectText
from lanceway.wire.lance import DELIMITER


class OwnerRequest(Struct):
    """The new owner of an object: either a user or a group."""

    object: ObjectText
    user: str | None = None
    group: str | None = None
    kind: KindText | None = None
    delimiter: Delimiter | None = None

    @property
    def audited(self) -> list[dict[str, Any]]:
        return [{"object": self.object, "user": self.user, "group": self.group}]

    @property
    def written(self) -> WrittenPlace:
        return WrittenPlace(self.object, self.kind, self.delimiter or DELIMITER)

    @property
    def owner(self) -> Owner:
        if (self.user is None) == (self.group is None):
            raise InvalidInputError("An owner is either a user or a group. Send one of `user` and `group`.")
        return Owner(self.user, USER) if self.user is not None else Owner(self.group or "", GROUP)


class OwnerAnswer(Struct):
    """An object and its owner."""

    object: str
    kind: str
    names: list[str]
    owner: str
    owner_kind: str


class OwnerChange(OwnerAnswer):
    """An object, its owner, and the owner before."""

    previous_owner: str
    previous_owner_kind: str


@endpoint("GET", "/owners", OwnerAnswer, anonymous=False)
async def get_owner(call: Call, query: ObjectQuery) -> object:
    """Return the owner of an object."""
    return await call.run(owners.show, call.store, actor_of(call), places_of(call), query.written)


@endpoint("PUT", "/owners", OwnerChange, anonymous=False)
async def change_owner(call: Call, body: OwnerRequest) -> object:
    """Give an object to another owner. What is inside keeps its own."""
    return await call.run(owners.change, call.store, actor_of(call), places_of(call), body.written, body.owner)


ENDPOINTS = (get_owner, change_owner)
