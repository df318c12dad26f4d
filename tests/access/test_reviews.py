"""Changing grants as a caller, and questions about them."""

from __future__ import annotations

import pytest

from lanceway.access import privileges
from lanceway.access.privileges import MANAGE_GRANTS, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from lanceway.access.rights import reviews
from lanceway.access.rights.reviews import WhatIf
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake import users
from lanceway.lake.access import grants, groups, roles
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import TABLE
from tests.access.rights_helpers import ME, World, make_world


@pytest.fixture
def world(store: LakeStore) -> World:
    return make_world(store, "m", ("A", "A:B", "X"), ("A:t", "A:B:t1", "A:B:t2"))


def test_only_who_may_manage_grants_changes_them(world: World) -> None:
    change = GrantChange("r", world.place("A"), SELECT_TABLE)
    with pytest.raises(PermissionDeniedError, match="MANAGE_GRANTS is missing"):
        world.store.transact(reviews.apply, ME, [change])
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "A", MANAGE_GRANTS)
    assert world.store.transact(reviews.apply, ME, [change, change]) == [True, False]
    above = GrantChange("r", world.place(""), SELECT_TABLE)
    with pytest.raises(PermissionDeniedError):
        world.store.transact(reviews.apply, ME, [GrantChange("r", world.place("A:B"), USE_SCHEMA), above])
    assert world.store.read(grants.on_place, world.place("A:B")) == [], "all or nothing"
    with pytest.raises(InvalidInputError, match="CREATE_CATALOG cannot be granted on a schema"):
        world.store.transact(reviews.apply, ME, [GrantChange("r", world.place("A"), "CREATE_CATALOG")])


def test_what_one_may_hand_on(world: World) -> None:
    assert world.store.read(reviews.grantable, ME, world.place("A")) == ()
    world.own("A", Owner("me"))
    world.grant("r", "", USE_CATALOG)
    names = [privilege.name for privilege in world.store.read(reviews.grantable, ME, world.place("A:t", TABLE))]
    assert names == [privilege.name for privilege in privileges.grantable(TABLE)]
    assert world.store.read(reviews.grantable, ME, world.place("")) == ()


def test_an_owner_gives_an_object_away(world: World) -> None:
    with pytest.raises(PermissionDeniedError):
        world.store.transact(reviews.change_owner, ME, world.place("A"), Owner("you"))
    world.own("A", Owner("me"))
    world.grant("r", "", USE_CATALOG)
    assert world.store.transact(reviews.change_owner, ME, world.place("A:t", TABLE), Owner("you")) == Owner("admin")


def test_who_can_do_what_here_and_what_a_user_can_do(world: World) -> None:
    world.store.transact(groups.create, "team", by="admin")
    world.store.transact(roles.give, "m", "r", "team", "group", by="boss")
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "A:B", USE_SCHEMA, deny=True)
    world.grant("r", "X", USE_SCHEMA)
    review = world.store.read(reviews.review_place, world.place("A:B"))
    assert [(grant.place, grant.privilege, grant.effect) for grant in review.grants] == [
        (world.place(""), USE_CATALOG, "allow"),
        (world.place("A:B"), USE_SCHEMA, "deny"),
    ]
    assert [(holder.kind, holder.name, holder.granted_by) for holder in review.holders] == [
        ("user", "me", "admin"),
        ("group", "team", "boss"),
    ]
    assert [str(place) for place, _ in review.owners] == [
        "the metalake m",
        "the catalog lake",
        "the schema A of the catalog lake",
        "the schema A.B of the catalog lake",
    ]
    mine = world.store.read(reviews.review_user, ME, "m")
    assert (mine.groups, mine.is_admin, len(mine.grants)) == ((), False, 3)
    other = world.store.read(reviews.review_user, Caller("you", ("team",)), "m")
    assert [(holder.kind, holder.role) for holder in other.roles] == [("group", "r")]
    assert world.store.read(reviews.held, ME, world.place("X")) == (USE_CATALOG, USE_SCHEMA)
    assert world.store.read(reviews.verdicts, ME, world.place("X"))["load schema"].allowed


def effects(world: World, change: GrantChange) -> list[tuple[str, int, int]]:
    found: WhatIf = world.store.read(reviews.what_if, change)
    assert found.count == len(found.effects)
    return [(effect.holder.name, effect.gained or 0, effect.lost or 0) for effect in found.effects]


def test_what_a_change_would_do(world: World) -> None:
    world.store.transact(roles.create, "m", "other", by="admin")
    world.store.transact(roles.give, "m", "other", "me", by="admin")
    world.store.transact(roles.give, "m", "r", "team", "group", by="admin")
    at_a, at_b = world.place("A"), world.place("A:B")
    assert effects(world, GrantChange("r", at_a, SELECT_TABLE)) == [("me", 5, 0), ("team", 5, 0)]
    world.grant("other", "A:B", SELECT_TABLE)
    # The user reads what is in A:B already, by another role; the group does not.
    assert effects(world, GrantChange("r", at_a, SELECT_TABLE)) == [("me", 2, 0), ("team", 5, 0)]
    world.grant("r", "A", SELECT_TABLE)
    assert effects(world, GrantChange("r", at_a, SELECT_TABLE, revoke=True)) == [("me", 0, 2), ("team", 0, 5)]
    assert effects(world, GrantChange("r", at_b, SELECT_TABLE, deny=True)) == [("me", 0, 3), ("team", 0, 3)]
    assert effects(world, GrantChange("r", world.place(None), SELECT_TABLE)) == [("me", 2, 0), ("team", 2, 0)]
    assert effects(world, GrantChange("r", world.place(""), SELECT_TABLE, deny=True)) == [("me", 0, 5), ("team", 0, 5)]
    assert world.store.read(grants.on_place, world.place("")) == [], "nothing was written"


def test_of_many_who_have_a_role_the_first_are_looked_at(world: World) -> None:
    for number in range(4):
        world.store.transact(roles.give, "m", "r", f"user{number}", by="admin")
    found: WhatIf = world.store.read(reviews.what_if, GrantChange("r", world.place("A"), SELECT_TABLE), limit=2)
    assert ([effect.holder.name for effect in found.effects], found.count) == (["me", "user0"], 5)


def test_what_a_change_in_a_mounted_catalog_would_do_is_not_counted(world: World) -> None:
    place = Securable("m", "archive", Identifier(["A", "t"]), TABLE, mounted=True)
    for _ in range(2):  # a place without a row, and with one
        found: WhatIf = world.store.read(reviews.what_if, GrantChange("r", place, SELECT_TABLE))
        assert [(each.holder.name, each.gained, each.lost) for each in found.effects] == [("me", None, None)]
        assert found.count == 1
        world.store.transact(grants.apply, "m", [GrantChange("r", place, SELECT_TABLE)], by="admin")


def test_reviews_say_where_they_are_cut_off(world: World) -> None:
    world.store.transact(roles.create, "m", "s", by="admin")
    world.store.transact(roles.give, "m", "s", "team@acme", "group", by="admin")
    for role in ("r", "s"):
        world.grant(role, "A", SELECT_TABLE)
        world.grant(role, "", USE_CATALOG)
    for limit, truncated in ((1, True), (2, False)):
        place = world.store.read(reviews.review_place, world.place("A"), limit=limit)
        assert (len(place.grants), place.truncated) == (2 * limit, truncated)
        mine = world.store.read(reviews.review_user, ME, "m", limit=limit)
        assert (len(mine.grants), mine.truncated) == (limit, truncated)
    assert [(holder.role, holder.kind, holder.name) for holder in place.holders] == [
        ("r", "user", "me"),
        ("s", "group", "team@acme"),
    ]


def test_a_user_without_a_row_gets_one_with_its_first_role(world: World) -> None:
    assert world.store.read(users.find, "newcomer") is None
    world.store.transact(roles.give, "m", "r", "newcomer", by="admin")
    assert world.store.read(users.find, "newcomer") is not None
