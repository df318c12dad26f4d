"""The guard: what a caller may do with a tree, in the lake and in a mounted catalog, and what it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceway.access.operations import OPERATIONS
from lanceway.access.privileges import (
    BOOTSTRAP_SCHEMA,
    CREATE_CATALOG,
    CREATE_SCHEMA,
    CREATE_TABLE,
    MODIFY_TABLE,
    RUN_JOB,
    SELECT_TABLE,
    USE_CATALOG,
    USE_SCHEMA,
)
from lanceway.catalogs.contract.hooks import stream_twin
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.lake.access import grants, owners
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import open_store
from lanceway.lake.tree import catalogs, settings
from tests.access.site_helpers import CATALOGS, METALAKE, Site, make_site, rows
from tests.new_lakes import new_lake

USE = (USE_CATALOG, USE_SCHEMA)
each_catalog = pytest.mark.parametrize("catalog", CATALOGS)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    made = make_site(store, tmp_path)
    yield made
    made.tree.close()


@pytest.fixture
def me(site: Site) -> Any:
    return site.guard()


def names(catalog: Any, *id_: str) -> list[str]:
    return list(catalog.list_namespaces({"id": list(id_)}).namespaces)


def tables(catalog: Any, *id_: str) -> list[str]:
    return list(catalog.list_tables({"id": list(id_)}).tables)


def everything(catalog: Any, *id_: str, limit: int | None = None) -> list[str]:
    """All tables, by pages that are full but the last."""
    listed: list[str] = []
    token = None
    while True:
        page = catalog.list_all_tables({"id": list(id_), "limit": limit, "page_token": token})
        listed += page.tables
        token = page.page_token
        if token is None:
            return listed
        assert len(page.tables) == limit


def test_every_operation_says_what_it_needs() -> None:
    contract = {name for name, value in vars(Forwarder).items() if callable(value) and not name.startswith("_")}
    assert {name.removesuffix(stream_twin("")) for name in contract} == set(OPERATIONS)


def test_who_may_do_nothing_sees_nothing(me: Any) -> None:
    assert names(me) == []
    assert everything(me) == []
    for catalog in CATALOGS:
        for ask in (names, tables, everything):
            with pytest.raises(PermissionDeniedError, match="USE_CATALOG is missing"):
                ask(me, catalog)
        for name in ("t1", "missing"):
            with pytest.raises(PermissionDeniedError):
                me.describe_table({"id": [catalog, "A", name]})
    with pytest.raises(PermissionDeniedError, match="CREATE_CATALOG"):
        me.create_namespace({"id": ["mine"]})
    with pytest.raises(PermissionDeniedError, match="RUN_JOB"):
        me.require("run job")


@each_catalog
def test_reading_needs_the_way_and_the_table(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG)
    site.grant(site.place(catalog, "A"), USE_SCHEMA)
    with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is missing; it can be granted on the table t1"):
        me.count_table_rows({"id": [catalog, "A", "t1"]})
    site.grant(site.table(catalog, "A", "t1"), SELECT_TABLE)
    assert me.count_table_rows({"id": [catalog, "A", "t1"]}).count == 2
    assert tables(me, catalog, "A") == ["t1"]
    with pytest.raises(PermissionDeniedError):
        me.count_table_rows({"id": [catalog, "A", "t2"]})
    with pytest.raises(PermissionDeniedError, match="MODIFY_TABLE"):
        me.insert_into_table_stream({"id": [catalog, "A", "t1"]}, rows(3))
    site.grant(site.place(catalog, "A"), MODIFY_TABLE)
    me.insert_into_table_stream({"id": [catalog, "A", "t1"]}, rows(3))
    assert me.count_table_rows({"id": [catalog, "A", "t1"]}).count == 3
    with pytest.raises(PermissionDeniedError, match="only the owner"):
        me.drop_table({"id": [catalog, "A", "t1"]})


@each_catalog
def test_a_deep_grant_shows_the_way_that_leads_there(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG)
    site.grant(site.place(catalog, "A", "B"), USE_SCHEMA, SELECT_TABLE)
    assert names(me) == [catalog]
    assert names(me, catalog) == ["A"]
    assert names(me, catalog, "A") == ["B"]
    assert names(me, catalog, "A", "B") == ["C"]
    assert tables(me, catalog, "A", "B") == ["t"]
    for refused in (me.describe_namespace, me.list_tables):
        with pytest.raises(PermissionDeniedError):
            refused({"id": [catalog, "A"]})
    assert everything(me) == [f"{catalog}$A$B$t"]
    assert everything(me, catalog) == [f"{catalog}$A$B$t"]


@each_catalog
def test_a_denial_on_one_table_hides_no_other(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    table = site.table(catalog, "A", "t1")
    site.grant(table, SELECT_TABLE, deny=True)
    site.grant(table, MODIFY_TABLE)  # which shows it all the same
    site.grant(site.table(catalog, "X", "t"), MODIFY_TABLE, deny=True)
    assert tables(me, catalog, "A") == ["t1", "t2"]


@each_catalog
def test_lists_of_all_tables_are_complete_page_by_page(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.table(catalog, "A", "t2"), SELECT_TABLE, deny=True)
    site.grant(site.place(catalog, "X"), USE_SCHEMA, deny=True)
    shown = [f"{catalog}$A$B$t", f"{catalog}$A$t1"]
    for limit in (None, 1, 2, 5):
        assert everything(me, catalog, limit=limit) == shown
        assert everything(me, limit=limit) == shown
    assert names(me, catalog) == ["A"]
    assert tables(me, catalog, "A") == ["t1"]
    pages = me.list_tables({"id": [catalog, "A"], "limit": 1})
    assert (pages.tables, pages.page_token) == (["t1"], None), "a page is not announced that would be empty"


@each_catalog
def test_what_one_makes_is_ones_own(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG, CREATE_SCHEMA)
    me.create_namespace({"id": [catalog, "mine"]})
    assert names(me, catalog) == ["mine"]
    me.create_table_stream({"id": [catalog, "mine", "t"]}, rows(1))
    assert me.count_table_rows({"id": [catalog, "mine", "t"]}).count == 1
    other = site.guard("other")
    with pytest.raises(PermissionDeniedError):
        other.describe_table({"id": [catalog, "mine", "t"]})
    me.rename_table({"id": [catalog, "mine", "t"], "new_table_name": "u"})
    me.drop_table({"id": [catalog, "mine", "u"]})
    me.drop_namespace({"id": [catalog, "mine"]})
    with pytest.raises(PermissionDeniedError):
        me.drop_namespace({"id": [catalog, "A"], "behavior": "cascade"})


def test_a_table_in_anothers_schema_needs_the_way_to_it(site: Site, me: Any) -> None:
    site.grant(site.place("lake"), *USE)
    site.grant(site.place("lake", "A"), CREATE_TABLE)
    me.create_table_stream({"id": ["lake", "A", "mine"]}, rows(1))
    assert me.count_table_rows({"id": ["lake", "A", "mine"]}).count == 1
    with pytest.raises(PermissionDeniedError, match="CREATE_TABLE"):
        me.rename_table({"id": ["lake", "A", "mine"], "new_namespace_id": ["lake", "X"], "new_table_name": "mine"})
    with pytest.raises(PermissionDeniedError):
        me.rename_table({"id": ["lake", "A", "t1"], "new_table_name": "taken"})


@each_catalog
def test_the_mode_of_a_creation_is_no_way_round(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), *USE, CREATE_TABLE, CREATE_SCHEMA)
    for mode in ("overwrite", "exist_ok", "Overwrite", "ExistOk"):
        with pytest.raises(PermissionDeniedError):
            me.create_table_stream({"id": [catalog, "A", "t1"], "mode": mode}, rows(9))
    with pytest.raises(TableAlreadyExistsError):
        me.create_table_stream({"id": [catalog, "A", "t1"]}, rows(9))
    with pytest.raises(PermissionDeniedError):
        me.create_namespace({"id": [catalog, "X"], "mode": "overwrite"})
    me.create_table_stream({"id": [catalog, "A", "new"], "mode": "overwrite"}, rows(9))
    site.grant(site.place(catalog), MODIFY_TABLE)
    me.create_table_stream({"id": [catalog, "A", "t1"], "mode": "overwrite"}, rows(9))
    admin = site.guard("admin", admin=True)
    assert admin.count_table_rows({"id": [catalog, "A", "t1"]}).count == 1


def test_a_batch_needs_all_of_its_rights(site: Site, me: Any) -> None:
    site.grant(site.place("lake"), *USE, MODIFY_TABLE)
    steps = [{"declare_table": {"id": ["lake", "A", "new"]}}, {"deregister_table": {"id": ["lake", "A", "t1"]}}]
    with pytest.raises(PermissionDeniedError, match="make a table"):
        me.batch_commit_tables({"operations": steps})
    site.grant(site.place("lake"), CREATE_TABLE)
    with pytest.raises(PermissionDeniedError, match="rename or drop a table"):
        me.batch_commit_tables({"operations": steps})
    admin = site.guard("admin", admin=True)
    assert "new" not in tables(admin, "lake", "A")


def test_missing_parents_need_their_right(site: Site, me: Any) -> None:
    site.grant(site.place("lake"), USE_CATALOG)
    for path in ("lake.A:N1:N2", ["lake", "A", "N1", "N2"], "lake.N"):
        with pytest.raises(PermissionDeniedError):
            me.create_namespaces(path)
    site.grant(site.place("lake", "A"), CREATE_SCHEMA)
    assert me.create_namespaces("lake.A:N1:N2") == ("lake", "A", "N1", "N2")
    with pytest.raises(PermissionDeniedError):
        me.create_namespaces("lake.M1:M2")
    site.grant(site.place("lake"), BOOTSTRAP_SCHEMA)
    assert me.create_namespaces("lake.M1:M2") == ("lake", "M1", "M2")
    assert me.list_schemas("lake") == ["lake.A", "lake.M1"]
    me.alter_namespace("lake.M1:M2", {"team": "a"})
    with pytest.raises(PermissionDeniedError):
        me.alter_namespace("lake.X", {"team": "a"})
    with pytest.raises(PermissionDeniedError):
        me.drop_schema("lake.X")
    me.drop_schema("lake.M1:M2")


def test_catalogs(site: Site, me: Any) -> None:
    site.grant(site.place(), CREATE_CATALOG)
    me.create_namespace({"id": ["mine"]})
    assert names(me) == ["mine"]
    me.create_namespace({"id": ["mine", "s"]})
    me.drop_namespace({"id": ["mine"], "behavior": "cascade"})
    with pytest.raises(PermissionDeniedError):
        me.drop_namespace({"id": ["lake"]})
    site.grant(site.place(), USE_CATALOG)
    assert names(me) == ["archive", "lake"]
    site.grant(site.place("archive"), USE_CATALOG, deny=True)
    assert names(me) == ["lake"]
    with pytest.raises(PermissionDeniedError, match="USE_CATALOG is denied on the catalog"):
        me.describe_namespace({"id": ["archive"]})


def test_who_sees_all_is_told_what_is_missing(site: Site, me: Any) -> None:
    site.grant(site.place(), *USE, SELECT_TABLE)
    for catalog in CATALOGS:
        with pytest.raises(TableNotFoundError):
            me.describe_table({"id": [catalog, "A", "missing"]})
        with pytest.raises(NamespaceNotFoundError):
            me.describe_namespace({"id": [catalog, "missing"]})
    with pytest.raises(NamespaceNotFoundError):
        names(me, "missing")


@each_catalog
def test_hidden_and_missing_read_alike(site: Site, me: Any, catalog: str) -> None:
    site.grant(site.place(catalog), USE_CATALOG)
    for operation in ("describe_table", "count_table_rows", "drop_table", "list_table_versions"):
        texts = []
        for name in ("t1", "zz"):
            with pytest.raises(PermissionDeniedError) as denied:
                getattr(me, operation)({"id": [catalog, "A", name]})
            texts.append(str(denied.value).replace(name, "?"))
        assert texts[0] == texts[1]
    assert names(me, catalog, "A") == names(me, catalog, "zz") == []


def test_a_revoke_counts_at_once(site: Site, me: Any) -> None:
    site.grant(site.place("lake"), *USE, SELECT_TABLE)
    assert me.try_fast("describe_table", ["lake", "A", "t1"], {"id": ["lake", "A", "t1"]})
    site.revoke(site.place("lake"), SELECT_TABLE)
    assert me.try_fast("describe_table", ["lake", "A", "t1"], {"id": ["lake", "A", "t1"]}) is None
    with pytest.raises(PermissionDeniedError):
        me.describe_table({"id": ["lake", "A", "t1"]})


def test_a_path_that_nothing_can_have_is_refused_at_once(site: Site, me: Any) -> None:
    """Rights were looked for on all above it, by paths of every length: for one body, gigabytes of them."""
    site.grant(site.place("lake"), USE_CATALOG)
    for names in (["a"] * 3000, ["a" * 100] * 30):
        id_ = ["lake", *names]
        asked: tuple[Callable[[], Any], ...] = (
            lambda id_=id_: me.create_namespaces(id_, {}),  # type: ignore[misc]
            lambda id_=id_: me.describe_namespace({"id": id_}),  # type: ignore[misc]
            lambda id_=id_: me.list_namespaces({"id": id_}),  # type: ignore[misc]
            lambda id_=id_: me.list_tables({"id": id_}),  # type: ignore[misc]
            lambda id_=id_: me.describe_table({"id": id_}),  # type: ignore[misc]
            lambda id_=id_: me.load_iceberg_table(id_),  # type: ignore[misc]
            lambda id_=id_: me.describe_namespace({"id": ["archive", *id_]}),  # type: ignore[misc]
        )
        for ask in asked:
            with pytest.raises(InvalidInputError, match="The path is too long") as refusal:
                ask()
            assert len(str(refusal.value)) < 300


def test_fast_answers_are_guarded_too(site: Site, me: Any) -> None:
    fields = {"id": ["lake", "A"], "limit": 10}
    assert me.try_fast("list_tables", ["lake", "A"], fields) is None
    site.grant(site.place("lake"), *USE)
    assert me.try_fast("list_tables", ["lake", "A"], fields) is None
    site.own(site.place("lake", "A"))
    answer = me.try_fast("list_tables", ["lake", "A"], fields)
    assert answer is not None
    assert answer["tables"] == ["t1", "t2"]


def test_without_access_control_all_may_do_all(site: Site, me: Any) -> None:
    site.store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    assert names(me) == ["archive", "lake"]
    for catalog in CATALOGS:
        assert everything(me, catalog) == sorted(f"{catalog}${name}" for name in ("A$B$t", "A$t1", "A$t2", "X$t"))
        me.drop_table({"id": [catalog, "X", "t"]})
    me.require("run job")


def test_runs_need_their_right(site: Site, me: Any) -> None:
    site.grant(site.place(), RUN_JOB)
    me.require("run job")


def test_a_group_has_rights_for_those_in_it(site: Site) -> None:
    from lanceway.lake.access import groups, roles

    site.grant(site.place("lake"), *USE, SELECT_TABLE)
    site.store.transact(groups.create, "team", by="admin")
    site.store.transact(roles.give, METALAKE, "r", "team", "group", by="admin")
    ada = site.guard("ada")
    with pytest.raises(PermissionDeniedError):
        ada.describe_table({"id": ["lake", "A", "t1"]})
    site.store.transact(groups.add, "team", "ada", by="admin")
    assert ada.count_table_rows({"id": ["lake", "A", "t1"]}).count == 2
    vouched = site.guard("bob@acme", groups=("team",))
    assert vouched.count_table_rows({"id": ["lake", "A", "t1"]}).count == 2


# -- mounted catalogs ----------------------------------------------------------------------------


def test_what_was_granted_on_a_mounted_table_goes_with_it(site: Site, me: Any) -> None:
    site.grant(site.place("archive"), *USE)
    site.grant(site.table("archive", "A", "t1"), SELECT_TABLE)
    admin = site.guard("admin", admin=True)
    admin.rename_table({"id": ["archive", "A", "t1"], "new_table_name": "renamed"})
    assert me.count_table_rows({"id": ["archive", "A", "renamed"]}).count == 2
    admin.drop_table({"id": ["archive", "A", "renamed"]})
    admin.create_table_stream({"id": ["archive", "A", "renamed"]}, rows(1))
    with pytest.raises(PermissionDeniedError):
        me.count_table_rows({"id": ["archive", "A", "renamed"]})
    dangling = site.store.read(grants.dangling, METALAKE)
    assert [str(grant.place.path) for grant in dangling] == ["A.renamed"]


def test_a_dropped_mounted_namespace_takes_its_grants_along(site: Site, me: Any) -> None:
    site.grant(site.place("archive"), USE_CATALOG)
    site.grant(site.place("archive", "A", "B"), USE_SCHEMA, SELECT_TABLE)
    admin = site.guard("admin", admin=True)
    admin.drop_namespace({"id": ["archive", "A"], "behavior": "cascade"})
    assert names(me, "archive") == []
    admin.create_namespace({"id": ["archive", "A"]})
    admin.create_namespace({"id": ["archive", "A", "B"]})
    assert names(me, "archive") == []
    assert len(site.store.read(grants.dangling, METALAKE)) == 2


def test_owners_of_mounted_objects(site: Site, me: Any) -> None:
    site.grant(site.place("archive"), *USE)
    site.grant(site.place("archive", "A"), CREATE_TABLE)
    me.create_table_stream({"id": ["archive", "A", "mine"]}, rows(1))
    assert site.store.read(owners.find, site.table("archive", "A", "mine")) == Owner("me")
    me.drop_table({"id": ["archive", "A", "mine"]})
    with pytest.raises(PermissionDeniedError):
        me.drop_table({"id": ["archive", "A", "t1"]})


def test_names_of_mounted_catalogs_have_one_spelling(site: Site, me: Any) -> None:
    site.grant(site.place("archive"), *USE)
    with pytest.raises(InvalidInputError, match="NFC"):
        me.describe_table({"id": ["archive", "A", "e\u0301"]})


# -- ways round ----------------------------------------------------------------------------------


def test_the_data_of_others_cannot_be_had_under_another_name(site: Site, me: Any) -> None:
    site.grant(site.place("lake"), USE_CATALOG, CREATE_SCHEMA)
    me.create_namespace({"id": ["lake", "mine"]})
    admin = site.guard("admin", admin=True)
    location = admin.describe_table({"id": ["lake", "A", "t1"]}).location
    for ask in (me.register_table, me.declare_table):
        for place in (location, f"{location}/", f"file://{location}", f"{location}/data"):
            with pytest.raises((InvalidInputError, TableAlreadyExistsError, PermissionDeniedError)):
                ask({"id": ["lake", "mine", "stolen"], "location": place})
    assert tables(me, "lake", "mine") == []


def test_a_logical_path_tells_nothing_of_catalogs_that_are_hidden(site: Site, me: Any) -> None:
    site.store.transact(catalogs.create, METALAKE, "flat", by="admin", nested=False, location="/flat")
    for change in (me.create_namespaces, me.drop_schema, me.alter_namespace, me.naming, me.list_schemas):
        texts = []
        for catalog in ("lake", "flat", "archive", "none"):
            with pytest.raises(PermissionDeniedError) as denied:
                change([catalog] if change == me.naming else f"{catalog}.A:B")
            texts.append(str(denied.value).replace(f" {catalog}", " ?"))
        assert len(set(texts)) == 1
