"""Pages of what a caller is shown, and how much of its grants is read for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from lanceway.access import lists
from lanceway.access.privileges import USE_CATALOG, USE_SCHEMA
from lanceway.lake.access import groups, roles
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import TABLE
from tests.access.rights_helpers import ME, World, make_world

STEPS = 10  # of SQLite's own, between two calls that count them


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[LakeStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'lake.db'}")
    yield opened
    opened.close()


def world_with(store: LakeStore, metalake: str, tables: int) -> World:
    """A namespace in which the caller may read each table, by one of two roles in turn, and all but one in ten."""
    names = [f"A:t{number:04}" for number in range(tables)]
    world = make_world(store, metalake, ("A",), names)
    store.transact(roles.create, metalake, "second", by="admin")
    store.transact(roles.give, metalake, "second", ME.user, by="admin")
    for privilege in (USE_CATALOG, USE_SCHEMA):
        world.grant("r", "", privilege)
    shown = [GrantChange("r", world.place(name, TABLE), "SELECT_TABLE") for name in names[::2]]
    shown += [GrantChange("second", world.place(name, TABLE), "SELECT_TABLE") for name in names[1::2]]
    hidden = [GrantChange("second", world.place(name, TABLE), "SELECT_TABLE", deny=True) for name in names[::10]]
    changes = shown + hidden
    for start in range(0, len(changes), 100):
        world.change(*changes[start : start + 100])
    return world


def steps_for_a_page(world: World, after: str | None) -> int:
    """How much SQLite does for a page of ten."""
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return 0

    def look(connection: Connection) -> int:
        driver = connection.connection.driver_connection
        assert driver is not None
        lists.child_leaves(connection, ME, world.place("A"), after=after, limit=10)  # prepared, from here on
        driver.set_progress_handler(count, STEPS)
        try:
            page = lists.child_leaves(connection, ME, world.place("A"), after=after, limit=10)
        finally:
            driver.set_progress_handler(None, 0)
        assert len(page) == 10
        return calls

    return world.store.read(look)


def test_a_page_takes_no_longer_with_more_grants(sqlite: LakeStore) -> None:
    few, many = world_with(sqlite, "few", 40), world_with(sqlite, "many", 1000)
    for after in (None, "t0020"):
        assert steps_for_a_page(many, after) < 1.2 * steps_for_a_page(few, after)


def test_roles_groups_and_owners_are_merged_in_order(store: LakeStore) -> None:
    world = world_with(store, "m", 40)
    store.transact(groups.create, "team", by="admin")
    store.transact(groups.add, "team", ME.user, by="admin")
    store.transact(roles.create, "m", "third", by="admin")
    store.transact(roles.give, "m", "third", "team", "group", by="admin")
    world.grant("third", "A:t0000", "SELECT_TABLE", kind=TABLE)  # denied to another role
    world.grant("third", "A:t0010", "MODIFY_TABLE", kind=TABLE)  # denied is only to read it
    world.own("A:t0020", Owner("team", "group"), TABLE)
    world.own("A:t0030", Owner("claimed", "group"), TABLE)
    world.own("A:t0031", Owner("me"), TABLE)  # shown once, though it is granted as well
    hidden = {"t0000"}
    shown = [name for name in (f"t{number:04}" for number in range(40)) if name not in hidden]
    caller = Caller("me", ("claimed",))
    for size in (1, 2, 7, 38, 39, 40, 100):
        assert world.pages(lists.child_leaves, "A", caller, size) == shown
    assert store.read(lists.child_leaves, caller, world.place("A")) == shown
