"""Owners as an actor sees and changes them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from lanceway.access.rights import reviews
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.people import check_holder
from lanceway.access.rights.places import PlaceFinder, WrittenPlace
from lanceway.lake.access import owners
from lanceway.lake.access.facts import ADMIN
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import USER


def show(store: LakeStore, actor: Actor, places: PlaceFinder, written: WrittenPlace) -> dict[str, Any]:
    """Return the owner of an object that the actor may know of."""

    def work(connection: Connection) -> dict[str, Any]:
        place = places.find(connection, actor, written)
        return _described(places, place, owner_of(connection, place), written.delimiter)

    return store.read(work)


def change(store: LakeStore, actor: Actor, places: PlaceFinder, written: WrittenPlace, owner: Owner) -> dict[str, Any]:
    """Give an object to a known user or group. All that is inside keeps its own owner."""

    def work(connection: Connection) -> dict[str, Any]:
        place = places.find(connection, actor, written)
        if owner != Owner(ADMIN):
            check_holder(connection, owner.name, owner.kind)
        if actor.trusted:
            before = owners.change_owner(connection, place, owner, by=actor.name)
        else:
            before = reviews.change_owner(connection, actor.caller, place, owner)
        previous = {"previous_owner": before.name, "previous_owner_kind": before.kind}
        return {**_described(places, place, owner, written.delimiter), **previous}

    return store.transact(work)


def owner_of(connection: Connection, place: Securable) -> Owner:
    """Return the owner of a place; of a mounted catalog's object that has no row, the administrator."""
    return owners.find(connection, place) if reviews.is_recorded(connection, place) else Owner(ADMIN, USER)


def _described(places: PlaceFinder, place: Securable, owner: Owner, delimiter: str) -> dict[str, Any]:
    return {**places.write(place, delimiter), "owner": owner.name, "owner_kind": owner.kind}
