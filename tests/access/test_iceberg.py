"""Iceberg tables and views under access control: who may do what, what lists show, and where files may be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lanceway.access.operations import ICEBERG, NEW_PARENT, PARENT, TARGET, Demand
from lanceway.access.privileges import (
    CREATE_TABLE,
    CREATE_VIEW,
    MODIFY_TABLE,
    SELECT_TABLE,
    SELECT_VIEW,
    USE_CATALOG,
    USE_SCHEMA,
)
from lanceway.access.records import feed
from lanceway.access.rights import questions
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder, PlaceNotFoundError, WrittenPlace
from lanceway.catalogs.contract.iceberg import IcebergCommit
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.lake import users
from lanceway.lake.access import owners
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable
from lanceway.lake.feed.reading import FeedFilter
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW
from lanceway.lake.tree import settings
from tests.access.iceberg_helpers import create_table, create_view, creation, new_table, new_view, set_properties
from tests.access.site_helpers import METALAKE, Site, make_site
from tests.access.sufficient_helpers import GivenRights, attempts, place
from tests.new_lakes import new_lake

ENTER = (USE_CATALOG, USE_SCHEMA)
A, B = ("lake", "A"), ("lake", "X")
T, V = (*A, "ice"), (*A, "totals")
MOUNTED = ("archive", "A")
VENDED = frozenset({"vended-credentials"})
CLAIM = {"version": 9_999, "manifest_path": "nowhere/1.manifest-x"}


@pytest.fixture
def site(store: LakeStore, tmp_path: Path) -> Iterator[Site]:
    """A site with an Iceberg table and a view beside the Lance tables t1 and t2 of the namespace A, and in X."""
    made = make_site(store, tmp_path)
    admin = made.guard("admin", admin=True)
    for space in (A, B):
        create_table(admin, *space, "ice")
        create_view(admin, *space, "totals")
    yield made
    made.tree.close()


# -- every sufficient set ------------------------------------------------------------------------

Call = Callable[[Any, tuple[str, ...]], Any]


@dataclass(frozen=True)
class Asked:
    """A call on an object. It need not succeed; one that removes the object needs a `fresh` one each time."""

    call: Call
    id: tuple[str, ...] = T
    fresh: bool = False


CALLS: Mapping[str, Asked] = {
    "list_iceberg_tables": Asked(lambda guard, id_: guard.list_iceberg_tables(id_), A),
    "load_iceberg_table": Asked(lambda guard, id_: guard.load_iceberg_table(id_)),
    "iceberg_table_exists": Asked(lambda guard, id_: guard.iceberg_table_exists(id_)),
    "create_iceberg_table": Asked(lambda guard, id_: guard.create_iceberg_table(id_, new_table())),
    "register_iceberg_table": Asked(lambda guard, id_: guard.register_iceberg_table(id_, "/none/x.metadata.json")),
    "commit_iceberg_table": Asked(lambda guard, id_: guard.commit_iceberg_tables([set_properties(*id_, a="1")])),
    "drop_iceberg_table": Asked(lambda guard, id_: guard.drop_iceberg_table(id_), fresh=True),
    "rename_iceberg_table": Asked(lambda guard, id_: guard.rename_iceberg_table(id_, (*B, "ice"))),
    "list_iceberg_views": Asked(lambda guard, id_: guard.list_iceberg_views(id_), A),
    "load_iceberg_view": Asked(lambda guard, id_: guard.load_iceberg_view(id_), V),
    "iceberg_view_exists": Asked(lambda guard, id_: guard.iceberg_view_exists(id_), V),
    "create_iceberg_view": Asked(lambda guard, id_: guard.create_iceberg_view(id_, new_view()), V),
    "register_iceberg_view": Asked(lambda guard, id_: guard.register_iceberg_view(id_, "/none/x.metadata.json"), V),
    "replace_iceberg_view": Asked(lambda guard, id_: guard.replace_iceberg_view(set_properties(*id_, a="1")), V),
    "drop_iceberg_view": Asked(lambda guard, id_: guard.drop_iceberg_view(id_), V, fresh=True),
    "rename_iceberg_view": Asked(lambda guard, id_: guard.rename_iceberg_view(id_, (*B, "totals")), V),
}


@dataclass(frozen=True)
class Given:
    """A site whose user `me` has exactly what a test gives it."""

    site: Site
    rights: GivenRights


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    folder = tmp_path_factory.mktemp("iceberg")
    store = open_store(new_lake(folder / "lake.db"))
    site = make_site(store, folder)
    admin = site.guard("admin", admin=True)
    for space in (A, B):
        create_table(admin, *space, "ice")
        create_view(admin, *space, "totals")
    yield Given(site, GivenRights(store, is_new=False))
    site.tree.close()


def asked_of(id_: tuple[str, ...], demand: Demand) -> Securable:
    if demand.of == TARGET:
        kinds = {"table": TABLE, "view": VIEW}
        return place(*id_, kind=kinds.get(demand.rule.name.split()[-1], NAMESPACE))
    return {PARENT: place(*id_[:-1]), NEW_PARENT: place(*B)}[demand.of]


def outcome(asked: Asked, guard: Any, id_: tuple[str, ...]) -> LanceNamespaceError | None:
    try:
        asked.call(guard, id_)
    except LanceNamespaceError as error:
        return error
    return None


def test_every_operation_is_asked_for() -> None:
    assert set(CALLS) == set(ICEBERG) - {"overwrite_iceberg_table"}  # which has a test of its own


@pytest.mark.parametrize("operation", sorted(CALLS))
def test_every_sufficient_set_is_enough_and_no_less_is(given: Given, operation: str) -> None:
    asked, guard, admin = CALLS[operation], given.site.guard(), given.site.guard("admin", admin=True)
    for demand in ICEBERG[operation].demands:
        for number, needs in enumerate(demand.rule.sufficient):
            id_ = asked.id
            if asked.fresh:
                id_ = (*A, f"{operation}{number}")
                (create_view if operation.endswith("view") else create_table)(admin, *id_)
            for attempt in attempts(ICEBERG[operation].demands, partial(asked_of, id_), demand, needs):
                without = attempt.without
                given.rights.give(attempt.rights)
                error = outcome(asked, guard, id_)
                if asked.fresh and not without:
                    given.rights.forget(place(*id_, kind=VIEW if operation.endswith("view") else TABLE))
                said = f"{demand.rule.name} by {[str(need) for need in needs]}: {error!r}"
                if without:
                    assert isinstance(error, PermissionDeniedError), f"without {without}, {said}"
                else:
                    assert not isinstance(error, PermissionDeniedError), said


def test_who_has_nothing_is_refused_every_operation(given: Given) -> None:
    given.rights.give(())
    for operation, asked in CALLS.items():
        mounted = () if operation.startswith("rename") else ("archive", *asked.id[1:])  # to another catalog: never
        for id_ in filter(None, (asked.id, (*asked.id[:-1], "missing"), ("lake", "missing", "t"), mounted)):
            error = outcome(asked, given.site.guard(), id_)
            assert isinstance(error, PermissionDeniedError), f"{operation} {id_}: {error!r}"
            assert "me may not" in str(error)


# -- owners and events ---------------------------------------------------------------------------


def test_who_makes_a_table_or_a_view_owns_it(site: Site) -> None:
    guard = site.guard()
    site.grant(site.place(*A), *ENTER[1:], CREATE_TABLE, CREATE_VIEW)
    site.grant(site.place("lake"), USE_CATALOG)
    create_table(guard, *A, "mine")
    create_view(guard, *A, "my_view")
    staged = guard.create_iceberg_table((*A, "staged"), new_table(staged=True))
    guard.commit_iceberg_tables([creation(*A, "staged", location=staged.location)])
    for name, kind in (("mine", TABLE), ("my_view", VIEW), ("staged", TABLE)):
        assert site.store.read(owners.find, site.place(*A, name, kind=kind)).name == "me", name
    guard.rename_iceberg_table((*A, "mine"), (*A, "other"))
    guard.drop_iceberg_table((*A, "other"), purge=True)
    guard.drop_iceberg_view((*A, "my_view"))
    assert guard.list_iceberg_tables(A) == ["staged"]


def test_a_commit_needs_the_right_to_change_each_table(site: Site) -> None:
    guard = site.guard()
    site.grant(site.place("lake"), *ENTER)
    site.grant(site.table(*T), MODIFY_TABLE)
    guard.commit_iceberg_tables([set_properties(*T, a="1")])
    with pytest.raises(PermissionDeniedError, match="MODIFY_TABLE"):
        guard.commit_iceberg_tables([set_properties(*T, a="2"), set_properties(*B, "ice", a="2")])
    assert json.loads(guard.load_iceberg_table(T).metadata)["properties"]["a"] == "1"
    with pytest.raises(PermissionDeniedError, match="CREATE_TABLE"):
        guard.commit_iceberg_tables([creation(*A, "new")])


def test_a_commit_that_would_create_cannot_change_what_is_there(site: Site) -> None:
    """Who may make tables, and says that it makes one, gets a conflict where there is one, and changes nothing."""
    guard = site.guard()
    site.grant(site.place("lake"), *ENTER, CREATE_TABLE)
    sneaky = IcebergCommit(T, [{"type": "assert-create"}], set_properties(*T, a="1").updates)
    with pytest.raises(LanceNamespaceError) as raised:
        guard.commit_iceberg_tables([sneaky])
    assert not isinstance(raised.value, PermissionDeniedError)
    admin = site.guard("admin", admin=True)
    assert "a" not in json.loads(admin.load_iceberg_table(T).metadata)["properties"]


def test_to_register_over_a_table_one_must_own_it(site: Site, tmp_path: Path) -> None:
    guard, admin = site.guard(), site.guard("admin", admin=True)
    pointer = admin.load_iceberg_table(T).metadata_location
    site.grant(site.place("lake"), *ENTER, CREATE_TABLE, MODIFY_TABLE)
    with pytest.raises(PermissionDeniedError, match="owner"):
        guard.register_iceberg_table(T, pointer, overwrite=True)
    site.own(site.table(*T))
    assert guard.register_iceberg_table(T, pointer, overwrite=True).metadata_location == pointer


def test_no_one_is_told_of_another_table_by_its_metadata_file(site: Site) -> None:
    """Who may make tables cannot register the files of a table that is there: neither to read it nor to drop it."""
    guard, admin = site.guard(), site.guard("admin", admin=True)
    site.grant(site.place("lake"), USE_CATALOG)
    site.grant(site.place(*A), USE_SCHEMA, CREATE_TABLE, CREATE_VIEW)
    victim = admin.load_iceberg_table((*B, "ice"))
    # Whether there is such a file is not told either: it is not looked for.
    for pointer in (victim.metadata_location, f"{victim.location}/metadata/00009-none.metadata.json"):
        with pytest.raises(InvalidInputError, match="belongs to another table or view"):
            guard.register_iceberg_table((*A, "stolen"), pointer)
    with pytest.raises(InvalidInputError):
        guard.register_iceberg_view((*A, "stolen"), admin.load_iceberg_view((*B, "totals")).metadata_location)
    for location in (victim.location, f"{victim.location}/data", f"{victim.location}/metadata"):
        with pytest.raises(InvalidInputError):
            create_table(guard, *A, "stolen", location=location)
        with pytest.raises(InvalidInputError):
            create_view(guard, *A, "stolen", location=location)
        with pytest.raises(InvalidInputError):
            guard.commit_iceberg_tables([creation(*A, "stolen", location=location)])
    assert guard.list_iceberg_tables(A) == []
    assert admin.load_iceberg_table((*B, "ice")) == victim


# -- what is hidden ------------------------------------------------------------------------------


def said(call: Callable[[], object]) -> str:
    try:
        return f"answers {call()!r}"
    except LanceNamespaceError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("granted", [(), ENTER, (*ENTER, SELECT_TABLE), (*ENTER, SELECT_VIEW)], ids=repr)
def test_what_is_hidden_and_what_is_missing_answer_alike(site: Site, granted: tuple[str, ...]) -> None:
    """The name of a table where a view is asked for, and the other way, is the name of nothing."""
    if granted:
        site.grant(site.place("lake"), *granted)
    guard = site.guard()

    def answers(name: str, kind: str) -> list[str]:
        id_ = (*A, name)
        calls: Mapping[str, list[Callable[[], object]]] = {
            TABLE: [
                lambda: guard.load_iceberg_table(id_),
                lambda: guard.iceberg_table_exists(id_),
                lambda: guard.commit_iceberg_tables([set_properties(*id_, a="1")]),
                lambda: guard.rename_iceberg_table(id_, (*A, "new")),
                lambda: guard.drop_iceberg_table(id_),
            ],
            VIEW: [
                lambda: guard.load_iceberg_view(id_),
                lambda: guard.iceberg_view_exists(id_),
                lambda: guard.replace_iceberg_view(set_properties(*id_, a="1")),
                lambda: guard.rename_iceberg_view(id_, (*A, "new")),
                lambda: guard.drop_iceberg_view(id_),
            ],
        }
        return [re.sub(rf"\b{name}\b", "…", said(call)) for call in calls[kind]]

    hidden = {TABLE: ["totals", "B"], VIEW: ["t1", "ice", "B"]}
    if SELECT_TABLE not in granted:
        hidden[TABLE] += ["ice", "t1"]
    if SELECT_VIEW not in granted:
        hidden[VIEW] += ["totals"]
    for kind, names in hidden.items():
        missing = answers("zz", kind)
        for name in names:
            assert answers(name, kind) == missing, f"{kind} {name}"


def test_lance_clients_are_told_of_views_that_they_may_see(site: Site) -> None:
    """Of a view that is hidden, a Lance client learns no more than of a name that nothing has."""
    site.grant(site.place("lake"), *ENTER, SELECT_TABLE, MODIFY_TABLE, CREATE_TABLE)
    guard = site.guard()

    def answers(name: str) -> list[str]:
        id_ = [*A, name]
        calls: list[Callable[[], object]] = [
            lambda: guard.describe_table({"id": id_}),
            lambda: guard.count_table_rows({"id": id_}),
            lambda: guard.batch_commit_tables({"operations": [{"create_table_version": {"id": id_, **CLAIM}}]}),
            lambda: guard.alter_table_properties(id_, {"a": "b"}),
            lambda: guard.object_details(id_, is_namespace=False),
            lambda: guard.clone_table(id_, [*A, "clone"]),
        ]
        return [re.sub(rf"\b{name}\b", "…", said(call)) for call in calls]

    assert answers("totals") == answers("zz")
    site.grant(site.place(*V, kind=VIEW), SELECT_VIEW)
    assert "is a view of Iceberg" in answers("totals")[0]
    assert "is an Iceberg table" in answers("ice")[0]


def test_below_a_denial_one_is_told_so(site: Site) -> None:
    site.grant(site.place("lake"), *ENTER, SELECT_TABLE, MODIFY_TABLE, SELECT_VIEW)
    site.grant(site.table(*T), SELECT_TABLE, MODIFY_TABLE, deny=True)
    site.grant(site.place(*V, kind=VIEW), SELECT_VIEW, deny=True)
    guard = site.guard()
    with pytest.raises(PermissionDeniedError, match="is denied on the table ice to the role r"):
        guard.load_iceberg_table(T)
    with pytest.raises(PermissionDeniedError, match="SELECT_VIEW is denied on the view totals to the role r"):
        guard.load_iceberg_view(V)
    assert guard.list_iceberg_tables(A) == ["t1", "t2"]
    assert guard.list_iceberg_views(A) == []


# -- lists ---------------------------------------------------------------------------------------


def pages(list_: Callable[..., Any], id_: tuple[str, ...], size: int) -> list[str]:
    """All pages of a list, of which only the last may be short."""
    names: list[str] = []
    while True:
        page = list_(id_, after=names[-1] if names else None, limit=size)
        names += page
        if len(page) < size:
            return names


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lists_show_both_worlds_in_one_order(site: Site, size: int) -> None:
    admin, guard = site.guard("admin", admin=True), site.guard()
    for name in ("s", "t11", "t3"):
        create_table(admin, *A, name)
    every = ["ice", "s", "t1", "t11", "t2", "t3"]
    assert pages(admin.list_iceberg_tables, A, size) == every
    site.grant(site.place("lake"), *ENTER)
    assert pages(guard.list_iceberg_tables, A, size) == []
    for name in ("s", "t2", "t3"):
        site.grant(site.table(*A, name), SELECT_TABLE)
    assert pages(guard.list_iceberg_tables, A, size) == ["s", "t2", "t3"]
    site.grant(site.place(*A), MODIFY_TABLE)
    for name in ("t1", "ice", "t3"):
        site.grant(site.table(*A, name), MODIFY_TABLE, deny=True)
    assert pages(guard.list_iceberg_tables, A, size) == ["s", "t11", "t2", "t3"]
    site.own(site.place(*A))
    assert pages(guard.list_iceberg_tables, A, size) == every
    assert guard.list_tables({"id": list(A)}).tables == ["t1", "t2"]  # Lance clients see Lance tables alone


def test_lists_of_views_show_those_that_one_may_read(site: Site) -> None:
    admin, guard = site.guard("admin", admin=True), site.guard()
    create_view(admin, *A, "other")
    site.grant(site.place("lake"), *ENTER, SELECT_TABLE)
    assert guard.list_iceberg_views(A) == []
    site.grant(site.place(*A, "other", kind=VIEW), SELECT_VIEW)
    assert guard.list_iceberg_views(A) == ["other"]
    site.grant(site.place(*A), SELECT_VIEW)
    assert pages(guard.list_iceberg_views, A, 1) == ["other", "totals"]
    site.revoke(site.place("lake"), USE_SCHEMA)
    with pytest.raises(PermissionDeniedError):
        guard.list_iceberg_views(A)


# -- mounted catalogs ----------------------------------------------------------------------------


def test_lance_tables_of_a_mounted_catalog_are_companions(site: Site) -> None:
    guard = site.guard()
    site.grant(site.place("archive"), *ENTER)
    assert guard.list_iceberg_tables(MOUNTED) == []
    site.grant(site.table(*MOUNTED, "t1"), SELECT_TABLE)
    assert guard.list_iceberg_tables(MOUNTED) == ["t1"]
    loaded = guard.load_iceberg_table((*MOUNTED, "t1"))
    assert loaded.is_companion
    assert json.loads(loaded.metadata)["properties"]["table_type"] == "lance"
    with pytest.raises(PermissionDeniedError):
        guard.load_iceberg_table((*MOUNTED, "t2"))
    with pytest.raises(PermissionDeniedError, match="MODIFY_TABLE"):
        guard.commit_iceberg_tables([set_properties(*MOUNTED, "t1", a="1")])
    site.grant(site.place("archive"), MODIFY_TABLE, CREATE_TABLE, CREATE_VIEW)
    with pytest.raises(UnsupportedOperationError, match="Lance tables alone"):
        guard.commit_iceberg_tables([set_properties(*MOUNTED, "t1", a="1")])
    with pytest.raises(UnsupportedOperationError, match="Lance tables alone"):
        create_table(guard, *MOUNTED, "ice")
    with pytest.raises(UnsupportedOperationError, match="Lance tables alone"):
        create_view(guard, *MOUNTED, "view")


def test_who_makes_a_lance_table_in_a_mounted_catalog_owns_it(site: Site) -> None:
    guard = site.guard()
    site.grant(site.place("archive"), *ENTER, CREATE_TABLE)
    created = create_table(guard, *MOUNTED, "mine", properties={"table_type": "lance"})
    assert created.is_companion
    assert guard.list_iceberg_tables(MOUNTED) == ["mine"]
    with pytest.raises(PermissionDeniedError):
        guard.drop_iceberg_table((*MOUNTED, "t1"))
    guard.drop_iceberg_table((*MOUNTED, "mine"), purge=True)
    assert guard.list_iceberg_tables(MOUNTED) == []
    site.guard("admin", admin=True).declare_table({"id": [*MOUNTED, "mine"]})  # by another: not the earlier one's
    with pytest.raises(PermissionDeniedError):
        guard.load_iceberg_table((*MOUNTED, "mine"))


# -- without rights of others --------------------------------------------------------------------


def test_one_name_is_one_thing(site: Site) -> None:
    admin = site.guard("admin", admin=True)
    for make in (create_table, create_view):
        for name in ("t1", "ice", "totals", "B"):
            with pytest.raises(TableAlreadyExistsError):
                make(admin, *A, name)
    for name in ("ice", "totals"):
        with pytest.raises(TableAlreadyExistsError):
            admin.declare_table({"id": [*A, name]})
    with pytest.raises(TableAlreadyExistsError):
        admin.rename_iceberg_table(T, V)
    with pytest.raises(InvalidInputError, match="one catalog"):
        admin.rename_iceberg_table(T, (*MOUNTED, "ice"))
    with pytest.raises(InvalidInputError, match="one catalog"):
        admin.commit_iceberg_tables([set_properties(*T, a="1"), set_properties(*MOUNTED, "t1", a="1")])


def test_without_access_control_everyone_may_do_everything(site: Site) -> None:
    site.store.transact(settings.store, {settings.ACCESS_CONTROL: "off"})
    guard = site.guard()
    create_table(guard, *A, "new")
    assert guard.list_iceberg_tables(A) == ["ice", "new", "t1", "t2"]
    assert pages(guard.list_iceberg_views, A, 1) == ["totals"]
    for operation, asked in CALLS.items():
        if not operation.startswith(("register", "drop")):
            assert not isinstance(outcome(asked, guard, asked.id), PermissionDeniedError), operation
    guard.drop_iceberg_table((*A, "new"), purge=True)
    with pytest.raises(TableNotFoundError):
        guard.load_iceberg_table((*A, "new"))


# -- the feed, and objects by name ---------------------------------------------------------------


def events(site: Site, user: str) -> list[tuple[str, str]]:
    """The types and subjects of the events about Iceberg tables and views that a user is shown."""
    found: list[tuple[str, str]] = []
    after = None
    while True:
        page = feed.read_page(site.store, Actor(Caller(user), METALAKE), FeedFilter.of(METALAKE, (), None), after, 50)
        found += [(row.type, "$".join(row.names)) for row, _ in page.events if row.kind in ("iceberg_table", "view")]
        after = page.end
        if page.is_end:
            return found


def test_changes_leave_events_for_those_who_may_see_what_was_changed(site: Site) -> None:
    site.store.transact(settings.store, {settings.ACCESS_CONTROL: settings.ON})
    site.store.transact(users.create, "admin", by="admin", admin=True)
    admin = site.guard("admin", admin=True)
    site.grant(site.place("lake"), *ENTER)
    assert events(site, "me") == []
    admin.commit_iceberg_tables([set_properties(*T, a="1"), set_properties(*B, "ice", a="1")])
    admin.replace_iceberg_view(set_properties(*V, a="1"))
    site.grant(site.table(*T), SELECT_TABLE)
    table = [("table.created", "lake$A$ice"), ("table.altered", "lake$A$ice")]
    assert events(site, "me") == table
    site.grant(site.place(*V, kind=VIEW), SELECT_VIEW)
    view = [("view.created", "lake$A$totals"), ("view.altered", "lake$A$totals")]
    assert sorted(events(site, "me")) == sorted([*table, *view])
    admin.rename_iceberg_table(T, (*A, "renamed"))
    assert ("table.renamed", "lake$A$renamed") in events(site, "me")
    admin.drop_iceberg_view(V)
    admin.drop_iceberg_table((*A, "renamed"), purge=True)
    told = events(site, "admin")
    assert told[-2:] == [("view.dropped", "lake$A$totals"), ("table.dropped", "lake$A$renamed")]
    assert not {name for _, name in events(site, "me")} & {"lake$A$ice", "lake$A$renamed", "lake$A$totals"}


def test_iceberg_tables_and_views_are_objects_to_grant_on(site: Site) -> None:
    finder, trusted = PlaceFinder(METALAKE), Actor(Caller("root"), METALAKE, trusted=True)

    def find(text: str, kind: str | None = None) -> Securable:
        return site.store.read(finder.find, trusted, WrittenPlace(text, kind))

    assert find("lake$A$ice") == find("lake$A$ice", "table") == site.table(*T)
    assert find("lake$A$totals") == find("lake$A$totals", "view") == site.place(*V, kind=VIEW)
    with pytest.raises(PlaceNotFoundError, match="is a view, and no table"):
        find("lake$A$totals", "table")
    with pytest.raises(PlaceNotFoundError, match="is a table, and no view"):
        find("lake$A$ice", "view")
    site.grant(find("lake$A$ice"), SELECT_TABLE)
    site.grant(find("lake$A$totals"), SELECT_VIEW)
    answer = questions.why(site.store, trusted, finder, "load_iceberg_view", WrittenPlace("lake$A$totals"), "me")
    assert answer["allowed"] is False
    site.grant(site.place("lake"), *ENTER)
    answer = questions.why(site.store, trusted, finder, "load_iceberg_view", WrittenPlace("lake$A$totals"), "me")
    assert answer["allowed"] is True


def test_a_table_that_was_made_is_answered_even_if_it_is_gone_or_denied_since(site: Site) -> None:
    admin = site.guard("admin", admin=True)
    made = admin.create_iceberg_table((*A, "short"), new_table())
    staged = admin.create_iceberg_table((*A, "staged"), new_table(staged=True))
    admin.drop_iceberg_table((*A, "short"))
    other = site.guard("other")
    for guard, loaded, name, error in (
        (admin, made, "short", TableNotFoundError),
        (other, staged, "staged", LanceNamespaceError),
    ):
        assert guard.iceberg_storage((*A, name), loaded, delegation=VENDED, optional=True).config == {}
        with pytest.raises(error):
            guard.iceberg_storage((*A, name), loaded, delegation=VENDED)
