"""What Gravitino has of Lance tables, and what is kept of what people gave them there, on a server that speaks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lanceway.catalogs import GravitinoCatalog
from lanceway.catalogs.contract.capabilities import KeepsDetails
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from tests.servers.gravitino import Gravitino
from tests.servers.lanceway import Lanceway

ROWS = pa.table({"id": [1, 2, 3]})


def create(catalog: GravitinoCatalog, *id_: str, **options: Any) -> list[str]:
    catalog.create_table_stream({"id": list(id_), **options}, ROWS.to_reader())
    return list(id_)


@pytest.fixture
def schema(place: Gravitino, catalog: GravitinoCatalog) -> list[str]:
    catalog.create_namespace({"id": [place.catalog, "s"]})
    return [place.catalog, "s"]


def test_a_table_is_what_gravitino_calls_a_lance_table(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str]
) -> None:
    table = create(catalog, *schema, "t", properties={"team": "red", "comment": "what is sold"})
    row = place.stored("s", "t")
    assert (row["name"], row["comment"]) == ("t", "what is sold")
    assert {key: row["properties"][key] for key in ("format", "external", "team")} == {
        "format": "lance",
        "external": "true",
        "team": "red",
    }
    assert [column["name"] for column in row["columns"]] == ["id"], "the server reads what was written"
    described = catalog.describe_table({"id": table})
    assert described.properties == {"team": "red", "comment": "what is sold"}
    assert described.location == row["properties"]["location"]
    assert described.managed_versioning is None


def test_a_root_of_ones_own_gives_each_table_a_folder(place: Gravitino, schema: list[str], tmp_path: Path) -> None:
    with place.connect(root=str(tmp_path / "own root")) as catalog:
        location = catalog.declare_table({"id": [*schema, "t"]}).location
    assert location is not None
    assert str(tmp_path / "own root" / schema[0] / "s") in location
    assert location.endswith(".lance")


def test_schemas_nest_by_the_separator_of_the_server(place: Gravitino, catalog: GravitinoCatalog) -> None:
    for names in (["a"], ["a", "b"], ["a", "b", "c"], ["ab"]):
        catalog.create_namespace({"id": [place.catalog, *names]})
    table = create(catalog, place.catalog, "a", "b", "c", "t")
    assert place.stored("a:b:c", "t")["name"] == "t"
    assert catalog.list_namespaces({"id": [place.catalog]}).namespaces == ["a", "ab"]
    assert catalog.list_namespaces({"id": [place.catalog, "a", "b"]}).namespaces == ["c"]
    assert catalog.list_all_tables({"id": [place.catalog]}).tables == ["$".join(table)]
    assert place.catalog in catalog.list_namespaces({"id": []}).namespaces
    with pytest.raises(InvalidInputError, match="joins the names of nested schemas"):
        catalog.describe_namespace({"id": [place.catalog, "a:b"]})


def test_a_parent_is_not_made_by_the_way(place: Gravitino, catalog: GravitinoCatalog) -> None:
    with pytest.raises(NamespaceNotFoundError):
        catalog.create_namespace({"id": [place.catalog, "x", "y"]})
    assert catalog.list_namespaces({"id": [place.catalog]}).namespaces == []


def test_a_catalog_is_made_in_gravitino_alone(place: Gravitino, catalog: GravitinoCatalog) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace({"id": [place.catalog]})
    with pytest.raises(InvalidInputError, match="made in Gravitino itself"):
        catalog.create_namespace({"id": ["one-that-is-missing"]})
    with pytest.raises(InvalidInputError, match="Gravitino itself"):
        catalog.drop_namespace({"id": [place.catalog]})
    with pytest.raises(InvalidInputError, match="Gravitino itself"):
        catalog.create_namespace({"id": [place.catalog], "mode": "overwrite"})


def test_an_empty_schema_is_overwritten_in_place(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str]
) -> None:
    made = place.ask("GET", f"/catalogs/{place.catalog}/schemas/s")["schema"]["audit"]["createTime"]
    catalog.create_namespace({"id": schema, "mode": "overwrite", "properties": {"a": "1", "b": "2"}})
    catalog.create_namespace({"id": schema, "mode": "overwrite", "properties": {"b": "3"}})
    assert catalog.describe_namespace({"id": schema}).properties == {"b": "3"}
    assert place.ask("GET", f"/catalogs/{place.catalog}/schemas/s")["schema"]["audit"]["createTime"] == made
    create(catalog, *schema, "t")
    with pytest.raises(NamespaceNotEmptyError, match="it holds 't'"):
        catalog.create_namespace({"id": schema, "mode": "overwrite"})
    with pytest.raises(UnsupportedOperationError, match="would keep the data"):
        catalog.drop_namespace({"id": schema, "behavior": "cascade"})


def test_what_gravitino_records_is_shown_and_properties_change(catalog: GravitinoCatalog, schema: list[str]) -> None:
    table = create(catalog, *schema, "t", properties={"team": "red", "stage": "new"})
    assert isinstance(catalog, KeepsDetails)
    details = catalog.object_details(table, is_namespace=False)
    assert (details.created_by, details.properties) == ("admin", {"team": "red", "stage": "new"})
    assert details.created_at is not None
    assert catalog.alter_table_properties(table, {"team": "blue", "stage": None}) == {"team": "blue"}
    with pytest.raises(InvalidInputError, match="'location' of "):
        catalog.alter_table_properties(table, {"location": "s3://elsewhere"})
    claim, made = catalog.object_identity(table, is_namespace=False) or (None, None)
    assert (bool(claim), made) == (True, details.created_at)
    assert catalog.object_identity(schema, is_namespace=True) == (
        None,
        catalog.object_details(schema, is_namespace=True).created_at,
    )


def owner(place: Gravitino, name: str) -> dict[str, str]:
    found: dict[str, str] = place.ask("GET", f"/owners/table/{place.catalog}.{name}")["owner"]
    return found


@pytest.mark.parametrize("change", ["rename", "replace"])
def test_a_table_keeps_its_owner(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str], server: Lanceway, change: str
) -> None:
    table = create(catalog, *schema, "t")
    other = create(catalog, *schema, "other")
    user = f"u-{place.catalog}"
    server.token_for(user)
    place.ask("PUT", f"/owners/table/{place.catalog}.s.t", json={"name": user, "type": "USER"})
    if change == "rename":
        catalog.rename_table({"id": table, "new_table_name": "u"})
        assert owner(place, "s.u")["name"] == user
    else:
        location = catalog.deregister_table({"id": other}).location
        catalog.register_table({"id": table, "location": location, "mode": "overwrite"})
        assert catalog.describe_table({"id": table}).location == location
        assert owner(place, "s.t")["name"] == user


def test_a_table_that_is_not_external_keeps_its_row(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str]
) -> None:
    """Gravitino deletes the data of such a table with its row, so that only a drop may take the row away."""
    columns = [{"name": "id", "type": "long", "nullable": True}]
    body = {"name": "managed", "columns": columns, "properties": {"format": "lance"}}
    place.ask("POST", f"/catalogs/{place.catalog}/schemas/s/tables", json=body)
    table = [*schema, "managed"]
    assert catalog.list_tables({"id": schema}).tables == ["managed"]
    with pytest.raises(UnsupportedOperationError, match="its data is deleted with its row"):
        catalog.deregister_table({"id": table})
    assert catalog.count_table_rows({"id": table}).count == 0
    catalog.drop_table({"id": table})
    assert catalog.list_tables({"id": schema}).tables == []


def test_a_table_of_another_format_is_not_listed(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str], server: Lanceway
) -> None:
    field = {"id": 1, "name": "n", "required": False, "type": "long"}
    body = {"name": "ice", "schema": {"type": "struct", "schema-id": 0, "fields": [field]}}
    with server.client() as client:
        client.post(f"/iceberg/v1/{place.catalog}/namespaces/s/tables", json=body).raise_for_status()
    create(catalog, *schema, "t")
    assert place.stored("s", "ice")["properties"]["format"] == "iceberg"
    assert catalog.list_tables({"id": schema}).tables == ["t"]
    with pytest.raises(InvalidInputError, match="not a Lance table"):
        catalog.describe_table({"id": [*schema, "ice"]})


def test_declared_tables_are_left_out_of_a_list_where_that_is_asked(
    catalog: GravitinoCatalog, schema: list[str]
) -> None:
    for name in ("c", "a", "b"):
        create(catalog, *schema, name)
    catalog.declare_table({"id": [*schema, "aa"]})
    assert catalog.list_tables({"id": schema, "limit": 2, "include_declared": False}).tables == ["a", "b"]


def test_a_wrong_token_is_said_and_not_shown(place: Gravitino, schema: list[str]) -> None:
    with place.connect(auth_token="wrong-hush") as catalog:
        assert "wrong-hush" not in repr(catalog)
        with pytest.raises(UnauthenticatedError, match="Check auth_token") as refused:
            catalog.list_tables({"id": schema})
    assert "wrong-hush" not in str(refused.value)


def test_it_is_mounted_in_a_servers_tree_with_its_details(
    place: Gravitino, catalog: GravitinoCatalog, schema: list[str], server: Lanceway
) -> None:
    """The server mounts its own metalake: its tables are reached over Gravitino's protocol."""
    create(catalog, *schema, "t")
    name = f"m{place.catalog}"
    settings = {"endpoint": server.address, "metalake": place.metalake, "auth_token": server.token}
    body = {"name": name, "type": "gravitino", "settings": settings}
    with server.client() as client:
        made = client.post("/lanceway/v1/catalogs", json=body)
        assert made.status_code in (200, 201), made.text
        try:
            assert server.token not in json.dumps(made.json())
            path = "$".join([name, *schema, "t"])
            assert client.post(f"/lance/v1/table/{path}/count_rows", json={}).json() == 3
        finally:
            client.delete(f"/lanceway/v1/catalogs/{name}").raise_for_status()
