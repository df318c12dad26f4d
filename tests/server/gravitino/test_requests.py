"""Wrong requests: each is refused with Gravitino's envelope, its type and its code, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lanceway.lake.store.database import LakeStore
from lanceway.wire.gravitino import UNSUPPORTED as TITLES
from lanceway.wire.gravitino import UNSUPPORTED_METHODS
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog, refused
from tests.servers.lanceway import Lanceway

ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


@pytest.fixture(scope="module")
def store(server: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(server)
    yield opened
    opened.close()


@pytest.fixture
def admin(server: Lanceway, store: LakeStore) -> Iterator[Asker]:
    with asking(server, server.token, new_catalog(store, server)) as asker:
        yield asker


def test_what_there_is_not(admin: Asker) -> None:
    for path in TITLES:
        url = path.format(metalake="lanceway", catalog="lake", schema="s", table="t", type="schema", object="lake.s")
        for method in ("GET", "POST", "PUT", "DELETE"):
            assert refused(admin.client.request(method, f"/api{url}")) == UNSUPPORTED, url
            assert refused(admin.client.request(method, f"/api{url}/more")) == UNSUPPORTED, url
    for method, path in UNSUPPORTED_METHODS:
        url = path.format(metalake="lanceway")
        assert refused(admin.client.request(method, f"/api{url}", json={"name": "m"})) == UNSUPPORTED, url


def test_paths_and_methods(admin: Asker) -> None:
    assert refused(admin.client.get("/api/nothing")) == (404, 1003, "NotFoundException")
    assert refused(admin.client.get("/api/metalakes/other")) == (404, 1003, "NoSuchMetalakeException")
    assert refused(admin.client.get("/api/metalakes/other/catalogs")) == (404, 1003, "NoSuchMetalakeException")
    assert refused(admin.ask("PATCH", admin.schemas("A"))) == UNSUPPORTED
    assert refused(admin.ask("GET", "/catalogs/none")) == (404, 1003, "NoSuchCatalogException")
    assert refused(admin.ask("GET", "/catalogs/none/schemas")) == (404, 1003, "NoSuchCatalogException")
    assert refused(admin.ask("GET", "/catalogs/none/schemas/A")) == (404, 1003, "NoSuchCatalogException")
    assert refused(admin.ask("DELETE", "/catalogs/none/schemas/A")) == (404, 1003, "NoSuchCatalogException")
    assert refused(admin.ask("GET", admin.schemas("A", "tables"))) == (404, 1003, "NoSuchSchemaException")
    assert admin.ask("GET", "/catalogs/").status_code == 200


def test_without_credentials(admin: Asker) -> None:
    for headers in ({}, {"Authorization": "Basic Ym9iOmR1bW15"}, {"Authorization": "Basic ?"}, {"Authorization": "x"}):
        answer = admin.client.get("/api/metalakes", headers={"Authorization": "", **headers})
        assert refused(answer) == (401, 1011, "UnauthorizedException"), headers


BODIES: tuple[Any, ...] = (
    b"",
    b"null",
    b"[]",
    b"{",
    b'{"name": 1}',
    b'{"name": "a", "properties": {"k": 1}}',
    b'{"name": "a", "properties": []}',
    b"\xff\xfe",
    b"[" * 100_000,
)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:20]))
def test_bodies_that_cannot_be_read(admin: Asker, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert refused(admin.ask("POST", admin.schemas(), content=body, headers=headers)) == ILLEGAL
    assert admin.list() == "-"


def test_a_body_of_another_type(admin: Asker) -> None:
    answer = admin.ask("POST", admin.schemas(), content=b'{"name": "a"}', headers={"content-type": "text/plain"})
    assert refused(answer) == (415, 1001, "IllegalArgumentException")
    content_type = {"content-type": "application/vnd.gravitino.v1+json"}
    assert admin.ask("POST", admin.schemas(), content=b'{"name": "a"}', headers=content_type).is_success


def test_cascade(admin: Asker) -> None:
    admin.make("A:B")
    for text in ("true", "True", "TRUE"):
        answer = admin.ask("DELETE", admin.schemas("A:B"), params={"cascade": text})
        assert refused(answer) == UNSUPPORTED
        assert "cascade" in answer.json()["message"]
    assert refused(admin.ask("DELETE", admin.schemas("A:B"), params={"cascade": "maybe"})) == ILLEGAL
    assert refused(admin.ask("DELETE", admin.schemas("A"))) == (409, 1005, "NonEmptySchemaException")
    assert admin.list("A") == "A:B"
    assert admin.ask("DELETE", admin.schemas("A:B"), params={"cascade": "False"}).json()["dropped"]
    assert not admin.ask("DELETE", admin.schemas("A:B")).json()["dropped"]
    assert admin.list() == "A"
    assert refused(admin.ask("DELETE", f"/catalogs/{admin.catalog}")) == (409, 1005, "NonEmptyCatalogException")


def test_updates(admin: Asker) -> None:
    admin.make("A")
    wrong: tuple[tuple[Any, tuple[int, int, str]], ...] = (
        ([], ILLEGAL),
        ([{}], ILLEGAL),
        ([{"@type": "setProperty", "property": "a"}], ILLEGAL),
        ([{"@type": "setProperty", "value": "a"}], ILLEGAL),
        ([{"@type": "removeProperty"}], ILLEGAL),
        ([{"@type": "setProperty", "property": "lanceway.x", "value": "a"}], ILLEGAL),
        ([{"@type": "rename", "newName": "b"}], UNSUPPORTED),
    )
    for updates, error in wrong:
        assert refused(admin.ask("PUT", admin.schemas("A"), {"updates": updates})) == error, updates
    assert admin.ask("GET", admin.schemas("A")).json()["schema"]["properties"] == {}


COLUMN = {"name": "a", "type": "long"}
TABLES: tuple[tuple[dict[str, Any], tuple[int, int, str]], ...] = (
    ({"columns": [{**COLUMN, "type": "bigint"}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": None}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": "null", "nullable": False}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": "decimal(99,1)"}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": "timestamp(4)"}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": "uuid"}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": {"type": "union", "types": ["long"]}}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": {"type": "list"}}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": {"type": "external", "catalogString": "x"}}]}, ILLEGAL),
    ({"columns": [{**COLUMN, "type": {"type": "external", "catalogString": "{}"}}]}, ILLEGAL),
    ({"columns": [COLUMN, COLUMN]}, ILLEGAL),
    ({"columns": [{**COLUMN, "autoIncrement": True}]}, UNSUPPORTED),
    ({"columns": [{**COLUMN, "defaultValue": {"type": "literal"}}]}, UNSUPPORTED),
    ({"columns": [COLUMN], "partitioning": [{"strategy": "identity"}]}, UNSUPPORTED),
    ({"columns": [COLUMN], "sortOrders": [{}]}, UNSUPPORTED),
    ({"columns": [COLUMN], "indexes": [{}]}, UNSUPPORTED),
    ({"columns": [COLUMN], "distribution": {"strategy": "hash", "number": 3}}, UNSUPPORTED),
    ({"columns": [COLUMN], "properties": {"format": "iceberg"}}, UNSUPPORTED),
    ({"columns": [COLUMN], "properties": {"location": "/elsewhere"}}, UNSUPPORTED),
    ({"columns": [COLUMN], "properties": {"lance.creation-mode": "maybe"}}, ILLEGAL),
    ({"columns": [COLUMN], "properties": {"lance.storage.aws_secret_access_key": "sesame"}}, ILLEGAL),
    ({"columns": [COLUMN], "properties": {"lanceway.view": "x"}}, ILLEGAL),
    ({"properties": {"lance.register": "true"}}, ILLEGAL),
    ({"columns": [COLUMN], "name": "50%"}, ILLEGAL),
    ({"columns": [COLUMN], "name": ""}, ILLEGAL),
)


@pytest.mark.parametrize(("body", "error"), TABLES, ids=lambda value: str(value)[:60])
def test_tables_that_cannot_be(admin: Asker, body: dict[str, Any], error: tuple[int, int, str]) -> None:
    admin.make("A:B")
    answer = admin.ask("POST", admin.schemas("A:B", "tables"), {"name": "t", **body})
    assert refused(answer) == error
    assert "sesame" not in answer.text
    assert admin.ask("GET", admin.schemas("A:B", "tables")).json()["identifiers"] == []


def test_grants_that_cannot_be(admin: Asker) -> None:
    admin.make("A")
    role, name = f"role-{admin.catalog}", f"{admin.catalog}.A"
    use = {"name": "USE_SCHEMA", "condition": "ALLOW"}
    object_ = {"fullName": name, "type": "SCHEMA", "privileges": [use]}
    wrong: tuple[tuple[list[Any], tuple[int, int, str]], ...] = (
        ([object_, object_], ILLEGAL),
        ([{**object_, "privileges": [use, {**use, "condition": "DENY"}]}], (400, 1001, "IllegalPrivilegeException")),
        ([{**object_, "privileges": [{**use, "condition": "perhaps"}]}], (400, 1001, "IllegalPrivilegeException")),
        ([{**object_, "privileges": [{"name": "USE_MAGIC"}]}], (400, 1001, "IllegalPrivilegeException")),
        ([{**object_, "privileges": [{"name": "USE_CATALOG"}]}], (400, 1001, "IllegalPrivilegeException")),
        ([{**object_, "privileges": [{"name": "READ_FILESET"}]}], UNSUPPORTED),
        ([{**object_, "type": "FILESET"}], UNSUPPORTED),
        ([{**object_, "type": "nothing"}], ILLEGAL),
        ([{**object_, "fullName": f"{name}.t"}], ILLEGAL),
        ([{**object_, "fullName": f"{name}:none"}], (404, 1003, "NoSuchMetadataObjectException")),
        ([{**object_, "type": "METALAKE", "fullName": "other"}], ILLEGAL),
    )
    for objects, error in wrong:
        assert refused(admin.ask("POST", "/roles", {"name": role, "securableObjects": objects})) == error, objects
        assert refused(admin.ask("GET", f"/roles/{role}")) == (404, 1003, "NoSuchRoleException")
    assert admin.ask("POST", "/roles", {"name": role, "securableObjects": [object_]}).is_success
    properties = {"name": "other", "properties": {"team": "a"}}
    assert refused(admin.ask("POST", "/roles", properties)) == ILLEGAL
    override = {"overrides": [{**object_, "privileges": [{"name": "CREATE_TABLE", "condition": "DENY"}]}]}
    told = admin.ask("PUT", f"/permissions/roles/{role}/", override).json()["role"]["securableObjects"]
    assert told == [{"fullName": name, "type": "schema", "privileges": [{"name": "create_table", "condition": "deny"}]}]
    assert admin.ask("GET", f"/objects/schema/{name}/roles").json() == {"code": 0, "names": [role]}
    assert refused(admin.ask("PUT", f"/owners/schema/{name}", {"name": "nobody", "type": "USER"}))[1] == 1003
    assert refused(admin.ask("PUT", f"/owners/schema/{name}", {"name": "admin", "type": "ROLE"})) == ILLEGAL
    assert refused(admin.ask("GET", "/owners/tag/x")) == UNSUPPORTED


def test_a_registered_table_keeps_its_data(admin: Asker, server: Lanceway) -> None:
    admin.make("A")
    tables = admin.schemas("A", "tables")
    first = admin.ask("POST", tables, {"name": "t", "columns": [COLUMN]}).json()["table"]
    assert admin.client.post(f"/lance/v1/table/{admin.catalog}$A$t/deregister", json={}).is_success
    properties = {"lance.register": "true", "location": first["properties"]["location"], "note": "n"}
    again = admin.ask("POST", tables, {"name": "u", "properties": properties}).json()["table"]
    assert again["properties"]["external"] == "true"
    assert [column["name"] for column in again["columns"]] == ["a"]
    assert admin.ask("DELETE", f"{tables}/u").json() == {"code": 0, "dropped": True}
    assert admin.ask("POST", tables, {"name": "v", "properties": properties}).is_success
    assert admin.ask("DELETE", f"{tables}/v", params={"purge": "true"}).json() == {"code": 0, "dropped": True}
    assert refused(admin.ask("POST", tables, {"name": "w", "properties": properties}))[0] in (400, 404)


def test_a_declared_table_has_no_columns(admin: Asker) -> None:
    admin.make("A")
    table = admin.ask("POST", admin.schemas("A", "tables"), {"name": "t"}).json()["table"]
    assert (table["columns"], table["properties"]["lance.declared"]) == ([], "true")
