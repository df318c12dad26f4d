"""On a fake, for what servers of Gravitino's own do and none here does: flat catalogs, tags, lost answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs import GravitinoCatalog
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
)
from tests.servers.faults import Faults, Seen, answer, faults

UNSUPPORTED = answer(405, {"code": 1006, "type": "UnsupportedOperationException", "message": "not for this catalog"})
NO_TABLE = answer(404, {"code": 1003, "type": "NoSuchTableException", "message": "no such table"})
NO_SCHEMA = answer(404, {"code": 1003, "type": "NoSuchSchemaException", "message": "no such schema"})
SCHEMA = answer(200, {"code": 0, "schema": {"name": "s", "audit": {}}})
CONFIGS = answer(200, {"gravitino.schema.separator": ":"})
DROPPED = answer(200, {"code": 0, "dropped": True})
TABLE = ["c", "s", "t"]


def table(name: str = "t", location: str = "file:///nowhere/t", **properties: str) -> bytes:
    kept = {"format": "lance", "external": "true", "location": location, **properties}
    return answer(200, {"code": 0, "table": {"name": name, "columns": [], "properties": kept, "audit": {}}})


def names(*listed: str) -> bytes:
    return answer(200, {"code": 0, "identifiers": [{"namespace": ["m", "c"], "name": name} for name in listed]})


@pytest.fixture
def server() -> Iterator[Faults]:
    with faults() as running:
        yield running


def connect(server: Faults, **settings: Any) -> GravitinoCatalog:
    return GravitinoCatalog(**{"endpoint": server.uri, "metalake": "m", "max_retries": "0", **settings})


def test_schemas_of_a_flat_catalog_hold_no_namespaces(server: Faults) -> None:
    with connect(server) as catalog:
        server.will(UNSUPPORTED, SCHEMA)
        assert catalog.list_namespaces({"id": ["c", "s"]}).namespaces == []
        server.will(UNSUPPORTED, NO_SCHEMA)
        with pytest.raises(NamespaceNotFoundError):
            catalog.list_namespaces({"id": ["c", "s"]})
        server.will(SCHEMA, UNSUPPORTED)
        with pytest.raises(InvalidInputError, match="do not nest"):
            catalog.create_namespace({"id": ["c", "s", "inner"]})


def test_a_server_that_takes_no_notice_of_the_parent_lists_no_wrong_names(server: Faults) -> None:
    with connect(server) as catalog:
        server.will(names("s", "other"), CONFIGS, SCHEMA)
        assert catalog.list_namespaces({"id": ["c", "s"]}).namespaces == []


def test_the_separator_is_the_servers(server: Faults) -> None:
    with connect(server) as catalog:
        server.will(names("a|b", "a|d"), answer(200, {"gravitino.schema.separator": "|"}))
        assert catalog.list_namespaces({"id": ["c", "a"]}).namespaces == ["b", "d"]
    assert server.seen[0].query == [("parentSchema", "a")]
    assert server.seen[1].path == "/configs"


def test_a_server_that_cannot_rename_gets_a_new_row_with_the_owner_and_the_tags(server: Faults) -> None:
    tags = {"code": 0, "tags": [{"name": "gold"}, {"name": "all", "inherited": True}]}
    mine = {"code": 0, "owner": {"name": "me", "type": "user"}}
    created: list[Seen] = []

    def make(seen: Seen) -> bytes:
        created.append(seen)
        return table("u", **{"lanceway.claim": seen.json["properties"]["lanceway.claim"]})

    server.will(table(team="red"), SCHEMA, UNSUPPORTED, NO_TABLE, SCHEMA)
    # The separator is asked for where the first full name is written.
    server.will(CONFIGS, answer(200, {"code": 0, "owner": {"name": "ada", "type": "user"}}), answer(200, tags))
    server.will(table(team="red"), make, DROPPED)
    server.will(answer(200, mine), answer(200, {"code": 0, "tags": []}))
    server.will(answer(200, {"code": 0, "names": ["gold"]}), answer(200, {"code": 0, "set": True}))
    with connect(server) as catalog:
        catalog.rename_table({"id": TABLE, "new_table_name": "u"})
    assert created[0].json["properties"]["team"] == "red"
    assert created[0].json["properties"]["lance.register"] == "true"
    tagged, owned = server.seen[-2:]
    assert (tagged.path, tagged.json["tagsToAdd"]) == ("/api/metalakes/m/objects/table/c.s.u/tags", ["gold"])
    assert (owned.path, owned.json) == ("/api/metalakes/m/owners/table/c.s.u", {"name": "ada", "type": "user"})
    assert server.script == []


def test_a_table_that_was_made_although_its_answer_was_lost_is_ours(server: Faults, tmp_path: Any) -> None:
    claims: list[str] = []

    def lost(seen: Seen) -> bytes:
        claims.append(seen.json["properties"]["lanceway.claim"])
        return b""

    def found(seen: Seen) -> bytes:
        return table(location=tmp_path.as_uri(), **{"lanceway.claim": claims[0]})

    taken = answer(409, {"code": 1004, "type": "TableAlreadyExistsException", "message": "taken"})
    with connect(server, max_retries="1", root=str(tmp_path)) as catalog:
        server.will(lost, taken, found)
        assert catalog.declare_table({"id": TABLE}).location == tmp_path.as_uri()
        server.will(lost, taken, table(**{"lanceway.claim": "another"}))
        with pytest.raises(TableAlreadyExistsError):
            catalog.declare_table({"id": TABLE})


def test_storage_options_that_gravitino_keeps_are_used_where_that_is_set(server: Faults) -> None:
    kept = {"lance.storage.region": "there", "lance.storage.secret_access_key": "hush-hush"}
    described = {"name": "c", "provider": "lakehouse-generic", "properties": kept}
    with connect(server, vended_credentials="true", **{"storage.timeout": "3s"}) as catalog:
        server.will(table(location="s3://bucket/t"), answer(200, {"code": 0, "catalog": described}))
        found = catalog.describe_table({"id": TABLE})
        assert found.storage_options == {"timeout": "3s", "region": "there", "secret_access_key": "hush-hush"}
        assert found.properties == {}
        server.will(answer(200, {"code": 0, "catalog": described}))
        assert catalog.describe_namespace({"id": ["c"]}).properties == {}
    with connect(server) as catalog:
        server.will(table(location="s3://bucket/t"))
        assert catalog.describe_table({"id": TABLE}).storage_options is None


def test_a_table_does_not_send_the_catalogs_credentials_elsewhere(server: Faults) -> None:
    elsewhere = {"lance.storage.endpoint": "http://127.0.0.1:1"}
    with connect(server, **{"storage.secret_access_key": "hush-hush"}) as catalog:
        server.will(table(location="s3://bucket/t", **elsewhere))
        with pytest.raises(InvalidInputError, match="cannot be set by a table's properties alone"):
            catalog.describe_table({"id": TABLE})


def test_a_registration_needs_data_and_is_sent_as_one(server: Faults, tmp_path: Any) -> None:
    lance.write_dataset(pa.table({"id": [1]}), str(tmp_path / "t"))
    with connect(server) as catalog:
        server.will(SCHEMA)
        with pytest.raises(InvalidInputError, match="there is no Lance table"):
            catalog.register_table({"id": TABLE, "location": str(tmp_path / "missing")})
        server.will(SCHEMA, lambda seen: table(location=seen.json["properties"]["location"]))
        assert (
            catalog.register_table({"id": TABLE, "location": str(tmp_path / "t")}).location == (tmp_path / "t").as_uri()
        )
    sent = server.seen[-1].json
    assert (sent["columns"], sent["properties"]["lance.register"]) == ([], "true")


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"user": "ada"}, f"Basic {base64.b64encode(b'ada:dummy').decode()}"),
        ({"auth_token": "hush-hush"}, "Bearer hush-hush"),
        ({"credential": "id:hush-hush"}, "Bearer fetched"),
        ({}, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_each_way_to_sign_in(server: Faults, settings: dict[str, str], header: str | None) -> None:
    if "credential" in settings:
        server.will(answer(200, {"access_token": "fetched", "expires_in": 3600}))
    server.will(SCHEMA)
    with connect(server, **settings) as catalog:
        assert "hush-hush" not in repr(catalog)
        catalog.namespace_exists({"id": ["c", "s"]})
    assert server.seen[-1].headers.get("authorization") == header
    if "credential" in settings:
        assert server.seen[0].path == "/oauth2/token"
        assert b"client_secret=hush-hush" in server.seen[0].body


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"user": "a", "auth_token": "hush-hush"}, "auth_token and user are set"),
        ({"user": "a:b"}, "user holds ':'"),
        ({"endpoint": "http://host:1/api"}, "without it"),
        ({"concurrency": "0"}, "must be 1 or more"),
        ({"metalake": ""}, "metalake"),
        ({"credential": "hush-hush"}, "client_id:client_secret"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_settings_that_do_not_fit_are_refused_without_their_secrets(
    server: Faults, settings: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        connect(server, **settings)
    assert "hush-hush" not in str(refused.value)


Refusal = tuple[bytes, type[Exception], str]
REFUSALS: dict[str, Refusal] = {
    "another service": (answer(404, b"<html>nothing here</html>"), InvalidInputError, "not a Gravitino server"),
    "a page": (answer(200, b"<html>"), InternalError, "not JSON"),
    "no schema in it": (answer(200, {"code": 0}), InternalError, "cannot be read"),
    "not allowed": (
        answer(403, {"code": 1008, "type": "ForbiddenException", "message": "no"}),
        PermissionDeniedError,
        "Ask for the privilege",
    ),
    "a catalog that is disabled": (
        answer(409, {"code": 1009, "type": "CatalogNotInUseException", "message": "it is disabled"}),
        InvalidInputError,
        "it is disabled",
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_say_what_is_wrong(server: Faults, refusal: Refusal) -> None:
    said, kind, words = refusal
    server.will(said)
    with connect(server) as catalog, pytest.raises(kind, match=words):
        catalog.describe_namespace({"id": ["c", "s"]})


@pytest.mark.parametrize("name", ["a:b", "..", "a\x1fb", "a%41", "a$b", "a/b"])
def test_names_that_would_not_come_back_are_refused_before_a_request(server: Faults, name: str) -> None:
    server.will(CONFIGS)
    with connect(server) as catalog, pytest.raises(InvalidInputError, match="cannot be used"):
        catalog.create_namespace({"id": ["c", name]})
    assert [seen.path for seen in server.seen if seen.path != "/configs"] == []
