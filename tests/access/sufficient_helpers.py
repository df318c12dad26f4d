"""Sets of rights that are enough for something, given to one user: each whole, and each with one right missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.access.privileges import BY_NAME as PRIVILEGES
from lanceway.access.rules import OWNER, PRIVILEGE, UNDENIED, Need
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE
from lanceway.server.home import METALAKE

MISSING_PARENT = "missing parent"  # the name of a namespace that is not there


def place(*names: str, kind: str = NAMESPACE) -> Securable:
    return Securable(METALAKE, *names[:1], Identifier(names[1:]), kind) if names else Securable(METALAKE)


def level_of(at: Securable, wanted: Sequence[str]) -> Securable:
    """The nearest of a place and those around it that exists, and on which something of these levels can be had."""
    while at.level not in wanted or MISSING_PARENT in at.path:
        at = at.parent
    return at


@dataclass(frozen=True)
class Right:
    """Something that the user has: a privilege or a place of its own; or a denial, which it has against it."""

    kind: str
    name: str
    place: Securable


def right(need: Need, of: Securable) -> Right | None:
    """What a need comes to for an object: None for what one has unless it is taken away."""
    if need.kind == OWNER:
        return Right(OWNER, "", level_of(of, [need.name]))
    if need.kind == PRIVILEGE:
        return Right(PRIVILEGE, need.name, level_of(of, PRIVILEGES[need.name].levels))
    return None


class GivenRights:
    """The rights of the user `me`, through the role `r` alone: exactly those that a test gives."""

    def __init__(self, store: LakeStore, *, is_new: bool = True) -> None:
        self._store, self._has = store, frozenset[Right]()
        if is_new:
            store.transact(self._begin)

    @staticmethod
    def _begin(connection: Connection) -> None:
        roles.create(connection, METALAKE, "r", by="admin")
        roles.give(connection, METALAKE, "r", "me", by="admin")

    def give(self, wanted: Iterable[Right]) -> None:
        """Let the user have these rights and no others."""
        wanted = frozenset(wanted)
        self._store.transact(self._change, self._has - wanted, wanted - self._has)
        self._has = wanted

    def forget(self, gone: Securable) -> None:
        """What was given on an object that was dropped went with it."""
        self._has = frozenset(each for each in self._has if each.place != gone)

    @staticmethod
    def _change(connection: Connection, old: frozenset[Right], new: frozenset[Right]) -> None:
        changes = [
            GrantChange("r", each.place, each.name, deny=each.kind == UNDENIED, revoke=each in old)
            for each in (*old, *new)
            if each.kind != OWNER
        ]
        grants.apply(connection, METALAKE, changes, by="admin")
        for each in (*old, *new):
            if each.kind == OWNER:
                owners.change_owner(connection, each.place, Owner("admin" if each in old else "me"), by="admin")
