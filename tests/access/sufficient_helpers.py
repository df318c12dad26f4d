"""Sets of rights that are enough for something, given to one user: each whole, and each with one right missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.access.operations import Demand
from lanceway.access.privileges import BY_NAME as PRIVILEGES
from lanceway.access.rules import MISSING, OWNER, PRIVILEGE, UNDENIED, Need, Sufficient
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE
from lanceway.lake.tree import catalogs, tables
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


@dataclass(frozen=True)
class Attempt:
    """Some rights, and what is missing to be allowed something; nothing, if it is empty.

    With `parent_exists`, what is to be made is asked for in a parent that is there.
    """

    rights: frozenset[Right]
    without: str = ""
    parent_exists: bool = False


def attempts(
    demands: Sequence[Demand], asked_of: Callable[[Demand], Securable], tested: Demand, needs: Sufficient
) -> Iterator[Attempt]:
    """With all but one of the rights that are needed, for each of them; then with all."""
    others = [demand for demand in demands if demand is not tested]
    # Of the sets for other demands the last: the first make one the owner of everything.
    needed = [(need, asked_of(tested)) for need in needs]
    besides = [(need, asked_of(other)) for other in others for need in other.rule.sufficient[-1]]
    rights = frozenset(each for need, of in (*needed, *besides) if (each := right(need, of)) is not None)
    # Who owns more than the object may lack what other demands need.
    for need, of in (*needed, *(besides if needs is tested.rule.sufficient[-1] else ())):
        given = right(need, of)
        if given is not None:
            yield Attempt(rights - {given}, f"{need} on {given.place}")
        elif need.kind == UNDENIED:
            denial = Right(UNDENIED, need.name, level_of(of, PRIVILEGES[need.name].levels))
            yield Attempt(rights | {denial}, str(need))
        elif need.kind == MISSING:
            yield Attempt(rights, "a parent that is missing", parent_exists=True)
    yield Attempt(rights)


def check_reason(text: str, demands: Iterable[Demand], rights: Iterable[Right]) -> None:
    """A refusal says who may not do what, and names rights that are enough together with those that there are."""
    rules = [demand.rule for demand in demands if f"me may not {demand.rule.title} (" in text]
    assert rules, text
    told = {(PRIVILEGE, name) for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text)}
    told |= {(OWNER, level) for level in re.findall(r"only the owner of the (\w+) may", text)}
    has = {(OWNER, each.place.level) if each.kind == OWNER else (PRIVILEGE, each.name) for each in rights}
    wanted = [
        {(need.kind, need.name) for need in needs if need.kind in (OWNER, PRIVILEGE)}
        for rule in rules
        for needs in rule.sufficient
    ]
    assert any(needs & told and needs <= told | has for needs in wanted), f"{text} has {has}"


def declare(store: LakeStore, *names: str) -> None:
    """Make a table that is nothing but a row."""

    def work(connection: Connection) -> None:
        catalog = catalogs.load(connection, METALAKE, names[0])
        tables.create(connection, catalog.id, Identifier(names[1:]), by="admin")

    store.transact(work)


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
