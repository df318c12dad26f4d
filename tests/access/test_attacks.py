"""Attempts to gain rights: at random, by any sequence of calls, and one by one those that come to mind."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from sqlalchemy import Connection

from lanceway.access import users
from lanceway.access.privileges import (
    CREATE_CATALOG,
    CREATE_ROLE,
    CREATE_SCHEMA,
    CREATE_TABLE,
    MANAGE_GRANTS,
    MANAGE_GROUPS,
    MANAGE_USERS,
    MODIFY_TABLE,
    PRIVILEGES,
    SELECT_TABLE,
    USE_CATALOG,
    USE_SCHEMA,
)
from lanceway.access.rights import grants as granting
from lanceway.access.rights import groups, owners, reviews, roles, switch
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.grants import WantedChange
from lanceway.access.rights.places import PlaceFinder, WrittenPlace
from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake import issuers
from lanceway.lake import users as lake_users
from lanceway.lake.access import groups as group_rows
from lanceway.lake.access import owners as owner_rows
from lanceway.lake.access import roles as role_rows
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store import backups
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import GROUP, USER
from lanceway.lake.tree import catalogs, metalakes, namespaces, nesting, tables
from tests.access.site_helpers import METALAKE, Site, make_site, rows
from tests.drilling import DrillProgress
from tests.new_lakes import new_lake

# -- by any sequence of calls --------------------------------------------------------------------

SPACES = (("A",), ("A", "in"), ("B",), ("B", "in"))
TABLES = (("A", "t"), ("B", "t"), ("B", "in", "t"))
# What the attacker may be given to begin with, and where.
DELEGATED = (
    (MANAGE_GRANTS, ("lake", "A")),
    (MANAGE_GRANTS, ("lake", "A", "t")),
    (MANAGE_GROUPS, ()),
    (MANAGE_USERS, ()),
    (CREATE_ROLE, ()),
    (CREATE_CATALOG, ()),
    (CREATE_TABLE, ("lake", "A")),
    (CREATE_TABLE, ("lake", "B")),
    (CREATE_SCHEMA, ("lake", "A")),
    (CREATE_SCHEMA, ("lake",)),
    (MODIFY_TABLE, ("lake", "A")),
    (USE_SCHEMA, ("lake",)),
    (SELECT_TABLE, ("lake",)),
)
USERS = ("me", "me@acme", "bob", "new", "root", "admin")
GROUPS = ("staff", "landlords", "blocked", "empty", "new")
ROLES = ("r", "power", "denied", "spare", "new")
OBJECTS = ("metalake", "lake", "lake$A", "lake$A$in", "lake$A$t", "lake$A$new", "lake$B", "lake$B$t", "new", "new$new")
NAMES = ("t", "in", "new")


@dataclass(frozen=True)
class Step:
    """A call of the attacker's."""

    call: str
    values: tuple[Any, ...]


def _step(call: str, *values: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(*values).map(lambda drawn: Step(call, drawn))


_user, _group, _role, _object = (st.sampled_from(each) for each in (USERS, GROUPS, ROLES, OBJECTS))
_name, _yes = st.sampled_from(NAMES), st.booleans()
_holder = st.one_of(st.tuples(_user, st.just(USER)), st.tuples(_group, st.just(GROUP)))
STEPS = st.one_of(
    _step("groups.create", _group),
    _step("groups.add", _group, st.sampled_from(("me", "me@acme"))),
    _step("groups.remove", _group, st.sampled_from(("me", "me@acme"))),
    _step("groups.delete", _group),
    _step("roles.create", _role),
    _step("roles.give", _role, _holder),
    _step("roles.take", _role, _holder),
    _step("roles.delete", _role),
    _step("users.create", _user, _yes),
    _step("users.delete", _user),
    _step("users.disable", _user),
    _step("users.enable", _user),
    _step("grant", _role, _object, st.sampled_from([each.name for each in PRIVILEGES]), _yes, _yes),
    _step("owners.change", _object, _holder),
    _step("switch", _yes),
    _step("create_namespace", _object, st.sampled_from(("create", "exist_ok", "overwrite"))),
    _step("declare_table", _object),
    _step("rename_table", _object, _object, _name),
    _step("drop_table", _object),
    _step("drop_namespace", _object, _yes),
    _step("alter_namespace", _object),
)


class Attack:
    """An attacker with some delegated rights in a new lake, and what it may do to everything in there."""

    def __init__(self, store: LakeStore, folder: Path, delegated: frozenset[tuple[str, tuple[str, ...]]], name: str):
        self.store, self.delegated = store, delegated
        self.caller = Caller(name, ("claimed",) if "@" in name else ())
        self.actor, self.places = Actor(self.caller, METALAKE), PlaceFinder(METALAKE)
        self.tree = FederatedCatalog({}, OwnLake(store, warehouse=str(folder / "warehouse")))
        store.transact(self._begin)
        self.before = self.allowed()

    def _begin(self, connection: Connection) -> None:
        metalakes.create(connection, METALAKE, by="admin")
        catalog = catalogs.create(connection, METALAKE, "lake", by="admin", nested=True, location="/w/lake").id
        for space in SPACES:
            namespaces.create(connection, catalog, Identifier(space), by="admin")
        for table in TABLES:
            tables.create(connection, catalog, Identifier(table), by="admin")
        issuers.register(connection, "acme", "https://acme.example")
        for user, admin in (("root", True), ("bob", False), (self.caller.user, False)):
            lake_users.create(connection, user, by="admin", admin=admin)
        for role in ("r", "power", "denied", "spare"):
            role_rows.create(connection, METALAKE, role, by="admin")
        for group in ("staff", "landlords", "blocked", "empty", "claimed"):
            group_rows.create(connection, group, by="admin")
        me = self.caller.user
        holders = [
            ("power", "staff", GROUP),
            ("power", "bob", USER),
            ("denied", "blocked", GROUP),
            ("denied", me, USER),
        ]
        holders.append(("r", "claimed", GROUP) if self.caller.groups else ("r", me, USER))
        for role, holder, kind in holders:
            role_rows.give(connection, METALAKE, role, holder, kind, by="admin")
        group_rows.add(connection, "blocked", me, by="admin")
        for names, owner in ((("lake", "B"), Owner("landlords", GROUP)), (("lake", "B", "t"), Owner("bob"))):
            owner_rows.change_owner(connection, self.place(*names), owner, by="admin")
        changes = [reviews.GrantChange("r", self.place("lake"), USE_CATALOG)]
        changes += [reviews.GrantChange("r", self.place(*names), privilege) for privilege, names in self.delegated]
        changes += [reviews.GrantChange("power", self.place(), each.name) for each in PRIVILEGES]
        changes += [reviews.GrantChange("denied", self.place("lake", "B"), SELECT_TABLE, deny=True)]
        reviews.grants.apply(connection, METALAKE, changes, by="admin")

    def place(self, *names: str) -> Securable:
        if not names:
            return Securable(METALAKE)
        path = names[1:]
        return Securable(METALAKE, names[0], Identifier(path), "table" if path in TABLES else "namespace")

    # -- what it does ----------------------------------------------------------------------------

    def guard(self) -> Any:
        return Site(self.store, self.tree).guard(self.caller.user, groups=self.caller.groups)

    def do(self, step: Step) -> bool:
        """Make a call, and return whether it was carried out."""
        call: Callable[..., None] = getattr(self, f"_{step.call.replace('.', '_')}")
        try:
            call(*step.values)
        except LanceNamespaceError:
            return False
        return True

    def _groups_create(self, name: str) -> None:
        groups.create(self.store, self.actor, name)

    def _groups_add(self, name: str, user: str) -> None:
        groups.add(self.store, self.actor, name, [user])

    def _groups_remove(self, name: str, user: str) -> None:
        groups.remove(self.store, self.actor, name, [user])

    def _groups_delete(self, name: str) -> None:
        groups.delete(self.store, self.actor, name)

    def _roles_create(self, name: str) -> None:
        roles.create(self.store, self.actor, name)

    def _roles_give(self, name: str, holder: tuple[str, str]) -> None:
        roles.give(self.store, self.actor, name, *holder)

    def _roles_take(self, name: str, holder: tuple[str, str]) -> None:
        roles.take(self.store, self.actor, name, *holder)

    def _roles_delete(self, name: str) -> None:
        roles.delete(self.store, self.actor, name)

    def _users_create(self, name: str, admin: bool) -> None:
        users.create(self.store, name, by=self.actor.name, admin=admin, actor=self.actor)

    def _users_delete(self, name: str) -> None:
        users.delete(self.store, name, actor=self.actor)

    def _users_disable(self, name: str) -> None:
        users.disable(self.store, name, by=self.actor.name, actor=self.actor)

    def _users_enable(self, name: str) -> None:
        users.enable(self.store, name, actor=self.actor)

    def _grant(self, role: str, object_: str, privilege: str, deny: bool, revoke: bool) -> None:
        change = WantedChange(role, WrittenPlace(object_), privilege, deny, revoke)
        granting.apply(self.store, self.actor, self.places, [change])

    def _owners_change(self, object_: str, holder: tuple[str, str]) -> None:
        owners.change(self.store, self.actor, self.places, WrittenPlace(object_), Owner(*holder))

    def _switch(self, off: bool) -> None:
        if off:
            switch.disable(self.store, self.actor)
        else:
            switch.enable(self.store, self.actor, self.places, confirm=True)

    def _create_namespace(self, object_: str, mode: str) -> None:
        self.guard().create_namespace({"id": object_.split("$"), "mode": mode})

    def _declare_table(self, object_: str) -> None:
        self.guard().declare_table({"id": object_.split("$")})

    def _rename_table(self, object_: str, into: str, name: str) -> None:
        id_, parent = object_.split("$"), into.split("$")
        self.guard().rename_table({"id": id_, "new_namespace_id": parent, "new_table_name": name})

    def _drop_table(self, object_: str) -> None:
        self.guard().drop_table({"id": object_.split("$")})

    def _drop_namespace(self, object_: str, cascade: bool) -> None:
        behavior = "cascade" if cascade else "restrict"
        self.guard().drop_namespace({"id": object_.split("$"), "behavior": behavior})

    def _alter_namespace(self, object_: str) -> None:
        self.guard().alter_namespace(object_.split("$"), {"note": "mine"})

    # -- what it may do --------------------------------------------------------------------------

    @property
    def protected(self) -> list[Securable]:
        """What was there before, but for that whose grants the attacker may change."""
        lent = [names for privilege, names in self.delegated if privilege == MANAGE_GRANTS]
        # To change grants on a table needs the way to it, which the delegation may hold or not.
        everything = [(), ("lake",), *(("lake", *path) for path in (*SPACES, *TABLES))]
        return [self.place(*each) for each in everything if not any(each[: len(names)] == names for names in lent)]

    def allowed(self) -> set[tuple[str, Securable]]:
        """Every rule that holds for something that is protected."""

        def work(connection: Connection) -> set[tuple[str, Securable]]:
            return {
                (rule, place)
                for place in self.protected
                for rule, verdict in reviews.verdicts(connection, self.caller, place).items()
                if verdict
            }

        return self.store.read(work)

    def check(self) -> None:
        assert self.allowed() <= self.before, "the attacker may do more than before"
        self.store.read(self._check)

    def _check(self, connection: Connection) -> None:
        assert not self.actor.is_admin(connection)
        assert switch.is_enabled(connection)
        root = lake_users.find(connection, "root")
        assert root is not None
        assert root.admin, "an admin was changed"
        assert not root.is_disabled
        admins = [user.name for user in lake_users.page(connection) if user.admin]
        assert admins == ["root"]
        for place in (self.place("lake", *path) for path in (*SPACES, *TABLES)):
            with suppress(NamespaceNotFoundError, TableNotFoundError):
                assert owner_rows.find(connection, place) != Owner(self.caller.user), f"{place} was not made by it"


ATTACKS = st.tuples(
    st.frozensets(st.sampled_from(DELEGATED), min_size=3),
    st.sampled_from(("me", "me@acme")),
    st.lists(STEPS, min_size=15, max_size=40),
)


def test_no_sequence_of_calls_gains_rights(tmp_path: Path, rounds: int, progress: DrillProgress) -> None:
    numbers = iter(range(10**9))

    def attack(drawn: tuple[Any, ...]) -> None:
        delegated, name, steps = drawn
        folder = tmp_path / str(next(numbers))
        store = open_store(new_lake(folder / "lake.db"), upgrade=False)
        try:
            attacker = Attack(store, folder, delegated, name)
            for step in steps:
                if attacker.do(step):
                    attacker.check()
            attacker.check()
            attacker.tree.close()
        finally:
            store.close()

    progress.explore(3 * rounds, ATTACKS, attack)


GAINS = {
    "a group with roles": Step("groups.add", ("staff", "me@acme")),
    "a group that owns something": Step("groups.add", ("landlords", "me@acme")),
    "a role": Step("roles.give", ("power", ("me@acme", USER))),
    "a grant": Step("grant", ("r", "lake$B", MODIFY_TABLE, False, False)),
    "an object": Step("owners.change", ("lake$B$t", ("me@acme", USER))),
    "all objects": Step("switch", (True,)),
    "an admin": Step("users.create", ("new", True)),
    "no denial any more": Step("users.delete", ("me@acme",)),
}


@pytest.mark.parametrize("gain", GAINS)
def test_what_is_gained_is_noticed(tmp_path: Path, gain: str) -> None:
    """Each of these would be a hole: nothing but a right that the attacker lacks keeps it from them."""
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    rights = frozenset(each for each in DELEGATED if each[0] in (USE_SCHEMA, SELECT_TABLE, MANAGE_GROUPS, MANAGE_USERS))
    attacker = Attack(store, tmp_path, rights, "me@acme")
    attacker.do(GAINS[gain])
    attacker.check()
    attacker.actor = Actor(attacker.caller, METALAKE, trusted=True)
    for left in (GAINS[gain], *([Step("groups.delete", ("blocked",))] if gain.startswith("no denial") else ())):
        attacker.do(left)
    attacker.actor = Actor(attacker.caller, METALAKE)
    with pytest.raises(AssertionError):
        attacker.check()
    attacker.tree.close()
    store.close()


# -- one by one ----------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LakeStore]:
    opened = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    yield opened
    opened.close()


@pytest.fixture
def site(store: LakeStore, tmp_path: Path) -> Iterator[Site]:
    made = make_site(store, tmp_path)
    yield made
    made.tree.close()


def actor(name: str = "me", *groups_: str) -> Actor:
    return Actor(Caller(name, groups_), METALAKE)


def make_group(site: Site, name: str, *, role: str | None = None) -> None:
    site.store.transact(group_rows.create, name, by="admin")
    if role is not None:
        site.store.transact(role_rows.give, METALAKE, role, name, GROUP, by="admin")


def test_who_manages_groups_does_not_gain_their_rights(site: Site) -> None:
    site.grant(site.place(), MANAGE_GROUPS)
    site.store.transact(role_rows.create, METALAKE, "power", by="admin")
    make_group(site, "staff", role="power")
    make_group(site, "landlords")
    make_group(site, "choir")
    site.store.transact(owner_rows.change_owner, site.place("lake", "A"), Owner("landlords", GROUP), by="admin")
    for group in ("staff", "landlords"):
        for change in (groups.add, groups.remove):
            with pytest.raises(PermissionDeniedError, match="give roles"):
                change(site.store, actor(), group, ["me"])
        with pytest.raises(PermissionDeniedError, match="give roles"):
            groups.delete(site.store, actor(), group)
    assert groups.add(site.store, actor(), "choir", ["me"]) == {"me": True}
    assert groups.remove(site.store, actor(), "choir", ["me"]) == {"me": True}
    groups.delete(site.store, actor(), "choir")
    site.grant(site.place(), MANAGE_GRANTS)
    assert groups.add(site.store, actor(), "staff", ["me"]) == {"me": True}


def test_a_group_that_owns_without_a_row_is_not_joined_by_making_it(site: Site) -> None:
    """As a group that only an issuer knows may own something from before it was given a row."""
    site.grant(site.place(), MANAGE_GROUPS)
    site.store.transact(owner_rows.change_owner, site.place("lake", "A"), Owner("issuers", GROUP), by="admin")
    groups.create(site.store, actor(), "issuers")
    with pytest.raises(PermissionDeniedError):
        groups.add(site.store, actor(), "issuers", ["me"])


def test_who_manages_users_sheds_no_denial(site: Site) -> None:
    """A user of an issuer is let in again without its row, and would be without what its roles are denied."""
    site.store.transact(issuers.register, "acme", "https://acme.example")
    site.store.transact(role_rows.create, METALAKE, "denied", by="admin")
    make_group(site, "claimed", role="r")
    site.store.transact(role_rows.give, METALAKE, "denied", "me@acme", by="admin")
    site.grant(site.place(), MANAGE_USERS, USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.table("lake", "A", "t1"), SELECT_TABLE, deny=True, role="denied")
    with pytest.raises(PermissionDeniedError, match="give roles"):
        users.delete(site.store, "me@acme", actor=actor("me@acme", "claimed"))
    with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is denied"):
        site.guard("me@acme", groups=("claimed",)).count_table_rows({"id": ["lake", "A", "t1"]})


def test_who_manages_users_makes_and_changes_no_admin(site: Site) -> None:
    site.grant(site.place(), MANAGE_USERS)
    site.store.transact(lake_users.create, "root", by="admin", admin=True)
    for name, admin in (("new", True), ("admin", False)):
        with pytest.raises(PermissionDeniedError):
            users.create(site.store, name, by="me", admin=admin, actor=actor())
    for change in (users.delete, users.enable):
        with pytest.raises(PermissionDeniedError):
            change(site.store, "root", actor=actor())
    with pytest.raises(PermissionDeniedError):
        users.disable(site.store, "root", by="me", actor=actor())


def test_a_user_who_is_deleted_and_made_again_has_nothing_of_before(site: Site) -> None:
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.own(site.place("lake", "X"))
    make_group(site, "team", role="r")
    site.store.transact(group_rows.add, "team", "me", by="admin")
    assert site.guard().count_table_rows({"id": ["lake", "A", "t1"]}).count == 2
    users.delete(site.store, "me")
    users.create(site.store, "me", by="admin")
    assert site.store.read(group_rows.of_user, "me") == []
    assert site.store.read(owner_rows.find, site.place("lake", "X")) == Owner("admin")
    for names in (["lake", "A", "t1"], ["lake", "X", "t"]):
        with pytest.raises(PermissionDeniedError):
            site.guard().count_table_rows({"id": names})


def test_a_group_that_is_deleted_and_made_again_has_nothing_of_before(site: Site) -> None:
    """Also for an issuer that gives its group another name, and another group the name."""
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA)
    site.grant(site.place("lake", "A"), SELECT_TABLE)
    make_group(site, "team", role="r")
    site.store.transact(owner_rows.change_owner, site.place("lake", "X"), Owner("team", GROUP), by="admin")
    ada = site.guard("ada@acme", groups=("team",))
    assert ada.count_table_rows({"id": ["lake", "A", "t1"]}).count == 2
    with pytest.raises(PermissionDeniedError):
        site.guard("ada@acme", groups=("team 2",)).count_table_rows({"id": ["lake", "A", "t1"]})
    site.store.transact(group_rows.remove, "team")
    make_group(site, "team")
    for names in (["lake", "A", "t1"], ["lake", "X", "t"]):
        with pytest.raises(PermissionDeniedError):
            ada.count_table_rows({"id": names})


@pytest.mark.parametrize(
    "name", ["SELECT_TABLE", "admin", "manage roles", "metalake", "lanceway", "*", "%", "r$r", "r.r"]
)
def test_the_name_of_a_role_or_a_group_means_nothing(site: Site, name: str) -> None:
    site.grant(site.place(), CREATE_ROLE, MANAGE_GROUPS)
    roles.create(site.store, actor(), name)
    groups.create(site.store, actor(), name)
    groups.add(site.store, actor(), name, ["me"])
    with pytest.raises(PermissionDeniedError):
        roles.give(site.store, actor(), name, "me", USER)
    with pytest.raises(PermissionDeniedError):
        site.guard().count_table_rows({"id": ["lake", "A", "t1"]})
    assert not site.store.read(actor().is_admin)


SPELLINGS = (
    ["A:B", "t"],
    ["A.B", "t"],
    ["A$B", "t"],
    ["A%2EB", "t"],
    ["A%", "t1"],
    ["a", "t1"],
    ["A ", "t1"],
    [" A", "t1"],
    ["A\u200b", "t1"],
    ["\uff21", "t1"],  # a wide A
    ["A", "T1"],
    ["A", "t1 "],
    ["A", "t1\u00ad"],
    ["A", "t_"],
    ["A", "%"],
    ["A", "B", "..", "t1"],
    [".", "A", "t1"],
)


@pytest.mark.parametrize("catalog", ["lake", "archive"])
def test_no_spelling_goes_round_a_denial(site: Site, catalog: str) -> None:
    """Everything is granted but `A`: whatever another spelling names, it is nothing in `A`."""
    site.grant(site.place(), USE_CATALOG, USE_SCHEMA, SELECT_TABLE, MODIFY_TABLE)
    site.grant(site.place(catalog, "A"), USE_SCHEMA, deny=True)
    refusals = (PermissionDeniedError, NamespaceNotFoundError, TableNotFoundError, InvalidInputError)
    me = site.guard()
    for names in (["A", "t1"], *SPELLINGS):
        id_ = [catalog, *names]
        for operation in ("count_table_rows", "describe_table", "list_table_versions", "table_exists"):
            with pytest.raises(refusals):
                getattr(me, operation)({"id": id_})
        assert me.try_fast("describe_table", id_, {"id": id_}) is None
    assert me.count_table_rows({"id": [catalog, "X", "t"]}).count == 2


def test_both_forms_of_a_letter_are_one_name_in_the_lake(site: Site) -> None:
    composed, decomposed = "\u00e9", unicodedata.normalize("NFD", "\u00e9")
    admin = site.guard("admin", admin=True)
    admin.create_namespace({"id": ["lake", composed]})
    admin.create_table_stream({"id": ["lake", composed, "t"]}, rows(1))
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.place("lake", decomposed), SELECT_TABLE, deny=True)
    for spelling in (composed, decomposed):
        with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is denied"):
            site.guard().count_table_rows({"id": ["lake", spelling, "t"]})


@pytest.mark.parametrize("name", ["ad\u200bmin", "m\u00ade", "\u202eme"])
def test_names_that_look_like_others_are_not_made(site: Site, name: str) -> None:
    site.grant(site.place(), MANAGE_USERS, MANAGE_GROUPS, CREATE_ROLE)
    for make in (groups.create, roles.create):
        with pytest.raises(InvalidInputError, match="invisible"):
            make(site.store, actor(), name)
    with pytest.raises(InvalidInputError, match="invisible"):
        users.create(site.store, name, by="me", actor=actor())


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_denial_of_an_issuers_group_holds_for_both_forms_of_its_name(site: Site, form: str) -> None:
    name = "\u00e9quipe"
    site.store.transact(role_rows.create, METALAKE, "denied", by="admin")
    make_group(site, name, role="denied")
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.table("lake", "A", "t1"), SELECT_TABLE, deny=True, role="denied")
    ada = site.guard("me", groups=(unicodedata.normalize(form, name),))
    with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is denied"):
        ada.count_table_rows({"id": ["lake", "A", "t1"]})


# -- renames and moves ---------------------------------------------------------------------------


@pytest.mark.parametrize("catalog", ["lake", "archive"])
def test_a_table_that_moves_keeps_its_own_grants_and_loses_inherited_ones(site: Site, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG, USE_SCHEMA)
    site.grant(site.place(catalog, "A"), MODIFY_TABLE)
    site.grant(site.table(catalog, "A", "t1"), SELECT_TABLE)
    admin, me = site.guard("admin", admin=True), site.guard()
    admin.rename_table({"id": [catalog, "A", "t1"], "new_table_name": "u"})
    assert me.count_table_rows({"id": [catalog, "A", "u"]}).count == 2
    me.insert_into_table_stream({"id": [catalog, "A", "u"]}, rows(3))
    admin.rename_table({"id": [catalog, "A", "u"], "new_namespace_id": [catalog, "X"], "new_table_name": "u"})
    assert me.count_table_rows({"id": [catalog, "X", "u"]}).count == 3
    with pytest.raises(PermissionDeniedError, match="MODIFY_TABLE is missing"):
        me.insert_into_table_stream({"id": [catalog, "X", "u"]}, rows(4))
    admin.create_table_stream({"id": [catalog, "A", "t1"]}, rows(1))
    with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is missing"):
        me.count_table_rows({"id": [catalog, "A", "t1"]})


def test_a_denial_goes_with_a_schema_that_is_renamed(site: Site) -> None:
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.place("lake", "A", "B"), SELECT_TABLE, deny=True)
    catalog = site.store.read(catalogs.load, METALAKE, "lake").id
    site.store.transact(nesting.rename, catalog, Identifier(["A"]), "Z", by="admin")
    with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is denied"):
        site.guard().describe_table({"id": ["lake", "Z", "B", "t"]})
    assert site.guard().count_table_rows({"id": ["lake", "Z", "t1"]}).count == 2


def test_what_one_owns_is_not_moved_where_one_may_make_nothing(site: Site) -> None:
    site.grant(site.place("lake"), USE_CATALOG)
    site.own(site.place("lake", "X"))
    for target in (["lake", "A"], ["lake"], []):
        with pytest.raises(PermissionDeniedError):
            site.guard().rename_table({"id": ["lake", "X", "t"], "new_namespace_id": target, "new_table_name": "u"})


# -- grants that change themselves ---------------------------------------------------------------


def test_who_manages_the_grants_of_a_schema_grants_nothing_outside(site: Site) -> None:
    site.grant(site.place("lake"), USE_CATALOG)
    site.grant(site.place("lake", "A"), MANAGE_GRANTS)
    places = PlaceFinder(METALAKE, frozenset({"archive"}))

    def grant(object_: str, privilege: str) -> None:
        granting.apply(site.store, actor(), places, [WantedChange("r", WrittenPlace(object_), privilege)])

    for privilege in (USE_SCHEMA, SELECT_TABLE, MANAGE_GRANTS, CREATE_SCHEMA):
        grant("lake$A", privilege)
        grant("lake$A$B", privilege)
        for object_ in ("lake", "lake$X", "metalake", "archive"):
            with pytest.raises((PermissionDeniedError, InvalidInputError)):
                grant(object_, privilege)
    for rule in ("manage roles", "manage groups", "manage users", "create role"):
        with pytest.raises(PermissionDeniedError):
            site.store.read(lambda connection, rule=rule: actor().require(connection, rule))
    with pytest.raises(PermissionDeniedError):
        owners.change(site.store, actor(), places, WrittenPlace("lake$A"), Owner("me"))
    with pytest.raises(PermissionDeniedError):
        site.guard().drop_namespace({"id": ["lake", "A"], "behavior": "cascade"})


def test_a_batch_of_grants_is_judged_as_a_whole_before_any_of_it_is_made(site: Site) -> None:
    """A first change that would allow the second does not count for it."""
    site.grant(site.place("lake"), USE_CATALOG)
    site.grant(site.place("lake", "A"), MANAGE_GRANTS)
    site.grant(site.place("lake", "A", "B"), MANAGE_GRANTS, deny=True)
    changes = [
        WantedChange("r", WrittenPlace("lake$A$B"), MANAGE_GRANTS, deny=True, revoke=True),
        WantedChange("r", WrittenPlace("lake$A$B"), SELECT_TABLE),
    ]
    with pytest.raises((PermissionDeniedError, InvalidInputError)):
        granting.apply(site.store, actor(), PlaceFinder(METALAKE), changes)
    assert not site.store.read(reviews.verdicts, actor().caller, site.place("lake", "A", "B"))["load schema"]


def test_roles_given_and_taken_in_a_loop_end_where_they_began(site: Site) -> None:
    """A role is given to no role, so that there are no loops: a group of its name has nothing of it."""
    make_group(site, "r")
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.store.transact(group_rows.add, "r", "ada", by="admin")
    with pytest.raises(PermissionDeniedError):
        site.guard("ada").describe_table({"id": ["lake", "A", "t1"]})
    with pytest.raises(InvalidInputError):
        site.store.transact(role_rows.give, METALAKE, "r", "r", "role", by="admin")


# -- backups -------------------------------------------------------------------------------------


def test_a_restored_backup_has_the_rights_of_its_moment_and_no_others(site: Site, tmp_path: Path) -> None:
    site.grant(site.place("lake"), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.place("lake", "X"), SELECT_TABLE, deny=True)
    backups.backup(site.store, tmp_path / "backup")
    site.revoke(site.place("lake", "X"), SELECT_TABLE, deny=True)
    users.create(site.store, "later", by="admin", admin=True)
    restored = LakeStore(f"sqlite:///{tmp_path / 'restored.db'}")
    try:
        backups.restore(restored, tmp_path / "backup")
        for rule, names in (("read table", ("lake", "A", "t1")), ("read table", ("lake", "X", "t"))):
            verdict = restored.read(reviews.verdicts, Caller("me"), site.table(*names))[rule]
            assert verdict.allowed is (names[1] == "A"), verdict.explain()
        assert restored.read(lake_users.find, "later") is None
        assert restored.read(switch.is_enabled)
    finally:
        restored.close()


# -- a lake that is mounted ----------------------------------------------------------------------


@pytest.fixture
def far(site: Site, tmp_path: Path) -> Iterator[Site]:
    """The site with another lake mounted in it, which has the schemas `P`, `P:Q` and `S`."""
    other = open_store(new_lake(tmp_path / "far" / "lake.db"), upgrade=False)

    def begin(connection: Connection) -> None:
        metalakes.create(connection, "m", by="admin")
        made = catalogs.create(connection, "m", "c", by="admin", nested=True, location=str(tmp_path / "far" / "data"))
        for path in (["P"], ["P", "Q"], ["S"]):
            namespaces.create(connection, made.id, Identifier(path), by="admin")

    other.transact(begin)
    other.close()
    options = {"uri": f"sqlite:///{tmp_path / 'far' / 'lake.db'}", "metalake": "m", "catalog": "c"}
    mounted = CatalogSettings(type="lake", settings=options)
    tree = FederatedCatalog({"far": mounted}, OwnLake(site.store, warehouse=str(tmp_path / "warehouse")))
    yield Site(site.store, tree)
    tree.close()


def in_far(*names: str, kind: str = "namespace") -> Securable:
    return Securable(METALAKE, "far", Identifier(names), kind, mounted=True)


def test_schemas_of_a_mounted_lake_are_listed_like_its_namespaces(far: Site) -> None:
    far.grant(in_far(), USE_CATALOG)
    assert far.guard().list_schemas("far") == []
    far.grant(in_far("P", "Q"), USE_SCHEMA)
    assert far.guard().list_schemas("far") == ["far.P"]
    assert far.guard().list_schemas("far.P") == ["far.P:Q"]
    assert far.guard("admin", admin=True).list_schemas("far") == ["far.P", "far.S"]


def test_schemas_that_are_made_in_a_mounted_lake_have_their_owner_and_leave_no_grants(far: Site) -> None:
    far.grant(in_far(), USE_CATALOG, CREATE_SCHEMA)
    far.guard().create_namespaces("far.M:N")
    for names in (("M",), ("M", "N")):
        assert far.store.read(owner_rows.find, in_far(*names)) == Owner("me")
    far.guard().create_namespaces("far.P:new")
    assert far.store.read(reviews.is_recorded, in_far("P")) is False, "what was there is no one else's now"
    far.grant(in_far("M", "N"), SELECT_TABLE)
    far.guard().drop_schema("far.M:N")
    assert far.store.read(reviews.is_recorded, in_far("M", "N")) is False


def test_a_batch_keeps_the_rights_of_mounted_tables_in_step(far: Site) -> None:
    far.grant(in_far(), USE_CATALOG, USE_SCHEMA, CREATE_TABLE)
    far.guard().batch_commit_tables({"operations": [{"declare_table": {"id": ["far", "P", "t"]}}]})
    table = in_far("P", "t", kind="table")
    assert far.store.read(owner_rows.find, table) == Owner("me")
    far.guard().batch_commit_tables({"operations": [{"deregister_table": {"id": ["far", "P", "t"]}}]})
    assert far.store.read(reviews.is_recorded, table) is False
