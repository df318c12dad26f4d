"""pyiceberg, as it is, over the Iceberg dialect: two users, one tree, and a Lance client that sees it too."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewVersion

from lanceway.access.privileges import CREATE_SCHEMA, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.server.gravitino.gravitino_helpers import lake_of, new_catalog
from tests.servers.lanceway import Lanceway

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "name", StringType(), required=False))


def connect(server: Lanceway, warehouse: str, **auth: str) -> RestCatalog:
    return RestCatalog("ours", uri=f"{server.address}/iceberg", warehouse=warehouse, **auth)


@pytest.fixture
def warehouse(server: Lanceway) -> str:
    store = lake_of(server)
    name = new_catalog(store, server)
    store.close()
    return name


@pytest.fixture
def catalog(server: Lanceway, warehouse: str) -> RestCatalog:
    """The administrator's, who signs in with a secret as older clients do."""
    tokens = {"oauth2-server-uri": f"{server.address}/iceberg/v1/oauth/tokens"}
    return connect(server, warehouse, credential=f"admin:{server.token}", **tokens)


def rows(catalog: RestCatalog, *names: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog.load_table(names).scan().to_arrow().sort_by("id").to_pylist()
    return found


def test_namespaces(catalog: RestCatalog) -> None:
    catalog.create_namespace(("a", "b", "c"), {"owner": "ada"})
    assert catalog.list_namespaces() == [("a",)]
    assert catalog.list_namespaces(("a", "b")) == [("a", "b", "c")]
    assert catalog.namespace_exists(("a", "b"))
    assert not catalog.namespace_exists("none")
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace(("a", "b", "c"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.load_namespace_properties("none")
    summary = catalog.update_namespace_properties(("a", "b", "c"), removals={"owner", "none"}, updates={"k": "v"})
    assert (summary.removed, summary.updated, summary.missing) == (["owner"], ["k"], ["none"])
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("a")
    for names in (("a", "b", "c"), ("a", "b"), ("a",)):
        catalog.drop_namespace(names)
    assert catalog.list_namespaces() == []


@pytest.mark.parametrize("name", ["sp ace/sl", "per%cent", "d.o.t", "pl+us"])
def test_names_that_need_encoding(catalog: RestCatalog, name: str) -> None:
    catalog.create_namespace((name, "inner"))
    assert catalog.list_namespaces((name,)) == [(name, "inner")]
    catalog.create_table((name, "inner", name), SCHEMA)
    assert catalog.list_tables((name, "inner")) == [(name, "inner", name)]
    assert catalog.table_exists((name, "inner", name))
    catalog.load_table((name, "inner", name)).append(ROWS)
    assert len(rows(catalog, name, "inner", name)) == 3


def test_rows_are_written_read_and_evolve(catalog: RestCatalog) -> None:
    catalog.create_namespace(("team", "sales"))
    table = catalog.create_table(("team", "sales", "orders"), SCHEMA, properties={"owner": "ada"})
    table.append(ROWS)
    table.append(ROWS.slice(0, 1))
    assert [row["id"] for row in rows(catalog, "team", "sales", "orders")] == [1, 1, 2, 3]
    with table.update_schema() as update:
        update.add_column("price", LongType())
    table.append(pa.table({"id": pa.array([9], pa.int64()), "name": ["z"], "price": pa.array([5], pa.int64())}))
    found = rows(catalog, "team", "sales", "orders")
    assert found[-1] == {"id": 9, "name": "z", "price": 5}
    assert found[0]["price"] is None
    table.delete("id = 1")
    assert [row["id"] for row in rows(catalog, "team", "sales", "orders")] == [2, 3, 9]
    table.overwrite(ROWS.slice(2))
    assert [row["id"] for row in rows(catalog, "team", "sales", "orders")] == [3]
    first = table.history()[0].snapshot_id
    assert table.scan(snapshot_id=first).to_arrow().num_rows == 3


def test_a_transaction_makes_table_and_rows_at_once(catalog: RestCatalog) -> None:
    catalog.create_namespace("ns")
    with catalog.create_table_transaction("ns.t", SCHEMA) as transaction:
        assert not catalog.table_exists("ns.t")
        transaction.set_properties(k="v")
        transaction.append(ROWS)
    assert len(rows(catalog, "ns", "t")) == 3
    assert catalog.load_table("ns.t").properties["k"] == "v"


def test_a_stale_commit_is_refused(catalog: RestCatalog) -> None:
    catalog.create_namespace("ns")
    catalog.create_table("ns.t", SCHEMA)
    ours, theirs = catalog.load_table("ns.t"), catalog.load_table("ns.t")
    with ours.update_schema() as update:
        update.add_column("a", LongType())
    with pytest.raises(CommitFailedException, match="Requirement failed"), theirs.update_schema() as update:
        update.add_column("b", LongType())
    assert [field.name for field in catalog.load_table("ns.t").schema().fields] == ["id", "name", "a"]


def test_rename_drop_and_register(catalog: RestCatalog) -> None:
    catalog.create_namespace("ns")
    catalog.create_namespace("other")
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table("ns.t", SCHEMA)
    assert catalog.rename_table("ns.t", "other.u").name() == ("other", "u")
    with pytest.raises(NoSuchTableError):
        catalog.load_table("ns.t")
    place = catalog.load_table("other.u").metadata_location
    catalog.drop_table("other.u")
    assert catalog.list_tables("other") == []
    catalog.register_table("ns.back", place)
    assert len(rows(catalog, "ns", "back")) == 3
    catalog.purge_table("ns.back")
    assert not catalog.table_exists("ns.back")


def test_views(catalog: RestCatalog) -> None:
    catalog.create_namespace("ns")
    version = ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=1,
        summary={},
        representations=[SQLViewRepresentation(type="sql", sql="SELECT 1 AS id", dialect="spark")],
        default_namespace=["ns"],
    )
    for name in ("v", "sp ace"):
        catalog.create_view(("ns", name), SCHEMA, version)
    assert catalog.list_views("ns") == [("ns", "sp ace"), ("ns", "v")]
    assert catalog.view_exists(("ns", "sp ace"))
    assert catalog.load_view("ns.v").current_version().representations[0].root.sql == "SELECT 1 AS id"
    catalog.drop_view("ns.v")
    assert not catalog.view_exists("ns.v")


def test_two_users_of_one_tree(server: Lanceway, warehouse: str, catalog: RestCatalog) -> None:
    catalog.create_namespace(("team", "sales"))
    catalog.create_table("team.sales.orders", SCHEMA).append(ROWS)
    reader = connect(
        server, warehouse, token=server.token_for(f"reader-{warehouse}", USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    )
    assert len(rows(reader, "team", "sales", "orders")) == 3
    with pytest.raises(ForbiddenError):
        reader.load_table("team.sales.orders").append(ROWS)
    with pytest.raises(ForbiddenError):
        reader.drop_table("team.sales.orders")
    maker = connect(server, warehouse, token=server.token_for(f"maker-{warehouse}", USE_CATALOG, CREATE_SCHEMA))
    maker.create_namespace("mine")
    maker.create_table("mine.t", SCHEMA).append(ROWS)
    assert maker.list_namespaces() == [("mine",)]
    with pytest.raises(ForbiddenError):
        maker.load_table("team.sales.orders")
    assert len(rows(catalog, "mine", "t")) == 3


def test_lance_clients_see_the_same_tree(server: Lanceway, warehouse: str, catalog: RestCatalog) -> None:
    import lanceway

    catalog.create_namespace(("team", "sales"))
    catalog.create_table("team.sales.orders", SCHEMA)
    lance = lanceway.connect("rest", uri=server.uri, token=server.token)
    name = f"fruit{uuid.uuid4().hex[:6]}"
    lance.create_table_stream({"id": [warehouse, "team", "sales", name]}, ROWS.to_reader())
    assert lance.list_tables({"id": [warehouse, "team", "sales"]}).tables == [name]
    assert catalog.list_tables(("team", "sales")) == [("team", "sales", name), ("team", "sales", "orders")]
    companion = catalog.load_table(("team", "sales", name))
    assert companion.properties["table_type"] == "lance"
    with pytest.raises(lanceway.errors.InvalidInputError, match="Iceberg"):
        lance.describe_table({"id": [warehouse, "team", "sales", "orders"]})
