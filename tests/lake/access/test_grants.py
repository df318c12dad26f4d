"""Grants, roles, groups and owners as rows: nothing outlives what it is about."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Connection, func, select

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier, parse
from lanceway.lake.access import facts, grants, groups, owners, roles, securables
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import MOST_CHANGES, GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable, ServiceObject
from lanceway.lake.store import schema
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import TABLE
from lanceway.lake.tree import catalogs, metalakes, namespaces, nesting, settings, tables
from tests.access.rights_helpers import World, make_world

SELECT = "SELECT_TABLE"


@pytest.fixture
def world(store: LakeStore) -> World:
    return make_world(store, "m", ("A", "A:B", "X"), ("A:B:t",))


def catalog(world: World) -> int:
    return world.store.read(catalogs.load, "m", "lake").id


def rows(world: World, table: str = "grants") -> int:
    def read(connection: Connection) -> int:
        return int(connection.execute(select(func.count()).select_from(schema.metadata.tables[table])).scalar_one())

    return world.store.read(read)


def where(world: World) -> list[str]:
    """Where the role has something granted."""
    return [str(grant.place) for grant in world.store.read(grants.of_role, "m", "r")]


def test_who_granted_what_and_when(world: World) -> None:
    world.grant("r", None, SELECT)
    world.grant("r", "A:B:t", SELECT, deny=True, kind=TABLE)
    first, second = world.store.read(grants.of_role, "m", "r")
    assert (first.place, first.effect, first.granted_by) == (world.place(None), "allow", "admin")
    assert (second.place, second.effect) == (world.place("A:B:t", TABLE), "deny")
    assert second.granted_at >= first.granted_at > 1_600_000_000_000
    assert world.store.read(grants.of_role, "m", "r", after=first.id, limit=5) == [second]


def test_a_batch_is_idempotent_and_whole(world: World) -> None:
    change = GrantChange("r", world.place("A"), SELECT)
    other = GrantChange("r", world.place("X"), SELECT)
    assert world.change(change, other, change) == [True, True, False]
    assert world.change(change) == [False]
    assert world.change(GrantChange("r", world.place("A"), SELECT, revoke=True)) == [True]
    assert world.change(GrantChange("r", world.place("A"), SELECT, revoke=True)) == [False]
    with pytest.raises(NamespaceNotFoundError):
        world.change(change, GrantChange("r", world.place("A:missing"), SELECT))
    with pytest.raises(TableNotFoundError):
        world.change(change, GrantChange("r", world.place("A:B:u", TABLE), SELECT))
    assert where(world) == ["the schema X of the catalog lake"], "nothing of a batch that failed"
    with pytest.raises(InvalidInputError, match="at most 100"):
        world.change(*[change] * (MOST_CHANGES + 1))


def test_one_of_two_that_expect_the_same_is_refused(world: World) -> None:
    change = GrantChange("r", world.place("A"), SELECT, expected=False)
    assert world.change(change) == [True]
    with pytest.raises(ConcurrentModificationError, match="was changed by others"):
        world.change(change)
    assert world.change(GrantChange("r", world.place("A"), SELECT, revoke=True, expected=True)) == [True]


def test_many_who_grant_the_same_at_once_make_one_row(world: World) -> None:
    places_ = [world.place(path) for path in ("A", "A:B", "X")]
    answers: list[int] = []

    def work(number: int) -> None:
        order = places_ if number % 2 else places_[::-1]
        answers.append(sum(world.change(*(GrantChange("r", place, SELECT) for place in order))))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(answers), len(answers), rows(world)) == (3, 6, 3)


def test_a_mistyped_role_or_user_is_refused_with_the_nearest(world: World) -> None:
    world.store.transact(roles.create, "m", "analysts", by="admin")
    with pytest.raises(
        InvalidInputError, match=r"There is no role 'analyst' in the metalake 'm'. Did you mean 'analysts'"
    ):
        world.grant("analyst", "A", SELECT)
    world.store.transact(groups.create, "engineers", by="admin")
    with pytest.raises(InvalidInputError, match="Did you mean 'engineers'"):
        world.store.transact(groups.add, "engineer", "me", by="admin")
    world.store.transact(roles.give, "m", "r", "someone", by="admin")
    with pytest.raises(InvalidInputError, match=r"There is no user 'somone'. Did you mean 'someone'"):
        world.store.transact(roles.take, "m", "r", "somone")


# -- nothing outlives what it is about -----------------------------------------------------------


def test_grants_go_with_their_objects(world: World) -> None:
    for path, kind in (("A:B:t", TABLE), ("A:B", "namespace"), ("A", "namespace"), ("", "namespace")):
        world.grant("r", path, SELECT, kind=kind)
    world.store.transact(tables.deregister, catalog(world), parse("A.B.t"))
    assert rows(world) == 3
    world.store.transact(tables.create, catalog(world), parse("A.B.t"), by="you")
    assert world.store.read(grants.on_place, world.place("A:B:t", TABLE)) == [], "a new table of the same name"
    world.store.transact(nesting.drop, catalog(world), parse("A"), by="me")
    assert where(world) == ["the catalog lake"]
    world.store.transact(catalogs.drop_tree, "m", "lake", by="me")
    assert rows(world) == 0


def test_grants_go_with_their_roles_and_metalakes(world: World) -> None:
    world.grant("r", None, SELECT)
    world.store.transact(roles.create, "m", "second", by="admin")
    world.grant("second", "A", SELECT)
    world.store.transact(roles.remove, "m", "r")
    assert (rows(world), rows(world, "user_roles")) == (1, 0)
    world.store.transact(catalogs.drop_tree, "m", "lake", by="me")
    world.store.transact(metalakes.drop, "m")
    assert (rows(world), rows(world, "roles")) == (0, 0)


def test_grants_follow_what_is_renamed_and_moved(world: World) -> None:
    world.grant("r", "A:B:t", SELECT, kind=TABLE)
    world.grant("r", "A:B", SELECT)
    world.store.transact(tables.rename, catalog(world), parse("A.B.t"), parse("X.u"), by="me")
    world.store.transact(nesting.rename, catalog(world), parse("A"), "a.new", by="me")
    found = [grant.place.path for grant in world.store.read(grants.of_role, "m", "r")]
    assert found == [("X", "u"), ("a.new", "B")]

    def copies(connection: Connection) -> set[tuple[int, str]]:
        g, o = schema.grants.c, schema.objects.c
        assert connection.execute(select(g.id).where(g.object_id == o.id, g.parent_id != o.parent_id)).all() == []
        return {(row.object_id, row.name) for row in connection.execute(select(g.object_id, g.name))}

    assert {name for _, name in world.store.read(copies)} == {"u", "B"}


def test_a_role_of_another_metalake_is_refused(world: World) -> None:
    make_world(world.store, "second", ("A",), role="theirs")
    change = GrantChange("theirs", world.place("A"), SELECT)
    with pytest.raises(InvalidInputError, match="is of another metalake"):
        world.store.transact(grants.apply, "second", [change], by="admin")


# -- owners and groups ---------------------------------------------------------------------------


def test_users_and_groups_of_one_name_are_told_apart(world: World) -> None:
    assert world.store.read(owners.find, world.place("A")) == Owner("admin")
    for place in (world.place(None), world.place(""), world.place("A"), world.place("A:B:t", TABLE)):
        world.store.transact(owners.change_owner, place, Owner("team", "group"), by="admin")
        assert world.store.read(owners.find, place) == Owner("team", "group")
    found = world.store.read(facts.load, Caller("team"), world.place("A"))
    assert not any(found.owns(way) for way in found.places)
    world.store.transact(namespaces.alter, catalog(world), parse("A"), by="me", owner="team")
    assert world.store.read(owners.find, world.place("A")) == Owner("team", "user")


def test_what_a_deleted_group_owned_is_not_for_the_next_of_its_name(world: World) -> None:
    world.store.transact(groups.create, "team", by="admin")
    world.store.transact(groups.add, "team", "me", by="admin")
    world.store.transact(roles.give, "m", "r", "team", "group", by="admin")
    world.own("A", Owner("team", "group"))
    assert world.store.read(groups.member_names, "team") == ["me"]
    world.store.transact(groups.remove, "team")
    assert world.store.read(owners.find, world.place("A")) == Owner("admin")
    assert (rows(world, "members"), rows(world, "group_roles")) == (0, 0)
    assert world.store.transact(groups.create, "team", by="admin") is not None
    assert world.store.transact(groups.create, "team", by="admin") is None


def test_groups_and_roles_are_listed_by_pages(world: World) -> None:
    for name in ("b", "a", "c"):
        world.store.transact(groups.create, name, by="admin")
        world.store.transact(roles.create, "m", name, by="admin")
    assert [group.name for group in world.store.read(groups.page, after="a", limit=1)] == ["b"]
    assert [role.name for role in world.store.read(roles.page, "m", limit=3)] == ["a", "b", "c"]


# -- mounted catalogs ----------------------------------------------------------------------------


def mounted(path: str, service: ServiceObject | None = None) -> Securable:
    return Securable("m", "aws", Identifier(path.split(":")), TABLE, mounted=True, service=service)


def held(world: World, place: Securable) -> list[str]:
    return [grant.privilege for grant in world.store.read(facts.load, Caller("me"), place).grants]


def test_grants_in_mounted_catalogs_lapse_with_the_services_object(world: World) -> None:
    first, second = ServiceObject("id-1", 1000), ServiceObject("id-2", 2000)
    world.change(GrantChange("r", mounted("db:t", first), SELECT))
    world.change(GrantChange("r", Securable("m", "aws", mounted=True), "USE_CATALOG"))
    assert held(world, mounted("db:t", first)) == ["USE_CATALOG", SELECT]
    assert held(world, mounted("db:t")) == ["USE_CATALOG", SELECT], "the service was not asked"
    assert held(world, mounted("db:t", second)) == ["USE_CATALOG"], "made again under the same name"
    assert held(world, mounted("db:t", ServiceObject(made_at=5))) == ["USE_CATALOG"]
    assert held(world, mounted("db:u", first)) == ["USE_CATALOG"]
    world.change(GrantChange("r", mounted("db:t", second), "MODIFY_TABLE"))
    assert held(world, mounted("db:t", second)) == ["USE_CATALOG", "MODIFY_TABLE"]
    lapsed = world.store.read(grants.dangling, "m")
    assert [(grant.privilege, grant.place.path, grant.dangling) for grant in lapsed] == [(SELECT, ("db", "t"), True)]
    assert world.store.transact(securables.lapse, mounted("db:t"))
    assert held(world, mounted("db:t", second)) == ["USE_CATALOG"]
    assert len(world.store.read(grants.dangling, "m")) == 2
    world.change(GrantChange("r", mounted("db:t"), SELECT))
    assert world.store.transact(grants.purge_dangling, "another") == 0
    assert world.store.transact(grants.purge_dangling, "m") == 2
    assert world.store.read(grants.dangling, "m") == []
    assert held(world, mounted("db:t")) == ["USE_CATALOG", SELECT]
    assert world.store.transact(grants.purge_dangling, "m") == 0


# -- the switch ----------------------------------------------------------------------------------


def test_access_control_is_on_in_a_new_database(store: LakeStore) -> None:
    assert store.read(settings.load)[settings.ACCESS_CONTROL] == settings.ON
