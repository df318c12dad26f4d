"""Objects as people write them: found, refused with the nearest one, and hidden from those who may not see them."""

from __future__ import annotations

import pytest

from lanceway.access.privileges import MANAGE_GRANTS, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from lanceway.access.rights import actions, grants, questions
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.grants import GrantList, WantedChange
from lanceway.access.rights.places import PlaceFinder, PlaceNotFoundError, WrittenPlace
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.lake import users
from lanceway.lake.access import securables
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import settings
from tests.access.rights_helpers import ME, World, make_world

PLACES = PlaceFinder("m", frozenset({"glue"}))
TRUSTED = Actor(Caller("root"), "m", trusted=True)
MYSELF = Actor(ME, "m")


@pytest.fixture
def world(store: LakeStore) -> World:
    return make_world(store, "m", ("A", "A:B", "X"), ("A:t", "A:B:orders", "X:hidden"))


def find(world: World, text: str, kind: str | None = None, actor: Actor = TRUSTED, delimiter: str = "$") -> Securable:
    return world.store.read(PLACES.find, actor, WrittenPlace(text, kind, delimiter))


def test_what_is_written_is_found(world: World) -> None:
    assert find(world, "metalake") == world.place(None)
    assert find(world, "lake") == world.place("")
    assert find(world, "lake$A$B") == world.place("A:B")
    assert find(world, "lake$A:B") == world.place("A:B"), "the lake's separator joins namespaces too"
    assert find(world, "lake$A$B$orders") == find(world, "lake/A/B/orders", "table", delimiter="/")
    assert find(world, "lake$A$t") == world.place("A:t", TABLE)
    assert PLACES.write(world.place("A:t", TABLE), ".") == {
        "object": "lake.A.t",
        "kind": "table",
        "names": ["lake", "A", "t"],
    }


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("lak", None, "Did you mean 'lake'"),
        ("lake$A$B$order", None, r"Did you mean 'orders'\? It is in lake\$A\$B"),
        ("lake$A$t", "schema", "is a table, and no schema"),
        ("lake$A", "tabel", "is not a kind of object"),
        ("glue$db$t", None, "is a mounted catalog"),
        ("", None, "Name an object"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(world: World, text: str, kind: str | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find(world, text, kind)


def test_mounted_catalogs(world: World) -> None:
    place = Securable("m", "glue", find(world, "glue$db$t", "table").path, TABLE, mounted=True)
    assert find(world, "glue") == Securable("m", "glue", mounted=True)
    world.store.transact(securables.ensure, place, by="root")
    assert find(world, "glue$db$t") == place, "its kind is known, once something is granted on it"
    assert find(world, "glue$db", "schema").kind == NAMESPACE
    assert world.store.read(questions.review_of, PLACES, find(world, "glue$db", "schema"))["grants"] == []


def test_what_is_hidden_looks_like_what_is_missing(world: World) -> None:
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "A", USE_SCHEMA)
    assert find(world, "lake$A", actor=MYSELF) == world.place("A")
    told = []
    for text in ("lake$X$hidden", "lake$X$missin"):
        for kind in (None, "table", "schema"):
            with pytest.raises(PlaceNotFoundError) as refused:
                find(world, text, kind, MYSELF)
            told.append(str(refused.value).replace(text, "…"))
        for action in ("read table", "query_table", "drop_namespace", "SELECT_TABLE", "create_table"):
            answer = why(world, action, f"{text}$new" if action == "create_table" else text)
            told.append(str(answer).replace(text, "…"))
        change = WantedChange("r", WrittenPlace(text), SELECT_TABLE)
        with pytest.raises(PlaceNotFoundError):
            grants.apply(world.store, MYSELF, PLACES, [change])
    half = len(told) // 2
    assert told[:half] == told[half:]


def why(world: World, action: str, text: str, user: str | None = None, actor: Actor = MYSELF) -> dict[str, object]:
    return questions.why(world.store, actor, PLACES, action, WrittenPlace(text), user)


def test_why_of_rules_operations_and_privileges(world: World) -> None:
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "A", USE_SCHEMA)
    world.grant("r", "A", SELECT_TABLE)
    for action in ("read table", "query_table", "SELECT_TABLE", "Select-Table"):
        answer = why(world, action, "lake$A$t")
        assert (answer["allowed"], answer["reason"]) == (True, "granted"), action
        assert "SELECT_TABLE is granted on the schema A to the role r" in str(answer["text"])
    refused = why(world, "insert_into_table", "lake$A$t")
    assert refused["allowed"] is False
    assert "MODIFY_TABLE is missing" in str(refused["text"])
    assert "CREATE_TABLE is missing" in str(why(world, "create_table", "lake$A$new")["text"])
    assert why(world, "list_tables", "lake")["demands"][0]["rule"] == "use catalog"  # type: ignore[index]
    assert why(world, "create_namespace", "other")["demands"][0]["rule"] == "create catalog"  # type: ignore[index]
    assert why(world, "refresh_materialized_view", "lake$A$t")["not_asked"] == [
        "read table: every table that it reads; where that is SQL, own catalog"
    ]
    with pytest.raises(InvalidInputError, match="Did you mean 'query_table'"):
        why(world, "qury_table", "lake$A$t")


def test_only_who_may_manage_roles_asks_about_others(world: World) -> None:
    world.store.transact(users.create, "you", by="root")
    with pytest.raises(PermissionDeniedError):
        why(world, "use catalog", "lake", "you")
    with pytest.raises(PermissionDeniedError):
        questions.user(world.store, MYSELF, PLACES, "you")
    world.grant("r", None, MANAGE_GRANTS)
    assert why(world, "use catalog", "lake", "you")["allowed"] is False
    assert questions.user(world.store, MYSELF, PLACES, "you")["grants"] == []
    with pytest.raises(InvalidInputError, match="Did you mean 'you'"):
        why(world, "use catalog", "lake", "yoo")


def test_while_access_control_is_off_the_answer_has_both(world: World) -> None:
    world.store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    answer = why(world, "read table", "lake$X$hidden")
    assert (answer["allowed"], answer["enabled"]) == (True, False)
    assert answer["if_enabled"]["allowed"] is False  # type: ignore[index]
    with pytest.raises(PermissionDeniedError):  # rights to administer are asked for all the same
        grants.apply(world.store, MYSELF, PLACES, [WantedChange("r", WrittenPlace("lake"), USE_CATALOG)])


def test_every_action_is_found_by_its_name() -> None:
    for action in actions.ACTIONS:
        assert actions.find(action.name) is action


def test_one_list_at_a_time() -> None:
    with pytest.raises(InvalidInputError, match="Say whose grants"):
        GrantList(role="r", dangling=True)
