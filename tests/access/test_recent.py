"""The tables that changed last: however much happens to hidden ones, those that a caller may see are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from lanceway.access.records.recent import recent_tables
from lanceway.access.rights.actor import Actor
from lanceway.identifiers import Identifier
from lanceway.lake.access.facts import Caller
from lanceway.lake.feed import outbox
from lanceway.lake.store.database import open_store
from lanceway.lake.tree import catalogs, lookups, settings, tables
from tests.access.rights_helpers import CATALOG, World, make_world, name
from tests.new_lakes import new_lake

# More events than are looked at together.
MANY = 2_100


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(new_lake(tmp_path / "lake.db"))
    store.transact(settings.store, {settings.ACCESS_CONTROL: settings.ON})
    made = make_world(store, "m", ["open", "shut"], ["open:t", "open:u", "shut:t"])
    for path, privilege in (("", "USE_CATALOG"), ("open", "USE_SCHEMA"), ("open", "SELECT_TABLE")):
        made.grant("r", path, privilege)
    yield made
    store.close()


def create(world: World, *paths: str) -> None:
    """Make tables, in one transaction."""

    def work(connection: Connection) -> None:
        catalog = catalogs.load(connection, world.metalake, CATALOG).id
        for path in paths:
            tables.create(connection, catalog, Identifier(name(path)), by="admin")

    world.store.transact(work)


def recent(world: World, user: str, limit: int = 10) -> list[str]:
    return [":".join(table.names[1:]) for table in recent_tables(world.store, Actor(Caller(user), "m"), limit)]


def test_hidden_activity_pushes_nothing_out(world: World) -> None:
    create(world, *(f"shut:{number}" for number in range(MANY)))
    create(world, "open:last")
    assert recent(world, "me") == ["open:last", "open:u", "open:t"]
    assert recent(world, "me", 2) == ["open:last", "open:u"]
    assert recent(world, "admin", 2) == ["open:last", f"shut:{MANY - 1}"]
    assert recent(world, "stranger") == []


def test_a_table_that_changed_often_is_listed_once_at_its_last_change(world: World) -> None:
    def get_version(connection: Connection) -> None:
        catalog = catalogs.load(connection, world.metalake, CATALOG).id
        table = lookups.find(connection, catalog, Identifier(name("open:t")))
        outbox.record_object(connection, "version.created", table.id, by="admin")

    create(world, *(f"shut:{number}" for number in range(MANY)))
    world.store.transact(get_version)
    assert recent(world, "me") == ["open:t", "open:u"]
