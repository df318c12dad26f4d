"""Decisions: every set of rights that is said to be enough is, nothing less is, and each answer has its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanceway.access import decisions, lists, operations, privileges, rules
from lanceway.access.decisions import ADMINISTRATOR, DENIED, DISABLED, GRANTED, LACKING, OFF, OWNED, judge_enabled
from lanceway.access.privileges import PRIVILEGES, USE_CATALOG, USE_SCHEMA
from lanceway.access.rules import MISSING, OWNER, PRIVILEGE, RULES, UNDENIED, Need, Rule
from lanceway.catalogs.contract.hooks import OPERATIONS
from lanceway.catalogs.contract.jobs import AUTO_REFRESH, BACKFILL, REFRESH
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.lake import users
from lanceway.lake.access import facts, groups, roles
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW
from lanceway.lake.tree import catalogs, settings, tables
from tests.access.rights_helpers import ME, World, make_world, name


def world_of(store: LakeStore) -> World:
    world = make_world(store, "m", ("A", "A:B"), ("A:B:t",))
    catalog = store.read(catalogs.load, "m", "lake").id
    store.transact(tables.create, catalog, name("A:B:v"), by="admin", kind=VIEW)
    return world


def target(rule: Rule) -> tuple[str | None, str]:
    """What a rule is asked of: the deepest place that its sets know."""
    levels = {need.name for needs in rule.sufficient for need in needs if need.kind == OWNER}
    if VIEW in levels or TABLE in levels:
        return ("A:B:v", VIEW) if VIEW in levels else ("A:B:t", TABLE)
    if "schema" in levels:
        return "A:B:missing" if _bootstraps(rule) else "A:B", NAMESPACE
    return ("" if "catalog" in levels else None), NAMESPACE


def _bootstraps(rule: Rule) -> bool:
    return any(need.kind == MISSING for needs in rule.sufficient for need in needs)


OWNED_PLACES = {
    "metalake": (None, NAMESPACE),
    "catalog": ("", NAMESPACE),
    "schema": ("A", NAMESPACE),
    TABLE: ("A:B:t", TABLE),
    VIEW: ("A:B:v", VIEW),
}


def have(world: World, needs: tuple[Need, ...], *, back: bool = False) -> None:
    """Give the caller some rights, each on the highest place where it can be granted, or take them back."""
    for need in needs:
        if need.kind == OWNER:
            path, kind = OWNED_PLACES[need.name]
            world.own(path, Owner("admin" if back else ME.user), kind)
        elif need.kind == PRIVILEGE:
            world.change(GrantChange("r", world.place(None), need.name, revoke=back))


def is_enough(rule: Rule, needs: frozenset[Need]) -> bool:
    given = needs | {Need(MISSING), Need(UNDENIED, "CREATE_SCHEMA")}
    return any(set(sufficient) <= given for sufficient in rule.sufficient)


def test_each_set_is_enough_and_nothing_less_is(store: LakeStore) -> None:
    world = world_of(store)
    for rule in RULES:
        path, kind = target(rule)
        for needs in rule.sufficient:
            have(world, needs)
            assert world.may(rule.name, path, kind), (rule.name, needs)
            have(world, needs, back=True)
            for left_out in needs:
                less = tuple(need for need in needs if need != left_out)
                if left_out.kind in (OWNER, PRIVILEGE) and not is_enough(rule, frozenset(less)):
                    have(world, less)
                    assert not world.may(rule.name, path, kind), (rule.name, less)
                    have(world, less, back=True)


def test_other_privileges_are_not_enough(store: LakeStore) -> None:
    world = world_of(store)
    for rule in RULES:
        others = [p.name for p in PRIVILEGES if p.name not in rule.privileges - {USE_CATALOG, USE_SCHEMA}]
        needs = tuple(Need(PRIVILEGE, each) for each in others)
        if is_enough(rule, frozenset(needs)):
            continue
        have(world, needs)
        assert not world.may(rule.name, *target(rule)), rule.name
        have(world, needs, back=True)


def test_missing_parents_are_made_by_those_who_may_bootstrap(store: LakeStore) -> None:
    world = world_of(store)
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "", "BOOTSTRAP_SCHEMA")
    assert (world.create("A:N"), world.create("A:N1:N2"), world.create("N1:N2")) == ("403", "200", "200")
    world.grant("r", "A", "CREATE_SCHEMA", deny=True)
    assert (world.create("A:N1:N2"), world.create("N1:N2")) == ("403", "200")


# -- reasons -------------------------------------------------------------------------------------


def test_reasons(store: LakeStore) -> None:
    world = world_of(store)
    lacking = world.may("load schema", "A:B")
    assert (lacking.reason, lacking.allowed) == (LACKING, False)
    assert lacking.explain() == (
        "me may not see a schema and enter it (the schema A.B of the catalog lake): USE_CATALOG is missing; it can be "
        "granted on the catalog lake or the metalake m and USE_SCHEMA is missing; it can be granted on the schema A.B "
        "or the schema A or the catalog lake or the metalake m."
    )
    store.transact(groups.create, "team", by="admin")
    store.transact(groups.add, "team", "me", by="admin")
    store.transact(roles.create, "m", "reader", by="admin")
    store.transact(roles.give, "m", "reader", "team", "group", by="admin")
    world.grant("r", "", USE_CATALOG)
    world.grant("reader", "A", USE_SCHEMA)
    granted = world.may("load schema", "A:B")
    assert granted.reason == GRANTED
    assert granted.explain().endswith(
        ": USE_CATALOG is granted on the catalog to the role r and USE_SCHEMA is granted on the schema A to the role "
        "reader of the group team."
    )
    assert [each.grant.granted_by for each in granted.evidence if each.grant] == ["admin", "admin"]
    world.grant("r", "A:B", USE_SCHEMA, deny=True)
    denied = world.may("load schema", "A:B")
    assert denied.reason == DENIED
    assert denied.explain().endswith(": USE_SCHEMA is denied on the schema A.B to the role r.")
    with pytest.raises(PermissionDeniedError, match="USE_SCHEMA is denied"):
        denied.require()
    world.own("A", Owner("team", "group"))
    owned = world.may("load schema", "A:B")
    assert owned.reason == OWNED
    assert owned.explain().endswith("the group team owns the schema A.")


def test_the_reason_for_a_deep_object_names_the_nearest_places(store: LakeStore) -> None:
    world = make_world(store, "deep", ())
    world.grant("r", None, USE_CATALOG)
    reason = world.may("load schema", ":".join("a" * 500)).explain()
    assert reason.count("the schema a.a") == 9, "the one that is asked for, and eight that it can be granted on"
    assert reason.endswith("or the catalog lake or the metalake deep."), reason[-200:]


def test_administrators_disabled_users_and_the_switch(store: LakeStore) -> None:
    world = world_of(store)
    store.transact(users.create, "root", by="admin", admin=True)
    assert world.may("own table", "A:B:t", TABLE, Caller("root")).reason == ADMINISTRATOR
    found = store.read(facts.load, Caller("root"), world.place("A"))
    assert judge_enabled(replace(found, is_disabled=True), rules.BY_NAME["load schema"]).reason == DISABLED
    store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    assert world.may("own table", "A:B:t", TABLE).reason == OFF
    assert world.list("A") == ["A:B"]


def test_a_revoke_counts_at_once(store: LakeStore) -> None:
    world = world_of(store)
    world.grant("r", "", USE_CATALOG)
    assert world.may("use catalog")
    store.transact(roles.take, "m", "r", "me")
    assert not world.may("use catalog")


def test_what_is_owned_below_a_denial_is_found(store: LakeStore) -> None:
    world = make_world(store, "m", ("A", "A:B", "A:C", "A:B:mine"))
    world.grant("r", "", USE_CATALOG)
    world.grant("r", "A", USE_SCHEMA)
    world.grant("r", "A:B", USE_SCHEMA, deny=True)
    assert world.list("A") == ["A:C"]
    world.own("A:B:mine", Owner("me"))
    assert (world.list("A"), world.list("A:B"), world.load("A:B")) == (["A:B", "A:C"], ["A:B:mine"], "403")


def test_tables_are_listed_by_any_privilege_that_shows_them(store: LakeStore) -> None:
    world = make_world(store, "m", ("A",), ("A:t1", "A:t2", "A:t3", "A:t4"))
    for privilege in (USE_CATALOG, USE_SCHEMA):
        world.grant("r", "", privilege)
    world.grant("r", "A:t2", "MODIFY_TABLE", kind=TABLE)
    world.own("A:t3", Owner("claimed", "group"), TABLE)
    caller = Caller("me", ("claimed",))
    assert world.pages(lists.child_leaves, "A", caller, 1) == ["t2", "t3"]
    world.grant("r", "A", "SELECT_TABLE")
    world.grant("r", "A:t1", "SELECT_TABLE", deny=True, kind=TABLE)
    world.grant("r", "A:t2", "SELECT_TABLE", deny=True, kind=TABLE)
    assert world.pages(lists.child_leaves, "A", caller, 2) == ["t2", "t3", "t4"]


# -- the data ------------------------------------------------------------------------------------


def test_every_operation_says_what_it_needs() -> None:
    assert set(operations.OPERATIONS) == set(OPERATIONS)
    assert {BACKFILL, REFRESH, AUTO_REFRESH} <= set(operations.JOBS)
    unasked = {name for name, operation in operations.OPERATIONS.items() if not operation.demands}
    assert unasked == {"list_all_tables"}


def test_rules_know_the_privileges_and_where_they_are_granted() -> None:
    named = {need.name for rule in RULES for needs in rule.sufficient for need in needs if need.kind == PRIVILEGE}
    assert named == set(privileges.BY_NAME)
    assert all(privilege.levels and privilege.category in privileges.CATEGORIES for privilege in PRIVILEGES)


@pytest.mark.parametrize(("typed", "hint"), [("SELCT_TABLE", "SELECT_TABLE"), ("use schemas", "USE_SCHEMA")])
def test_a_mistyped_privilege_is_refused_with_the_nearest(typed: str, hint: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Did you mean {hint}"):
        privileges.find(typed)
    assert privileges.find("use schema").name == USE_SCHEMA
    with pytest.raises(InvalidInputError, match="CREATE_CATALOG cannot be granted on a table"):
        privileges.check_binding("CREATE_CATALOG", TABLE)


def test_a_decision_is_one_statement(store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(store)
    from sqlalchemy import event

    statements: list[str] = []

    def decide(connection: object) -> None:
        event.listen(connection, "before_cursor_execute", lambda *args: statements.append(args[2]))
        decisions.decide(connection, ME, "read table", world.place("A:B:t", TABLE))  # type: ignore[arg-type]

    store.read(decide)
    assert len(statements) == 1
