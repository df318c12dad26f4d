"""Lance tables in an Iceberg REST catalog: what the specification says beyond the contract, on the reference server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lanceway
from lanceway.catalogs import IcebergCatalog
from lanceway.catalogs.metastore.tables import CLAIM
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from tests.catalogs.iceberg.iceberg_helpers import ROWS, connect, create, iceberg_table, namespace
from tests.servers.iceberg import WAREHOUSE, Iceberg
from tests.servers.proxy import Proxy

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def catalog(iceberg: Iceberg, tmp_path: Path) -> Iterator[IcebergCatalog]:
    with connect(iceberg.endpoint, tmp_path) as catalog:
        yield catalog


@pytest.fixture
def proxy(iceberg: Iceberg) -> Iterator[Proxy]:
    with Proxy(iceberg.endpoint) as running:
        yield running


# -- settings --------------------------------------------------------------------------------------


def test_it_is_connected_by_its_type_with_strings_alone(iceberg: Iceberg, tmp_path: Path) -> None:
    settings = {
        "endpoint": iceberg.endpoint,
        "warehouse": WAREHOUSE,
        "connect_timeout": "5000",
        "read_timeout": "60000",
        "max_retries": "1",
        "root": str(tmp_path),
    }
    catalog = lanceway.connect("iceberg", **settings)
    assert isinstance(catalog, IcebergCatalog)
    assert catalog.list_namespaces({"id": []}).namespaces == [WAREHOUSE]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"endpoint": "localhost:8181"}, "http://"),
        ({"endpoint": "ftp://localhost"}, "http://"),
        ({"endpoint": "http://user:hush@localhost"}, "password"),
        ({"endpoint": NOWHERE, "credential": "hush"}, "client_id:client_secret"),
        ({"endpoint": NOWHERE, "credential": "id:"}, "client_id:client_secret"),
        ({"endpoint": NOWHERE, "credential": "a:b", "auth_token": "c"}, "auth_token and credential"),
        ({"endpoint": NOWHERE, "credential": "a:b", "oauth2_server_uri": "tokens"}, "http"),
        ({"endpoint": NOWHERE, "read_timeout": "0"}, "read_timeout"),
        ({"endpoint": NOWHERE, "page_size": "0"}, "page_size"),
        ({"endpoint": NOWHERE, "max_retries": "-1"}, "retries"),
        ({"endpoint": NOWHERE, "read_timeout": "1s"}, "whole number"),
        ({"endpoint": NOWHERE, "warehous": "x"}, "'warehouse'"),
        ({}, "endpoint"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(settings: dict[str, str], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word) as refused:
        IcebergCatalog(**settings)
    assert "hush" not in str(refused.value)


def test_no_secret_is_shown() -> None:
    catalog = IcebergCatalog(endpoint=NOWHERE, credential="id:hush", **{"header.X-Key": "quiet"})
    assert "hush" not in repr(catalog) + catalog.namespace_id()
    assert "quiet" not in repr(catalog)


def test_another_identity_is_another_catalog() -> None:
    first, other = (IcebergCatalog(endpoint=NOWHERE, auth_token=token) for token in ("a", "b"))
    assert first.namespace_id() != other.namespace_id()


# -- warehouses and namespaces ---------------------------------------------------------------------


def test_the_root_lists_the_configured_warehouse_and_needs_one(catalog: IcebergCatalog, iceberg: Iceberg) -> None:
    assert catalog.list_namespaces({"id": []}).namespaces == [WAREHOUSE]
    assert catalog.list_tables({"id": []}).tables == []
    assert catalog.list_tables({"id": [WAREHOUSE]}).tables == []
    unset = IcebergCatalog(endpoint=iceberg.endpoint)
    for listing in (unset.list_namespaces, unset.list_tables, unset.list_all_tables):
        with pytest.raises(InvalidInputError, match="Set warehouse"):
            listing({"id": []})
    assert unset.list_namespaces({"id": [WAREHOUSE]}).namespaces is not None


def test_a_warehouse_is_its_servers(catalog: IcebergCatalog) -> None:
    catalog.namespace_exists({"id": [WAREHOUSE]})
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace({"id": [WAREHOUSE]})
    with pytest.raises(InvalidInputError, match="warehouse"):
        catalog.drop_namespace({"id": [WAREHOUSE]})


def test_namespaces_nest_to_any_depth(catalog: IcebergCatalog) -> None:
    path = namespace(catalog, properties={"owner": "ralph"})
    for level in ("b", "c d", "é", "e+f", "g&h=i"):
        path.append(level)
        catalog.create_namespace({"id": path})
        assert catalog.list_namespaces({"id": path[:-1]}).namespaces == [level]
    assert (catalog.describe_namespace({"id": path[:2]}).properties or {})["owner"] == "ralph"
    table = create(catalog, [*path, "orders"])
    assert catalog.list_tables({"id": path}).tables == ["orders"]
    assert catalog.count_table_rows({"id": table}).count == 3
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": path})


def test_a_name_must_not_hold_what_the_server_joins_names_with(catalog: IcebergCatalog, older_iceberg: Iceberg) -> None:
    with pytest.raises(InvalidInputError, match=r"'\.'"):  # this server announces it
        catalog.create_namespace({"id": [WAREHOUSE, "a.b"]})
    for either in (catalog, connect(older_iceberg.endpoint)):
        with pytest.raises(InvalidInputError, match="control character"):
            either.create_namespace({"id": [WAREHOUSE, "a\x1fb"]})


def test_the_older_server_is_asked_with_the_unit_separator(older_iceberg: Iceberg) -> None:
    with Proxy(older_iceberg.endpoint) as proxy:
        catalog = connect(proxy.endpoint)
        space = [*namespace(catalog), "b"]
        catalog.create_namespace({"id": space})
        catalog.create_namespace({"id": [*space, "c"]})
        assert catalog.list_namespaces({"id": space}).namespaces == ["c"]
        assert proxy.sent("GET", f"parent={space[1]}%1Fb") == 1
        assert proxy.sent("GET", f"/v1/namespaces/{space[1]}%1Fb") == 1


def test_dropping_what_is_missing_is_fine_unless_told_otherwise(catalog: IcebergCatalog) -> None:
    missing = [WAREHOUSE, "no_such_namespace"]
    catalog.drop_namespace({"id": missing})
    catalog.drop_namespace({"id": missing, "mode": "skip"})
    with pytest.raises(NamespaceNotFoundError):
        catalog.drop_namespace({"id": missing, "mode": "fail"})


def test_a_cascade_is_not_supported(catalog: IcebergCatalog) -> None:
    space = namespace(catalog)
    table = create(catalog, [*space, "t"])
    with pytest.raises(UnsupportedOperationError, match="empty namespaces alone"):
        catalog.drop_namespace({"id": space, "behavior": "Cascade"})
    with pytest.raises(NamespaceNotEmptyError, match="holds 't'"):
        catalog.create_namespace({"id": space, "mode": "overwrite"})
    assert catalog.count_table_rows({"id": table}).count == 3


def test_an_empty_namespace_is_overwritten_in_place(proxy: Proxy) -> None:
    catalog = connect(proxy.endpoint)
    space = namespace(catalog, properties={"a": "1", "b": "2"})
    assert catalog.create_namespace({"id": space, "mode": "overwrite", "properties": {"b": "3"}}).properties == {
        "b": "3"
    }
    properties = catalog.describe_namespace({"id": space}).properties or {}
    assert (properties.get("a"), properties["b"]) == (None, "3")
    assert proxy.sent("DELETE", space[1]) == 0
    catalog.create_namespace({"id": [*space, "inner"]})
    with pytest.raises(NamespaceNotEmptyError, match="holds 'inner'"):
        catalog.create_namespace({"id": space, "mode": "overwrite"})
    with pytest.raises(InvalidInputError, match="warehouse"):
        catalog.create_namespace({"id": [WAREHOUSE], "mode": "overwrite"})


def test_another_type_of_table_cannot_be_declared(catalog: IcebergCatalog, tmp_path: Path) -> None:
    space = namespace(catalog)
    asked = {"id": [*space, "t"], "properties": {"table_type": "delta"}}
    with pytest.raises(InvalidInputError, match="table_type"):
        catalog.declare_table(asked)
    with pytest.raises(InvalidInputError, match="table_type"):
        create(catalog, [*space, "t"], properties={"table_type": "delta"})
    with pytest.raises(InvalidInputError, match="table_type"):
        catalog.register_table({**asked, "location": str(tmp_path)})
    assert catalog.list_tables({"id": space, "include_declared": True}).tables == []


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [["t"], [WAREHOUSE, "t"]], ids=str)
def test_a_table_needs_a_warehouse_and_a_namespace(catalog: IcebergCatalog, short: list[str]) -> None:
    for asking in (catalog.describe_table, catalog.declare_table, catalog.deregister_table, catalog.drop_table):
        with pytest.raises(InvalidInputError, match="needs a warehouse, a namespace and a name"):
            asking({"id": short})


def test_a_table_lies_below_the_root_unless_told_otherwise(catalog: IcebergCatalog, tmp_path: Path) -> None:
    inner = [*namespace(catalog), "b"]
    catalog.create_namespace({"id": inner})
    declared = catalog.declare_table({"id": [*inner, "t"]})
    assert declared.location == f"{tmp_path}/{WAREHOUSE}/{inner[1]}.b/t"
    chosen = f"{tmp_path}/elsewhere/t"
    assert catalog.declare_table({"id": [*inner, "u"], "location": chosen}).location == chosen
    assert catalog.describe_table({"id": [*inner, "u"]}).location == chosen


def test_the_root_is_the_working_folder_by_default(
    iceberg: Iceberg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = connect(iceberg.endpoint)
    table = [*namespace(catalog), "t"]
    assert catalog.declare_table({"id": table}).location == f"{tmp_path}/{WAREHOUSE}/{table[1]}/t"


def test_a_table_of_icebergs_own_is_no_lance_table(catalog: IcebergCatalog, iceberg: Iceberg) -> None:
    space = namespace(catalog)
    iceberg_table(iceberg.endpoint, space, "plain")
    iceberg_table(iceberg.endpoint, space, "shouting", {"table_type": "LANCE"})
    create(catalog, [*space, "ours"])
    assert catalog.list_tables({"id": space}).tables == ["ours", "shouting"]
    for asking in (catalog.describe_table, catalog.deregister_table, catalog.drop_table, catalog.count_table_rows):
        with pytest.raises(InvalidInputError, match="not a Lance table"):
            asking({"id": [*space, "plain"]})


def test_deregistering_keeps_the_data_and_says_so_to_the_server(proxy: Proxy, tmp_path: Path) -> None:
    catalog = connect(proxy.endpoint, tmp_path)
    table = create(catalog, [*namespace(catalog), "t"])
    location = catalog.deregister_table({"id": table}).location
    assert proxy.sent("DELETE", f"/tables/{table[-1]}?purgeRequested=false") == 1
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": table})
    catalog.register_table({"id": table, "location": location})
    assert catalog.count_table_rows({"id": table}).count == 3


def test_the_data_of_a_deregistered_table_is_in_the_way_of_a_new_one(catalog: IcebergCatalog) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    location = catalog.deregister_table({"id": table}).location
    with pytest.raises(ConcurrentModificationError, match="Register it"):
        create(catalog, table, mode="overwrite")
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": table})
    catalog.register_table({"id": table, "location": location})
    assert catalog.count_table_rows({"id": table}).count == 3


def test_properties_are_kept_and_storage_options_are_no_properties(catalog: IcebergCatalog, iceberg: Iceberg) -> None:
    table = [*namespace(catalog), "t"]
    declared = catalog.declare_table({"id": table, "properties": {"owner": "ralph", "storage.region": "eu"}})
    described = catalog.describe_table({"id": table})
    for response in (declared, described):
        assert response.storage_options == {"region": "eu"}
        properties = response.properties or {}
        assert (properties["owner"], properties["table_type"]) == ("ralph", "lance")
        assert not {"storage.region", CLAIM} & set(properties)
    other = connect(iceberg.endpoint, **{"storage.region": "us", "storage.timeout": "9s"})
    assert other.describe_table({"id": table}).storage_options == {"region": "eu", "timeout": "9s"}


def test_a_failed_create_leaves_nothing(catalog: IcebergCatalog, tmp_path: Path) -> None:
    table = [*namespace(catalog), "t"]
    with pytest.raises(InvalidInputError):
        catalog.create_table({"id": table}, b"no Arrow")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": table})


def test_dropping_a_table_spares_what_lies_inside_its_location(catalog: IcebergCatalog, tmp_path: Path) -> None:
    space = namespace(catalog)
    outer, inner = [*space, "outer"], [*space, "inner"]
    catalog.declare_table({"id": outer, "location": f"{tmp_path}/place"})
    catalog.declare_table({"id": inner, "location": f"{tmp_path}/place/inner"})
    create(catalog, outer)
    create(catalog, inner)
    others = [tmp_path / "place" / name for name in ("notes.txt", ".git/config", "data/photo.jpg", "_own/x")]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("mine")
    catalog.drop_table({"id": outer})
    assert catalog.count_table_rows({"id": inner}).count == 3
    assert [path.name for path in (tmp_path / "place").iterdir() if path.is_file()] == ["notes.txt"]
    assert all(other.exists() for other in others)


def test_a_dropped_table_leaves_nothing_and_a_name_moves(catalog: IcebergCatalog, tmp_path: Path) -> None:
    space = namespace(catalog)
    table = create(catalog, [*space, "t"])
    catalog.rename_table({"id": table, "new_table_name": "moved"})
    assert catalog.list_tables({"id": space}).tables == ["moved"]
    with pytest.raises(InvalidInputError, match="warehouse"):
        catalog.rename_table({"id": [*space, "moved"], "new_table_name": "t", "new_namespace_id": ["other", space[1]]})
    catalog.drop_table({"id": [*space, "moved"]})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# -- lists -----------------------------------------------------------------------------------------


def test_pages_of_the_server_are_followed_to_the_end(proxy: Proxy, tmp_path: Path) -> None:
    catalog = connect(proxy.endpoint, tmp_path, page_size=2)
    space = namespace(catalog)
    for number in range(5):
        catalog.create_namespace({"id": [*space, f"n{number}"]})
        catalog.declare_table({"id": [*space, f"t{number}"]})
    before = len(proxy.requests)
    assert catalog.list_namespaces({"id": space}).namespaces == [f"n{number}" for number in range(5)]
    assert len(proxy.requests) - before == 3
    assert catalog.list_tables({"id": space}).tables == [f"t{number}" for number in range(5)]
    assert proxy.sent("GET", "/tables?pageToken=") == 3


def test_tables_are_looked_at_concurrently_and_within_bounds(proxy: Proxy, tmp_path: Path) -> None:
    catalog = connect(proxy.endpoint, tmp_path, concurrency=3)
    space = namespace(catalog)
    names = [f"t{number:02}" for number in range(20)]
    for name in names:
        catalog.declare_table({"id": [*space, name]})
    proxy.busiest, before = 0, len(proxy.requests)
    assert catalog.list_tables({"id": space}).tables == names
    assert len(proxy.requests) - before == 1 + len(names)
    assert 1 < proxy.busiest <= 3


def test_a_page_of_ours_looks_at_no_more_tables_than_it_may_need(proxy: Proxy, tmp_path: Path) -> None:
    catalog = connect(proxy.endpoint, tmp_path, concurrency=2)
    space = namespace(catalog)
    for number in range(30):
        catalog.declare_table({"id": [*space, f"t{number:02}"]})
    before = len(proxy.requests)
    page = catalog.list_tables({"id": space, "limit": 3})
    assert page.tables == ["t00", "t01", "t02"]
    assert len(proxy.requests) - before <= 1 + 8


def test_no_table_is_lost_where_a_namespace_has_its_name(catalog: IcebergCatalog) -> None:
    space = namespace(catalog)
    expected: list[str] = []
    for path in (["a"], ["a", "x"], ["a", "y"], ["b"], ["c", "x"], ["c", "x", "z"], ["d"]):
        for depth in range(1, len(path)):
            catalog.create_namespace({"id": [*space, *path[:depth]], "mode": "exist_ok"})
        catalog.declare_table({"id": [*space, *path]})
        expected.append("$".join((*space, *path)))
    assert catalog.list_all_tables({"id": space}).tables == expected
    for limit in (1, 2, 3):
        names, token = list[str](), None
        while token is not None or not names:
            page = catalog.list_all_tables({"id": space, "limit": limit, "page_token": token})
            names += page.tables
            token = page.page_token
        assert names == expected, limit


# -- what is asked, and how often ------------------------------------------------------------------


def test_what_each_operation_costs(proxy: Proxy, tmp_path: Path) -> None:
    catalog = connect(proxy.endpoint, tmp_path)
    space = namespace(catalog)
    table = [*space, "t"]

    def cost(asking: Any, **request: Any) -> int:
        before = len(proxy.requests)
        asking(request)
        return len(proxy.requests) - before

    assert proxy.sent("GET", "/v1/config") == 1
    assert cost(catalog.declare_table, id=table) == 2  # the namespace first
    assert cost(catalog.describe_table, id=table) == 1
    assert cost(catalog.table_exists, id=table) == 1
    assert cost(catalog.describe_namespace, id=space) == 1
    assert cost(catalog.list_tables, id=space) == 2
    assert cost(catalog.deregister_table, id=table) == 2
    assert cost(catalog.drop_namespace, id=space) == 2
    assert proxy.sent("GET", "/v1/config") == 1


def test_the_tables_of_a_catalog_are_read_and_written_by_pylance_alone(catalog: IcebergCatalog) -> None:
    import lance

    table = [*namespace(catalog), "t"]
    lance.write_dataset(ROWS, namespace_client=catalog, table_id=table, mode="create")
    assert lance.dataset(namespace_client=catalog, table_id=table).count_rows() == 3
    assert catalog.count_table_rows({"id": table}).count == 3
