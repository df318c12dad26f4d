"""Real decisions and lists beside a model of them, in worlds that hypothesis makes up, and laws that hold in all."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete

from lanceway.access import decisions, lists
from lanceway.access.rules import BY_NAME
from lanceway.errors import NamespaceNotFoundError, PermissionDeniedError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake import users
from lanceway.lake.access import facts, grants, groups, owners, roles
from lanceway.lake.access.facts import AccessFacts, Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.store.schema import roles as role_rows
from lanceway.lake.tree import catalogs, metalakes, namespaces, nesting, tables
from tests.access.model import CATALOG, METALAKE, NAMES, ROLES, Entry, Model, Path, Worlds, worlds
from tests.drilling import DrillProgress

ME, BOSS = Caller("me", ("claimed",)), Caller("boss", ("claimed",))
_NUMBERS = itertools.count()
Rights = dict[tuple[str, Path], Any]


class Real:
    """A world in the database: a metalake of its own.

    Unless it is there `beside` others, those lose their roles, or the caller would have those of thousands of worlds.
    """

    def __init__(
        self, store: LakeStore, world: Worlds, entries: tuple[Entry, ...] | None = None, *, beside: bool = False
    ) -> None:
        self.store, self.world, self.metalake = store, world, f"m{next(_NUMBERS)}"
        # Who administers is the server's, not a metalake's: so it is another user, with the same roles and groups.
        self.caller = BOSS if world.admin else ME
        if not beside:
            store.transact(lambda connection: connection.execute(delete(role_rows)))
        store.transact(self._make, world.entries if entries is None else entries)

    def place(self, target: Path) -> Securable:
        if target == METALAKE:
            return Securable(self.metalake)
        path = target[2:]
        return Securable(self.metalake, "c", Identifier(path), TABLE if path in self.world.tables else NAMESPACE)

    def change(self, *entries: Entry, revoke: bool = False) -> list[bool]:
        return self.store.transact(self._change, entries, revoke=revoke)

    def _change(self, connection: Connection, entries: tuple[Entry, ...], *, revoke: bool) -> list[bool]:
        changes = [GrantChange(e.role, self.place(e.target), e.privilege, e.deny, revoke) for e in entries]
        return grants.apply(connection, self.metalake, changes, by="admin")

    def _make(self, connection: Connection, entries: tuple[Entry, ...]) -> None:
        metalakes.create(connection, self.metalake, by="admin")
        catalog = catalogs.create(connection, self.metalake, "c", by="admin", nested=True, location=f"/{self.metalake}")
        for path in self.world.spaces:
            namespaces.create(connection, catalog.id, Identifier(path), by="admin")
        for path in self.world.tables:
            tables.create(connection, catalog.id, Identifier(path), by="admin")
        for role in ROLES:
            roles.create(connection, self.metalake, role, by="admin")
        users.create(connection, BOSS.user, by="admin", admin=True)
        groups.ensure(connection, "local", by="admin")
        groups.add(connection, "local", ME.user, by="admin")
        roles.give(connection, self.metalake, "own", ME.user, by="admin")
        roles.give(connection, self.metalake, "claimed", "claimed", "group", by="admin")
        roles.give(connection, self.metalake, "local", "local", "group", by="admin")
        for target, (kind, name) in self.world.owners.items():
            owners.change_owner(connection, self.place(target), Owner(name, kind), by="admin")
        self._change(connection, entries, revoke=False)

    # -- what the caller may do ------------------------------------------------------------------

    def rights(self, size: int = 2) -> Rights:
        return self.store.read(self._rights, size)

    def _rights(self, connection: Connection, size: int) -> Rights:
        rights: Rights = {}
        for path in asked(self.world):
            schema = self._facts(connection, path) if path else None
            rights["load", path] = _may(schema, "load schema") if schema else None
            rights["create", path] = _may(self._facts(connection, path[:-1]), "create schema") if path else None
            rights["own", path] = _may(schema, "own schema") if schema else None
            rights["spaces", path] = self._pages(connection, lists.child_namespaces, path, size)
            rights["tables", path] = self._pages(connection, lists.child_leaves, path, size)
        for path in leaves(self.world):
            table = self._facts(connection, path, TABLE)
            for rule in ("load table", "read table", "modify table", "own table"):
                rights[rule, path] = _may(table, rule)
        return rights

    def _facts(self, connection: Connection, path: Path, kind: str = NAMESPACE) -> AccessFacts:
        """Load what all decisions about a place follow from, as a decision does, once for several of them."""
        return facts.load(connection, self.caller, Securable(self.metalake, "c", Identifier(path), kind))

    def _pages(self, connection: Connection, function: Callable[..., Any], path: Path, size: int) -> Any:
        names: list[str] = []
        place = Securable(self.metalake, "c", Identifier(path))
        try:
            while True:
                page = function(connection, self.caller, place, after=names[-1] if names else None, limit=size)
                names += page
                if len(page) < size:  # so no page in the middle is short
                    assert function(connection, self.caller, place) == names, "all at once"
                    return names
        except PermissionDeniedError:
            return "403"
        except NamespaceNotFoundError:
            return "404"


def _may(known: AccessFacts, rule: str) -> bool:
    verdict = decisions.judge(known, BY_NAME[rule])
    assert verdict.explain().endswith(".")
    return verdict.allowed


def asked(world: Worlds) -> list[Path]:
    """The root, all namespaces, and one inside each that is missing and one inside that."""
    missing = [(*path, "zz", *more) for path in ((), *world.spaces[:3]) for more in ((), ("y",))]
    return [(), *world.spaces, *missing]


def leaves(world: Worlds) -> list[Path]:
    return [*world.tables, ("zz",), *((*path, "zz") for path in world.spaces[:2])]


def modelled(world: Worlds, *, more: tuple[Entry, ...] = ()) -> Rights:
    model, found = Model(world, more=more), Rights()
    for path in asked(world):
        found["load", path] = model.load(path) if path else None
        found["create", path] = model.create(path) if path else None
        found["own", path] = model.own_space(path) if path else None
        found["spaces", path] = model.spaces_in(path)
        found["tables", path] = model.tables_in(path)
    for path in leaves(world):
        found["load table", path] = model.table(path, "SELECT_TABLE", "MODIFY_TABLE")
        found["read table", path] = model.table(path, "SELECT_TABLE")
        found["modify table", path] = model.table(path, "MODIFY_TABLE")
        found["own table", path] = model.table(path)
    return found


def test_the_model_agrees(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    def agrees(world: Worlds) -> None:
        assert Real(store, world).rights() == modelled(world)

    progress.explore(30 * rounds, worlds(), agrees)  # on each of two databases


def as_set(rights: Rights) -> set[tuple[str, Path, str]]:
    """Rights as a set that can be compared: each thing allowed, and each name shown."""
    allowed = {(*key, "") for key, value in rights.items() if value is True}
    return allowed | {(*key, name) for key, value in rights.items() if isinstance(value, list) for name in value}


def test_laws(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    """A denial adds nothing; a grant takes nothing away; what is revoked leaves nothing; order does not matter."""

    def hold(world: Worlds) -> None:
        real = Real(store, world)
        before = real.rights()
        for each in world.extra:
            assert real.change(each, each) == [True, False]
            after = real.rights(size=3)
            less, more = (after, before) if each.deny else (before, after)
            assert as_set(less) <= as_set(more)
            assert real.change(each, revoke=True) == [True]
            assert real.rights() == before
        backwards = Real(store, world, tuple(reversed(world.entries)))
        assert backwards.rights() == before

    progress.explore(6 * rounds, worlds(), hold)


def test_a_grant_above_holds_all_of_one_below(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    def hold(world: Worlds) -> None:
        for each in world.extra:
            above = each.target[:-1]
            if each.deny or len(each.target) < 3 or above not in world.targets or each.privilege == "SELECT_VIEW":
                continue
            real = Real(store, world)
            real.change(each)
            below = real.rights()
            real.change(each, revoke=True)
            real.change(Entry(each.role, each.privilege, above, False))
            assert as_set(below) <= as_set(real.rights())

    progress.explore(6 * rounds, worlds(), hold)


def test_a_list_is_the_filter_of_loads(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    def hold(world: Worlds) -> None:
        rights = Real(store, world).rights(size=1)
        for path in ((), *world.spaces):
            shown = rights["tables", path]
            children = [each for each in world.tables if each[:-1] == path]
            if shown != "403":
                assert shown == sorted(each[-1] for each in children if rights["load table", each])
            inside = rights["spaces", path]
            if inside != "403":
                loaded = {each[-1] for each in world.spaces if each[:-1] == path and rights["load", each]}
                assert loaded <= set(inside)
                for name in set(inside) - loaded:
                    deeper = [each for each in world.spaces if each[: len(path) + 1] == (*path, name)]
                    assert any(rights["load", each] for each in deeper), "it leads to something"

    progress.explore(6 * rounds, worlds(), hold)


def test_rights_follow_a_rename(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    """A namespace that is renamed keeps what was granted on it and inside."""

    def renamed(path: Path, old: Path, new: str) -> Path:
        return (*old[:-1], new, *path[len(old) :]) if path[: len(old)] == old else path

    def hold(world: Worlds) -> None:
        if not world.spaces:
            return
        real, old, new = Real(store, world), world.spaces[0], "renamed"
        catalog = store.read(catalogs.load, real.metalake, "c").id
        store.transact(nesting.rename, catalog, Identifier(old), new, by="admin")
        moved = Worlds(
            tuple(renamed(path, old, new) for path in world.spaces),
            tuple(renamed(path, old, new) for path in world.tables),
            {_shift(target, old, new, renamed): owner for target, owner in world.owners.items()},
            tuple(Entry(e.role, e.privilege, _shift(e.target, old, new, renamed), e.deny) for e in world.entries),
            world.admin,
        )
        real.world = moved
        assert real.rights() == modelled(moved)

    progress.explore(6 * rounds, worlds(), hold)


def test_rights_follow_a_table_that_is_moved(store: LakeStore, rounds: int, progress: DrillProgress) -> None:
    """Its own grants, denials and owner go with it; what it had from the old namespace it has from the new one."""

    def hold(world: Worlds) -> None:
        real = Real(store, world)
        catalog = store.read(catalogs.load, real.metalake, "c").id
        for number, first in enumerate(world.tables):
            old = first
            for space in ((), *world.spaces):
                new = (*space, f"moved{number}")
                store.transact(tables.rename, catalog, Identifier(old), Identifier(new), by="admin")
                real.world = _moved(real.world, old, new)
                assert real.rights() == modelled(real.world)
                old = new

    progress.explore(6 * rounds, worlds(), hold)


def _moved(world: Worlds, old: Path, new: Path) -> Worlds:
    def shift(target: Path) -> Path:
        return (*CATALOG, *new) if target == (*CATALOG, *old) else target

    return Worlds(
        world.spaces,
        tuple(new if path == old else path for path in world.tables),
        {shift(target): owner for target, owner in world.owners.items()},
        tuple(Entry(each.role, each.privilege, shift(each.target), each.deny) for each in world.entries),
        world.admin,
    )


def _shift(target: Path, old: Path, new: str, renamed: Callable[[Path, Path, str], Path]) -> Path:
    return target if target in (METALAKE, CATALOG) else (*CATALOG, *renamed(target[2:], old, new))


@pytest.mark.parametrize("name", NAMES)
def test_names_need_encoding_or_sort_differently(name: str) -> None:
    assert HierarchicalName.from_physical(HierarchicalName([name]).physical) == (name,)
