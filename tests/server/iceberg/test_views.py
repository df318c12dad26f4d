"""Views as Iceberg clients have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, IcebergAsker, refused

VIEWS, ONE = "/views", "/views/v"


def version(sql: str, id_: int = 1) -> dict[str, Any]:
    return {
        "version-id": id_,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {"engine-name": "test"},
        "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }


def create(admin: IcebergAsker, name: str = "v", **more: Any) -> httpx.Response:
    admin.create("ns")
    body = {"name": name, "schema": COLUMNS, "view-version": version("SELECT 1"), "properties": {}, **more}
    return admin.ask("POST", admin.at("ns", then=VIEWS), body)


def names(admin: IcebergAsker) -> list[str]:
    body = admin.ask("GET", admin.at("ns", then=VIEWS)).raise_for_status().json()
    return [row["name"] for row in body["identifiers"]]


def test_a_view_is_made_loaded_replaced_and_dropped(admin: IcebergAsker) -> None:
    created = create(admin, properties={"owner": "ada"})
    assert created.status_code == 200, created.text
    body = created.json()
    assert body["metadata"]["properties"]["owner"] == "ada"
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == body
    assert admin.ask("HEAD", admin.at("ns", then=ONE)).status_code == 204
    assert names(admin) == ["v"]
    replace = {
        "requirements": [{"type": "assert-view-uuid", "uuid": body["metadata"]["view-uuid"]}],
        "updates": [
            {"action": "add-view-version", "view-version": version("SELECT 2", 2)},
            {"action": "set-current-view-version", "view-version-id": -1},
        ],
    }
    replaced = admin.ask("POST", admin.at("ns", then=ONE), replace)
    assert replaced.status_code == 200, replaced.text
    metadata = replaced.json()["metadata"]
    assert len(metadata["versions"]) == 2
    assert metadata["current-version-id"] == 2
    assert admin.ask("DELETE", admin.at("ns", then=ONE)).status_code == 204
    assert names(admin) == []


def test_a_view_that_is_missing(admin: IcebergAsker) -> None:
    admin.make("ns")
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"requirements": [], "updates": []})):
        answer = admin.ask(method, admin.at("ns", then=ONE), body)
        assert refused(answer) == (404, "NoSuchViewException")
        assert answer.json()["error"]["message"].startswith("View does not exist: ns.v")
    assert admin.ask("HEAD", admin.at("ns", then=ONE)).status_code == 404


def test_one_name_is_one_thing(admin: IcebergAsker) -> None:
    assert create(admin).status_code == 200
    admin.create_table("ns", "t").raise_for_status()
    twice = create(admin)
    assert refused(twice) == (409, "AlreadyExistsException")
    assert twice.json()["error"]["message"].startswith("View already exists: ns.v")
    over = create(admin, "t")
    assert refused(over) == (409, "AlreadyExistsException")
    assert over.json()["error"]["message"].startswith("Table with same name already exists: ns.t")
    under = admin.create_table("ns", "v")
    assert refused(under) == (409, "AlreadyExistsException")
    assert under.json()["error"]["message"].startswith("View with same name already exists: ns.v")
    assert refused(admin.ask("GET", admin.at("ns", then="/tables/v"))) == (404, "NoSuchTableException")
    assert refused(admin.ask("GET", admin.at("ns", then="/views/t"))) == (404, "NoSuchViewException")


def test_rename(admin: IcebergAsker) -> None:
    assert create(admin).status_code == 200
    admin.create_table("ns", "t").raise_for_status()

    def renamed(source: str, target: str, namespace: str = "ns") -> httpx.Response:
        names = {
            "source": {"namespace": ["ns"], "name": source},
            "destination": {"namespace": [namespace], "name": target},
        }
        return admin.ask("POST", "/views/rename", names)

    taken = renamed("v", "t")
    assert refused(taken) == (409, "AlreadyExistsException")
    assert "Cannot rename ns.v to ns.t. Table already exists" in taken.json()["error"]["message"]
    assert refused(renamed("none", "x")) == (404, "NoSuchViewException")
    assert refused(renamed("v", "x", "none")) == (404, "NoSuchNamespaceException")
    assert renamed("v", "w").status_code == 204
    assert names(admin) == ["w"]


def test_register(admin: IcebergAsker) -> None:
    created = create(admin).json()
    file = Path(created["metadata-location"].removeprefix("file://"))
    content = file.read_bytes()
    assert admin.ask("DELETE", admin.at("ns", then=ONE)).status_code == 204
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)  # as a backup would bring it back
    body = {"name": "back", "metadata-location": created["metadata-location"]}
    answer = admin.ask("POST", admin.at("ns", then="/register-view"), body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["view-uuid"] == created["metadata"]["view-uuid"]


@pytest.mark.parametrize(
    "more",
    [
        {"view-version": {}},
        {"view-version": {**version("x"), "representations": []}},
        {"view-version": {**version("x"), "representations": [{"type": "x"}]}},
        {"schema": {"type": "struct", "fields": [{"name": "a"}]}},
        {"properties": {"a": 1}},
        {"name": "a\x1fb"},
    ],
)
def test_views_that_cannot_be(admin: IcebergAsker, more: dict[str, Any]) -> None:
    assert refused(create(admin, **more)) == (400, "BadRequestException")
    assert names(admin) == []


def test_views_page_by_page(admin: IcebergAsker) -> None:
    expected = ["a", "b", "c", "d", "e"]
    for name in reversed(expected):
        assert create(admin, name).status_code == 200
    admin.create_table("ns", "bb").raise_for_status()
    found: list[str] = []
    token = ""
    for _ in range(3):
        query = {"pageToken": token, "pageSize": "2"}
        body = admin.ask("GET", admin.at("ns", then=VIEWS), params=query).raise_for_status().json()
        found += (row["name"] for row in body["identifiers"])
        token = body.get("next-page-token")
    assert (found, token) == (expected, None)
    for query in ({"pageToken": "x"}, {"pageToken": "", "pageSize": "0"}):
        answer = admin.ask("GET", admin.at("ns", then=VIEWS), params=query)
        assert refused(answer) == (400, "BadRequestException")


def test_updates_that_are_not_known(admin: IcebergAsker) -> None:
    before = create(admin).json()
    for updates, requirements in (
        ([{"action": "x"}], []),
        ([{}], []),
        ([{"action": "set-current-view-version", "view-version-id": 9}], []),
        ([{"action": "set-properties", "updates": {"a": "b"}}], [{"type": "x"}]),
    ):
        answer = admin.ask("POST", admin.at("ns", then=ONE), {"requirements": requirements, "updates": updates})
        assert refused(answer) == (400, "BadRequestException"), answer.text
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == before
