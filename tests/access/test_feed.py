"""What each caller is shown of the feed: no name of an object, a user, a job or a run that it may not see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from lanceway.access.records import feed
from lanceway.access.rights.actor import Actor
from lanceway.identifiers import Identifier
from lanceway.lake import tokens, users
from lanceway.lake.access import groups, roles
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.owners import Owner
from lanceway.lake.feed.reading import FeedFilter
from lanceway.lake.runs import jobs, leases, runs
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import TABLE
from lanceway.lake.tree import catalogs, namespaces, nesting, settings, tables
from tests.access.rights_helpers import CATALOG, World, make_world, name
from tests.new_lakes import new_lake


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(new_lake(tmp_path / "lake.db"))
    store.transact(settings.store, {settings.ACCESS_CONTROL: settings.ON})
    made = make_world(store, "m", ["open", "shut"], ["open:t", "open:u", "shut:t"])
    for path, privilege in (("", "USE_CATALOG"), ("open", "USE_SCHEMA")):
        made.grant("r", path, privilege)
    yield made
    store.close()


def told(world: World, user: str = "me", types: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """All events that a user is shown, as they are sent."""
    actor, wanted = Actor(Caller(user), "m"), FeedFilter.of("m", types, None)
    found, after = list[dict[str, Any]](), None
    while True:
        page = feed.read_page(world.store, actor, wanted, after, 7)
        found += [feed.cloud_event(row, data, str(row.position), "urn:x") for row, data in page.events]
        after = page.end
        if page.is_end:
            return found


def subjects(world: World, *types: str, user: str = "me") -> list[tuple[str, str]]:
    return [(event["type"].removeprefix("io.lanceway."), event["subject"]) for event in told(world, user, types)]


def change(world: World, function: Any, *arguments: Any, **options: Any) -> Any:
    def work(connection: Connection) -> Any:
        catalog = catalogs.load(connection, world.metalake, CATALOG).id
        return function(connection, catalog, *arguments, **options)

    return world.store.transact(work)


def test_an_object_is_there_for_those_who_may_see_it_now(world: World) -> None:
    assert subjects(world, "table") == []
    world.grant("r", "open:t", "SELECT_TABLE", kind=TABLE)
    assert subjects(world, "table") == [("table.created", "lake$open$t")]
    assert subjects(world, "namespace") == [("namespace.created", "lake$open")]
    world.grant("r", "open:t", "SELECT_TABLE", deny=True, kind=TABLE)
    assert subjects(world, "table") == []
    assert len(subjects(world, "table", user="admin")) == 3


def test_of_who_did_it_the_name_is_for_those_who_may_see_users(world: World) -> None:
    world.grant("r", "open", "SELECT_TABLE")
    assert all("actor" not in event["data"] for event in told(world, types=("table",)))
    assert {event["data"]["actor"] for event in told(world, "admin", ("table",))} == {"admin"}


def test_a_new_object_of_an_old_name_does_not_show_what_the_old_one_did(world: World) -> None:
    path = Identifier(name("open:t"))
    change(world, tables.drop, path, by="admin")
    change(world, tables.create, path, by="admin")
    world.grant("r", "open:t", "SELECT_TABLE", kind=TABLE)
    assert subjects(world, "table") == [("table.created", "lake$open$t")]


def test_that_an_object_went_is_for_those_who_saw_all_around_it(world: World) -> None:
    world.grant("r", "open:u", "SELECT_TABLE", deny=True, kind=TABLE)
    for leaf in ("t", "u"):
        change(world, tables.drop, Identifier(name(f"open:{leaf}")), by="admin")
    assert subjects(world, "table") == []
    world.grant("r", "open", "SELECT_TABLE")
    # `u` was denied: that it was there is not told even now.
    assert subjects(world, "table") == [("table.dropped", "lake$open$t")]
    world.own("open", Owner("me"))
    assert ("table.dropped", "lake$open$u") in subjects(world, "table")


def test_a_new_namespace_of_an_old_name_does_not_show_what_was_in_the_old_one(world: World) -> None:
    change(world, nesting.drop, name("shut"), by="admin")
    change(world, namespaces.create, name("shut"), by="me")
    assert subjects(world, "table") == []
    assert subjects(world, "namespace")[-1] == ("namespace.created", "lake$shut")
    assert ("namespace.dropped", "lake$shut") not in subjects(world, "namespace")


def test_where_an_object_came_from_is_hidden_with_the_namespace(world: World) -> None:
    change(world, tables.rename, Identifier(name("shut:t")), Identifier(name("open:moved")), by="admin")
    change(world, tables.rename, Identifier(name("open:moved")), Identifier(name("open:again")), by="admin")
    world.grant("r", "open", "SELECT_TABLE")
    about = [event for event in told(world, types=("table",)) if event["subject"] not in ("lake$open$t", "lake$open$u")]
    assert [(event["subject"], event["data"].get("previous")) for event in about] == [
        ("lake$open$moved", None),
        ("lake$open$again", ["open", "moved"]),
    ]
    assert "shut" not in str(told(world))


def test_rights_and_people_are_for_those_who_manage_them(world: World) -> None:
    def work(connection: Connection) -> None:
        eve = users.create(connection, "eve", by="admin")
        assert eve is not None
        tokens.create(connection, eve, "lw_eve", "hash", by="eve", label=None, lifetime=None)
        groups.create(connection, "secret-group", by="admin")
        roles.create(connection, "m", "secret-role", by="admin")
        roles.give(connection, "m", "secret-role", "eve", by="admin")

    world.store.transact(work)
    world.grant("secret-role", "shut", "USE_SCHEMA")
    shown = str(told(world))
    assert not any(word in shown for word in ("eve", "secret", "shut"))
    assert {"users/eve", "roles/secret-role"} <= {event["subject"] for event in told(world, "eve")}
    assert ("role.given", "roles/r") in subjects(world, "role")  # to oneself
    everything = str(told(world, "admin"))
    assert all(word in everything for word in ("eve", "secret-group", "secret-role", "shut"))


def test_a_user_of_an_old_name_is_not_shown_what_its_namesake_did(world: World) -> None:
    def work(connection: Connection) -> None:
        eve = users.create(connection, "eve", by="admin")
        assert eve is not None
        jobs.record(connection, "compact", "m", CATALOG, ["open", "t"], {}, by="eve")
        users.remove(connection, eve, by="admin")
        users.create(connection, "eve", by="admin")

    world.store.transact(work)
    assert [type_ for type_, _ in subjects(world, "user", user="eve")] == ["user.created"]


def test_jobs_and_runs_are_ones_own(world: World) -> None:
    def work(connection: Connection) -> None:
        for user in ("me", "eve"):
            jobs.record(connection, "compact", "m", CATALOG, ["open", user], {}, by=user)
            pipeline = leases.ensure(connection, f"p-{user}").id
            runs.create(connection, pipeline, f"run-{user}", by=user, full=False, graph={})

    world.store.transact(work)
    mine = told(world, types=("job", "run"))
    assert [(event["type"], event["data"].get("object")) for event in mine] == [
        ("io.lanceway.job.queued", [CATALOG, "open", "me"]),
        ("io.lanceway.run.started", None),
    ]
    world.store.transact(users.create, "root", by="admin", admin=True)
    assert len(told(world, "root", ("job", "run"))) == 4


def test_without_access_control_the_tree_is_everybodys_and_people_are_not(world: World) -> None:
    world.store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    change(world, nesting.drop, name("shut"), by="admin")
    assert ("table.dropped", "lake$shut$t") in subjects(world)
    world.store.transact(users.create, "eve", by="admin")
    assert subjects(world, "user") == [("user.created", "users/me")]


def test_a_feed_of_hidden_things_is_passed_in_parts(world: World) -> None:
    world.grant("r", "open", "USE_SCHEMA")
    for number in range(320):
        change(world, tables.create, Identifier([*name("open"), f"x{number}"]), by="admin")
    world.grant("r", "open:x319", "SELECT_TABLE", kind=TABLE)
    actor, wanted = Actor(Caller("me"), "m"), FeedFilter.of("m", ("table",), None)
    first = feed.read_page(world.store, actor, wanted, None, 1000)
    assert (first.events, first.is_end) == ([], False)
    second = feed.read_page(world.store, actor, wanted, first.end, 1000)
    assert [row.name for row, _ in second.events] == ["x319"]
    assert second.is_end
