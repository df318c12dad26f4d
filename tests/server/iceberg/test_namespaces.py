"""Namespaces as Iceberg clients have them: nested, with properties, in pages."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection

from lanceway.access.privileges import CREATE_SCHEMA, USE_CATALOG
from lanceway.identifiers import Identifier
from lanceway.lake.tree import catalogs, namespaces
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, refused
from tests.servers.lanceway import Lanceway


def test_what_is_missing_above_is_made_too(admin: IcebergAsker) -> None:
    answer = admin.create("a", "b", "c", properties={"owner": "ada"})
    assert answer.json() == {"namespace": ["a", "b", "c"], "properties": {"owner": "ada"}}
    assert admin.list() == ["a"]
    assert admin.list("a") == ["a.b"]
    assert admin.list("a", "b") == ["a.b.c"]
    assert admin.list("a", "b", "c") == []
    assert admin.ask("GET", admin.at("a", "b")).json() == {"namespace": ["a", "b"], "properties": {}}
    assert admin.ask("GET", admin.at("a", "b", "c")).json()["properties"] == {"owner": "ada"}


def test_the_same_tree_is_seen_by_lance_clients(admin: IcebergAsker) -> None:
    admin.make("a", "b")
    found = admin.client.get(f"/lance/v1/namespace/{admin.catalog}$a/list").json()
    assert found["namespaces"] == ["b"]


def test_one_that_is_there(admin: IcebergAsker) -> None:
    admin.make("a", "b")
    answer = admin.create("a", "b")
    assert refused(answer) == (409, "AlreadyExistsException")
    assert answer.json()["error"]["message"].startswith("Namespace already exists: a.b")


@pytest.mark.parametrize(("method", "then"), [("GET", ""), ("DELETE", ""), ("POST", "/properties")])
def test_one_that_is_missing(admin: IcebergAsker, method: str, then: str) -> None:
    admin.make("a")
    answer = admin.ask(method, admin.at("a", "b", then=then), {"updates": {"k": "v"}} if then else None)
    assert refused(answer) == (404, "NoSuchNamespaceException")
    assert answer.json()["error"]["message"].startswith("Namespace does not exist: a.b")


def test_exists(admin: IcebergAsker) -> None:
    admin.make("a", "b")
    for names, status in ((["a"], 204), (["a", "b"], 204), (["b"], 404)):
        answer = admin.ask("HEAD", admin.at(*names))
        assert (answer.status_code, answer.content) == (status, b"")


def test_a_missing_parent_of_a_list(admin: IcebergAsker) -> None:
    answer = admin.ask("GET", "/namespaces", params={"parent": "none"})
    assert refused(answer) == (404, "NoSuchNamespaceException")
    assert admin.list("") == []


def test_properties(admin: IcebergAsker) -> None:
    admin.make("a")
    path = admin.at("a", then="/properties")
    answer = admin.ask("POST", path, {"updates": {"k": "1", "l": "2"}, "removals": ["none"]})
    assert answer.json() == {"updated": ["k", "l"], "removed": [], "missing": ["none"]}
    answer = admin.ask("POST", path, {"removals": ["k"]})
    assert answer.json() == {"updated": [], "removed": ["k"], "missing": []}
    assert admin.ask("GET", admin.at("a")).json()["properties"] == {"l": "2"}
    both = admin.ask("POST", path, {"updates": {"l": "3"}, "removals": ["l"]})
    assert refused(both) == (422, "UnprocessableEntityException")
    assert admin.ask("GET", admin.at("a")).json()["properties"] == {"l": "2"}


def test_a_comment_of_another_dialect_is_a_property(admin: IcebergAsker) -> None:
    body = {"name": "a", "comment": "ours"}
    admin.client.post(f"/api/metalakes/lanceway/catalogs/{admin.catalog}/schemas", json=body).raise_for_status()
    assert admin.ask("GET", admin.at("a")).json()["properties"] == {"comment": "ours"}


def test_both_dialects_have_one_comment(admin: IcebergAsker) -> None:
    schemas = f"/api/metalakes/lanceway/catalogs/{admin.catalog}/schemas"
    path = admin.at("a", then="/properties")

    def comments() -> tuple[object, object]:
        schema = admin.client.get(f"{schemas}/a").raise_for_status().json()["schema"]
        assert "comment" not in schema["properties"]
        return schema.get("comment"), admin.ask("GET", admin.at("a")).json()["properties"].get("comment")

    body = {"name": "a", "comment": "one", "properties": {"k": "v"}}
    admin.client.post(schemas, json=body).raise_for_status()
    assert comments() == ("one", "one")
    assert admin.ask("POST", path, {"updates": {"comment": "two"}}).json()["updated"] == ["comment"]
    assert comments() == ("two", "two")
    change = {"updates": [{"@type": "setProperty", "property": "comment", "value": "three"}]}
    admin.client.put(f"{schemas}/a", json=change).raise_for_status()
    assert comments() == ("three", "three")
    assert admin.ask("POST", path, {"removals": ["comment"]}).json()["removed"] == ["comment"]
    assert comments() == (None, None)


def test_a_comment_that_was_recorded_beside_the_properties_goes_with_the_property(
    server: Lanceway, admin: IcebergAsker
) -> None:
    store = lake_of(server)

    def record(connection: Connection) -> None:
        catalog = catalogs.load(connection, "lanceway", admin.catalog).id
        namespaces.create(connection, catalog, Identifier(["a"]), by="admin", comment="old")

    store.transact(record)
    store.close()
    assert admin.ask("GET", admin.at("a")).json()["properties"] == {"comment": "old"}
    answer = admin.ask("POST", admin.at("a", then="/properties"), {"removals": ["comment"]})
    assert answer.json() == {"updated": [], "removed": ["comment"], "missing": []}
    assert admin.ask("GET", admin.at("a")).json()["properties"] == {}


def test_only_an_empty_one_is_dropped(admin: IcebergAsker) -> None:
    admin.make("a", "b")
    answer = admin.ask("DELETE", admin.at("a"))
    assert refused(answer) == (409, "NamespaceNotEmptyException")
    message = answer.json()["error"]["message"]
    assert "Namespace a is not empty" in message
    assert "the namespaces b" in message
    assert refused(admin.ask("DELETE", admin.at("a"), params={"cascade": "TRUE"}))[0] == 406
    for names in (["a", "b"], ["a"]):
        assert admin.ask("DELETE", admin.at(*names), params={"cascade": "False"}).status_code == 204
    assert admin.list() == []


def test_pages(admin: IcebergAsker) -> None:
    names = [f"n{number:02}" for number in range(7)]
    for name in names:
        admin.make(name)
    assert admin.list(pageSize=3) == names, "without a token, a client wants all"
    found: list[str] = []
    token: str | None = ""
    sizes = []
    while token is not None:
        body = admin.ask("GET", "/namespaces", params={"pageToken": token, "pageSize": 3}).json()
        sizes.append(len(body["namespaces"]))
        found += [each[0] for each in body["namespaces"]]
        token = body.get("next-page-token")
    assert (found, sizes) == (names, [3, 3, 1])
    for query in ({"pageToken": "forged"}, {"pageToken": "", "pageSize": "0"}, {"pageToken": "", "pageSize": "x"}):
        assert refused(admin.ask("GET", "/namespaces", params=query)) == (400, "BadRequestException")


def test_a_token_leads_through_its_own_list_alone(admin: IcebergAsker) -> None:
    for names in (["a", "b"], ["a", "c"], ["d"]):
        admin.make(*names)
    token = admin.ask("GET", "/namespaces", params={"pageToken": "", "pageSize": 1}).json()["next-page-token"]
    answer = admin.ask("GET", "/namespaces", params={"pageToken": token, "parent": "a"})
    assert refused(answer) == (400, "BadRequestException")


@pytest.mark.parametrize("name", ["sp ace", "plus+", "d.o.t", "per%cent", "per%20cent", "sl/ash", "ä\u4e2d", "a:b?&#"])
def test_names(admin: IcebergAsker, name: str) -> None:
    answer = admin.create(name, "inner")
    if answer.status_code == 400:  # the lake refuses its own separator in a name, and says so
        assert ":" in name
        return
    assert answer.status_code == 200, answer.text
    assert admin.list() == [name]
    assert admin.list(name) == [f"{name}.inner"]
    assert admin.ask("GET", admin.at(name, "inner")).json()["namespace"] == [name, "inner"]
    assert admin.ask("HEAD", admin.at(name, "inner")).status_code == 204


def test_java_writes_a_space_as_plus(admin: IcebergAsker) -> None:
    admin.make("a b+c")
    assert admin.ask("GET", "/namespaces/a+b%2Bc").json()["namespace"] == ["a b+c"]


def test_pyiceberg_encodes_a_parent_twice(admin: IcebergAsker) -> None:
    admin.make("sp ace/sl", "b")
    assert admin.list("sp%20ace%2Fsl") == ["sp ace/sl.b"]
    admin.make("sp%20ace%2Fsl", "other")
    assert admin.list("sp%20ace%2Fsl") == ["sp%20ace%2Fsl.other"], "a name that is there is meant as it is"


@pytest.mark.parametrize(
    "names", [[], [""], ["a", ""], ["a\x1fb"], ["\x00"], ["x" * 10_000], [1], "a", None, {"a": 1}, ["a"] * 5000]
)
def test_names_that_cannot_be(admin: IcebergAsker, names: Any) -> None:
    answer = admin.ask("POST", "/namespaces", {"namespace": names})
    status, _ = refused(answer)
    assert status == (409 if names == [] else 400), answer.text
    assert admin.list() == []


@pytest.mark.parametrize("path", ["/namespaces/a%1F", "/namespaces/%1Fa", "/namespaces/a%1F%1Fb", "/namespaces/%ff"])
def test_paths_that_cannot_be(admin: IcebergAsker, path: str) -> None:
    assert refused(admin.ask("GET", path)) == (400, "BadRequestException")


def test_many_properties(admin: IcebergAsker) -> None:
    properties = {f"k{number:05}": "v" * 10 for number in range(10_000)}
    assert admin.create("a", properties=properties).status_code == 200
    assert admin.ask("GET", admin.at("a")).json()["properties"] == properties
    answer = admin.ask("POST", admin.at("a", then="/properties"), {"removals": list(properties)})
    assert len(answer.json()["removed"]) == 10_000


def test_reserved_properties(admin: IcebergAsker) -> None:
    admin.make("a")
    answer = admin.ask("POST", admin.at("a", then="/properties"), {"updates": {"lanceway.x": "1"}})
    assert refused(answer) == (400, "BadRequestException")


def test_what_one_may_not_do(server: Lanceway, admin: IcebergAsker) -> None:
    admin.make("hidden")
    token = server.token_for(f"maker-{admin.catalog}", USE_CATALOG, CREATE_SCHEMA)
    with asking(server, token, admin.catalog) as maker:
        maker.make("mine", "inner")
        assert maker.list() == ["mine"]
        for answer in (maker.ask("GET", maker.at("hidden")), maker.ask("DELETE", maker.at("hidden"))):
            assert refused(answer) == (403, "ForbiddenException")
        assert maker.ask("DELETE", maker.at("mine", "inner")).status_code == 204
