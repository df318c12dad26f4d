"""Tables as Iceberg clients have them: made, staged, registered, loaded, renamed, dropped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanceway.access.privileges import CREATE_SCHEMA, CREATE_TABLE, USE_CATALOG
from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, IcebergAsker, asking, refused
from tests.server.server_helpers import stream, table
from tests.servers.lanceway import Lanceway

TABLES, ONE = "/tables", "/tables/t"
SPEC = {"spec-id": 0, "fields": [{"name": "id", "transform": "identity", "source-id": 1, "field-id": 1000}]}
ORDER = {
    "order-id": 1,
    "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}],
}


def made(admin: IcebergAsker, name: str = "t", **more: Any) -> dict[str, Any]:
    admin.create("ns")
    answer = admin.create_table("ns", name, **more)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def names(admin: IcebergAsker, **query: Any) -> list[str]:
    body = admin.ask("GET", admin.at("ns", then=TABLES), params=query).raise_for_status().json()
    assert all(row["namespace"] == ["ns"] for row in body["identifiers"])
    return [row["name"] for row in body["identifiers"]]


def test_a_table_is_made_and_loaded(admin: IcebergAsker) -> None:
    created = made(admin, properties={"owner": "ada"}, **{"partition-spec": SPEC, "write-order": ORDER})
    assert created["metadata"]["properties"]["owner"] == "ada"
    assert created["metadata"]["location"].startswith("file://")
    assert created["metadata-location"].startswith(created["metadata"]["location"])
    assert created["metadata"]["partition-specs"][0]["fields"][0]["name"] == "id"
    assert created["config"] == {}
    loaded = admin.ask("GET", admin.at("ns", then=ONE))
    assert loaded.json() == created
    assert names(admin) == ["t"]
    assert admin.ask("HEAD", admin.at("ns", then=ONE)).status_code == 204


def test_a_staged_table_is_made_by_its_commit(admin: IcebergAsker) -> None:
    staged = made(admin, **{"stage-create": True})
    assert "metadata-location" not in staged
    assert admin.ask("HEAD", admin.at("ns", then=ONE)).status_code == 404
    assert names(admin) == []
    metadata = staged["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": metadata["schemas"][0], "last-column-id": 2},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
        {"action": "set-properties", "updates": {"k": "v"}},
    ]
    commit = {"requirements": [{"type": "assert-create"}], "updates": updates}
    answer = admin.ask("POST", admin.at("ns", then=ONE), commit)
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["table-uuid"] == metadata["table-uuid"]
    assert names(admin) == ["t"]
    again = admin.ask("POST", admin.at("ns", then=ONE), commit)
    assert again.status_code == 409


def test_a_name_that_is_taken(admin: IcebergAsker) -> None:
    made(admin)
    answer = admin.create_table("ns", "t")
    assert refused(answer) == (409, "AlreadyExistsException")
    assert answer.json()["error"]["message"].startswith("Table already exists: ns.t")


@pytest.mark.parametrize(
    ("method", "then", "body"),
    [
        ("GET", "", None),
        ("DELETE", "", None),
        ("POST", "", {"requirements": [], "updates": []}),
        ("POST", "/unregister", None),
    ],
)
def test_a_table_that_is_missing(admin: IcebergAsker, method: str, then: str, body: Any) -> None:
    admin.make("ns")
    answer = admin.ask(method, admin.at("ns", then=f"{ONE}{then}"), body)
    assert refused(answer) == (404, "NoSuchTableException")
    assert answer.json()["error"]["message"].startswith("Table does not exist: ns.t")


def test_a_namespace_that_is_missing(admin: IcebergAsker) -> None:
    for answer in (admin.create_table("none", "t"), admin.ask("GET", admin.at("none", then=TABLES))):
        assert refused(answer) == (404, "NoSuchNamespaceException")
        assert answer.json()["error"]["message"] == "Namespace does not exist: none"


def test_a_table_of_a_namespace_that_is_missing_is_missing(admin: IcebergAsker) -> None:
    """Clients look for the files of `ns.t` by loading a table of that name, and go on when it is no table."""
    made(admin)
    for method in ("GET", "DELETE"):
        answer = admin.ask(method, admin.at("ns", "t", then=f"{TABLES}/files"))
        assert refused(answer) == (404, "NoSuchTableException")
        assert answer.json()["error"]["message"].startswith("Table does not exist: ns.t.files")


def test_a_commit_that_makes_a_table_that_is_there(admin: IcebergAsker) -> None:
    made(admin)
    body = {"requirements": [{"type": "assert-create"}], "updates": []}
    answer = admin.ask("POST", admin.at("ns", then=ONE), body)
    assert refused(answer) == (409, "AlreadyExistsException")
    assert answer.json()["error"]["message"].startswith("Requirement failed: table already exists: ns.t")


def test_rename(admin: IcebergAsker) -> None:
    made(admin)
    made(admin, "other")
    admin.make("ns2")

    def renamed(source: str, namespace: str, target: str) -> Any:
        body = {
            "source": {"namespace": ["ns"], "name": source},
            "destination": {"namespace": [namespace], "name": target},
        }
        return admin.ask("POST", "/tables/rename", body)

    taken = renamed("t", "ns", "other")
    assert refused(taken) == (409, "AlreadyExistsException")
    assert "Table already exists" in taken.json()["error"]["message"]
    missing = renamed("none", "ns", "x")
    assert refused(missing) == (404, "NoSuchTableException")
    assert missing.json()["error"]["message"].startswith("Table does not exist: ns.none")
    nowhere = renamed("t", "none", "x")
    assert refused(nowhere) == (404, "NoSuchNamespaceException")
    assert nowhere.json()["error"]["message"].startswith("Namespace does not exist: none")
    assert renamed("t", "ns2", "moved").status_code == 204
    assert names(admin) == ["other"]
    assert admin.ask("HEAD", admin.at("ns2", then="/tables/moved")).status_code == 204


def test_drop_and_register_again(admin: IcebergAsker) -> None:
    created = made(admin)
    assert admin.ask("DELETE", admin.at("ns", then=ONE), params={"purgeRequested": "False"}).status_code == 204
    assert names(admin) == []
    body = {"name": "back", "metadata-location": created["metadata-location"]}
    answer = admin.ask("POST", admin.at("ns", then="/register"), body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["table-uuid"] == created["metadata"]["table-uuid"]
    assert refused(admin.ask("POST", admin.at("ns", then="/register"), body)) == (409, "AlreadyExistsException")


def test_unregister_returns_the_last_metadata(admin: IcebergAsker) -> None:
    created = made(admin)
    answer = admin.ask("POST", admin.at("ns", then=f"{ONE}/unregister"))
    assert answer.json() == {key: created[key] for key in ("metadata-location", "metadata")}
    assert names(admin) == []


def test_unregister_forgets_no_commit(admin: IcebergAsker, rounds: int) -> None:
    """Whichever comes first, a commit that was answered is in what is registered again."""
    change = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    for _ in range(max(10, rounds)):
        made(admin)
        with ThreadPoolExecutor(2) as pool:
            commit = pool.submit(admin.ask, "POST", admin.at("ns", then=ONE), change)
            unregister = pool.submit(admin.ask, "POST", admin.at("ns", then=f"{ONE}/unregister"))
        committed, gone = commit.result(), unregister.result()
        assert committed.status_code in (200, 404)
        assert gone.is_success, gone.text
        assert ("k" in gone.json()["metadata"]["properties"]) is committed.is_success
        body = {"name": "t", "metadata-location": gone.json()["metadata-location"]}
        admin.ask("POST", admin.at("ns", then="/register"), body).raise_for_status()
        admin.ask("DELETE", admin.at("ns", then=ONE), params={"purgeRequested": "true"}).raise_for_status()


def test_purge_in_any_case(admin: IcebergAsker) -> None:
    made(admin)
    answer = admin.ask("DELETE", admin.at("ns", then=ONE), params={"purgeRequested": "maybe"})
    assert refused(answer) == (400, "BadRequestException")
    assert admin.ask("DELETE", admin.at("ns", then=ONE), params={"purgeRequested": "TRUE"}).status_code == 204


def test_a_namespace_with_a_table_is_not_empty(admin: IcebergAsker) -> None:
    made(admin)
    answer = admin.ask("DELETE", admin.at("ns"))
    assert refused(answer) == (409, "NamespaceNotEmptyException")
    assert "the tables t" in answer.json()["error"]["message"]


def test_pages(admin: IcebergAsker) -> None:
    wanted = [f"t{number}" for number in range(5)]
    for name in wanted:
        made(admin, name)
    assert names(admin, pageSize=2) == wanted
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        page = admin.ask("GET", admin.at("ns", then=TABLES), params={"pageToken": token, "pageSize": 2}).json()
        assert len(page["identifiers"]) <= 2
        found += [row["name"] for row in page["identifiers"]]
        token = page.get("next-page-token")
    assert found == wanted


def test_a_lance_table_is_seen_as_a_companion(admin: IcebergAsker) -> None:
    made(admin)
    id_ = f"{admin.catalog}$ns$lance"
    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    admin.client.post(f"/lance/v1/table/{id_}/create", content=stream(table(1)), headers=headers).raise_for_status()
    assert names(admin) == ["lance", "t"]
    loaded = admin.ask("GET", admin.at("ns", then="/tables/lance")).json()
    assert loaded["metadata"]["properties"]["table_type"] == "lance"
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert refused(admin.ask("POST", admin.at("ns", then="/tables/lance"), commit))[0] == 406
    listed = admin.client.get(f"/lance/v1/namespace/{admin.catalog}$ns/table/list").json()
    assert listed["tables"] == ["lance"], "Lance clients do not see Iceberg tables"
    answer = admin.client.post(f"/lance/v1/table/{admin.catalog}$ns$t/describe", json={})
    assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_reports_of_clients(admin: IcebergAsker) -> None:
    made(admin)
    report = {
        "report-type": "scan-report",
        "table-name": "t",
        "snapshot-id": 1,
        "filter": True,
        "schema-id": 0,
        "projected-field-ids": [1],
        "projected-field-names": ["id"],
        "metrics": {},
    }
    path = admin.at("ns", then=f"{ONE}/metrics")
    assert admin.ask("POST", path, report).status_code == 204
    for wrong in ({**report, "report-type": "x"}, {**report, "schema-id": None}, {"report-type": "commit-report"}):
        assert refused(admin.ask("POST", path, wrong)) == (400, "BadRequestException")
    answer = admin.ask("POST", admin.at("ns", then="/tables/none/metrics"), report)
    assert refused(answer) == (404, "NoSuchTableException")


@pytest.mark.parametrize("name", ["sp ace", "d.o.t", "per%20cent", "sl/ash", "pl+us", "ä\u4e2d"])
def test_names(admin: IcebergAsker, name: str) -> None:
    from urllib.parse import quote

    made(admin, name)
    assert names(admin) == [name]
    path = admin.at("ns", then=f"/tables/{quote(name, safe='')}")
    assert admin.ask("GET", path).status_code == 200
    assert admin.ask("DELETE", path).status_code == 204


@pytest.mark.parametrize("name", ["", "a\x1fb", "\x00", "x" * 10_000, None, 1, ["a"]])
def test_names_that_cannot_be(admin: IcebergAsker, name: Any) -> None:
    admin.make("ns")
    answer = admin.ask("POST", admin.at("ns", then=TABLES), {"name": name, "schema": COLUMNS})
    assert refused(answer) == (400, "BadRequestException")
    assert names(admin) == []


@pytest.mark.parametrize(
    "more",
    [
        {"schema": {"type": "list"}},
        {"schema": {"type": "struct", "fields": [{"id": 1, "name": "a", "type": "no-such-type", "required": False}]}},
        {"schema": {"type": "struct", "fields": "x"}},
        {"partition-spec": {"spec-id": 0, "fields": [{"name": "x", "transform": "identity", "source-id": 99}]}},
        {"partition-spec": {"fields": 1}},
        {"write-order": {"order-id": 1, "fields": [{"transform": "identity", "source-id": 99}]}},
        {"properties": {"format-version": "3"}},
        {"properties": {"format-version": "x"}},
        {"properties": {"a": 1}},
        {"stage-create": "yes"},
        {"location": 1},
    ],
)
def test_tables_that_cannot_be(admin: IcebergAsker, more: dict[str, Any]) -> None:
    admin.make("ns")
    answer = admin.ask("POST", admin.at("ns", then=TABLES), {"name": "t", "schema": COLUMNS, **more})
    assert refused(answer) == (400, "BadRequestException")
    assert names(admin) == []


@pytest.mark.parametrize("place", ["s3://other/x", "file:///etc/x", "/etc/passwd", "../x", "http://h/x"])
def test_a_location_that_is_not_ones_own(server: Lanceway, admin: IcebergAsker, place: str) -> None:
    admin.make("ns")
    token = server.token_for(f"u{admin.catalog}{abs(hash(place))}", USE_CATALOG, CREATE_SCHEMA, CREATE_TABLE)
    with asking(server, token, admin.catalog) as user:
        user.make("mine")
        answer = user.create_table("mine", "t", location=place)
        assert answer.status_code in (400, 403), answer.text
        body = {"name": "t", "metadata-location": f"{place}/00000-x.metadata.json"}
        answer = user.ask("POST", user.at("mine", then="/register"), body)
        assert answer.status_code in (400, 403, 404), answer.text
        assert user.ask("HEAD", user.at("mine", then=ONE)).status_code == 404


def test_many_properties(admin: IcebergAsker) -> None:
    properties = {f"k{number:05}": "v" for number in range(10_000)}
    created = made(admin, properties=properties)
    assert properties.items() <= created["metadata"]["properties"].items()


def test_tables_of_a_mounted_catalog_page_by_page(admin: IcebergAsker, tmp_path: Path) -> None:
    name = f"m{admin.catalog}"
    body = {"name": name, "type": "dir", "settings": {"path": str(tmp_path), "layout": "manifest"}}
    admin.client.post("/lanceway/v1/catalogs", json=body).raise_for_status()
    mounted = replace(admin, catalog=name)
    mounted.make("ns")
    expected = ["a", "b", "c", "d", "e"]
    for each in reversed(expected):
        mounted.create_table("ns", each, properties={"table_type": "lance"}).raise_for_status()
    assert names(mounted) == expected
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        query = {"pageToken": token, "pageSize": "2"}
        page = mounted.ask("GET", mounted.at("ns", then=TABLES), params=query).raise_for_status().json()
        assert len(page["identifiers"]) <= 2
        found += (row["name"] for row in page["identifiers"])
        token = page.get("next-page-token")
    assert found == expected
    assert refused(mounted.ask("GET", mounted.at("ns", then=TABLES), params={"pageToken": "x"}))[0] == 400
