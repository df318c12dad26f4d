"""Iceberg tables over Gravitino REST: listed and loaded beside Lance tables, renamed and dropped."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import NewIcebergTable
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import TABLE
from lanceway.server.home import METALAKE
from tests.access.iceberg_helpers import create_table, create_view
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog, new_token
from tests.servers.lanceway import Lanceway

SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long", "doc": "the key"},
        {"id": 2, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 3, "name": "at", "required": False, "type": "timestamptz"},
        {"id": 4, "name": "code", "required": False, "type": "fixed[4]"},
        {
            "id": 5,
            "name": "tags",
            "required": False,
            "type": {"type": "list", "element-id": 6, "element": "string", "element-required": True},
        },
        {
            "id": 7,
            "name": "places",
            "required": False,
            "type": {
                "type": "map",
                "key-id": 8,
                "key": "uuid",
                "value-id": 9,
                "value": {"type": "struct", "fields": [{"id": 10, "name": "x", "required": False, "type": "int"}]},
                "value-required": False,
            },
        },
    ],
}
COLUMNS = [
    {"name": "id", "type": "long", "nullable": False, "comment": "the key", "autoIncrement": False},
    {"name": "price", "type": "decimal(9,2)", "nullable": True, "autoIncrement": False},
    {"name": "at", "type": "timestamp_tz(6)", "nullable": True, "autoIncrement": False},
    {"name": "code", "type": "fixed(4)", "nullable": True, "autoIncrement": False},
    {
        "name": "tags",
        "type": {"type": "list", "elementType": "string", "containsNull": False},
        "nullable": True,
        "autoIncrement": False,
    },
    {
        "name": "places",
        "type": {
            "type": "map",
            "keyType": "uuid",
            "valueType": {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]},
            "valueContainsNull": True,
        },
        "nullable": True,
        "autoIncrement": False,
    },
]


@pytest.fixture(scope="module")
def store(server: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(server)
    yield opened
    opened.close()


@pytest.fixture
def admin(server: Lanceway, store: LakeStore) -> Iterator[Asker]:
    with asking(server, server.token, new_catalog(store, server)) as asker:
        asker.make("s")
        yield asker


@pytest.fixture
def lake(server: Lanceway, admin: Asker) -> Iterator[LakeCatalog]:
    """The catalog in process, with an Iceberg table and a view beside a Lance table of the schema `s`."""
    uri = f"sqlite:///{server.home}/lake.db"
    with LakeCatalog(uri=uri, catalog=admin.catalog, create=False, user="admin") as catalog:
        properties = {"comment": "in Iceberg", "note": "x"}
        catalog.create_iceberg_table(("s", "ice"), NewIcebergTable(SCHEMA, properties=properties))
        create_view(catalog, "s", "v")
        made = admin.ask("POST", admin.schemas("s", "tables"), {"name": "t", "columns": [COLUMNS[0]]})
        assert made.status_code == 200, made.text
        yield catalog


def tables(asker: Asker) -> list[str]:
    return [each["name"] for each in asker.ask("GET", asker.schemas("s", "tables")).json()["identifiers"]]


def load(asker: Asker, name: str) -> dict[str, Any]:
    answer = asker.ask("GET", asker.schemas("s", "tables", name))
    assert answer.status_code == 200, answer.text
    loaded: dict[str, Any] = answer.json()["table"]
    return loaded


def test_both_kinds_are_listed_and_say_what_they_are(admin: Asker, lake: LakeCatalog) -> None:
    assert tables(admin) == ["ice", "t"]
    table = load(admin, "ice")
    assert table["columns"] == COLUMNS
    assert table["comment"] == "in Iceberg"
    assert table["audit"]["creator"] == "admin"
    properties = table["properties"]
    metadata = json.loads(lake.load_iceberg_table(("s", "ice")).metadata)
    assert (properties["format"], properties["provider"], properties["format-version"]) == ("iceberg", "iceberg", "2")
    assert (properties["note"], properties["uuid"]) == ("x", metadata["table-uuid"])
    assert properties["location"] == metadata["location"]
    assert load(admin, "t")["properties"]["format"] == "lance"
    assert admin.ask("GET", admin.schemas("s", "tables", "v")).status_code == 404  # which has no views


def test_an_iceberg_table_is_renamed_and_dropped(admin: Asker, lake: LakeCatalog) -> None:
    loaded = lake.load_iceberg_table(("s", "ice"))
    rename = {"updates": [{"@type": "rename", "newName": "frozen"}]}
    assert admin.ask("PUT", admin.schemas("s", "tables", "ice"), rename).json()["table"]["name"] == "frozen"
    assert tables(admin) == ["frozen", "t"]
    assert lake.load_iceberg_table(("s", "frozen")).metadata == loaded.metadata
    taken = admin.ask("PUT", admin.schemas("s", "tables", "frozen"), {"updates": [{"@type": "rename", "newName": "v"}]})
    assert taken.status_code == 409
    dropped = admin.ask("DELETE", admin.schemas("s", "tables", "frozen"))
    assert dropped.json()["dropped"] is True
    assert Path(str(loaded.metadata_location).removeprefix("file://")).exists(), "without a purge its files stay"
    assert admin.ask("DELETE", admin.schemas("s", "tables", "frozen")).json()["dropped"] is False
    create_table(lake, "s", "again")
    gone = lake.load_iceberg_table(("s", "again"))
    purged = admin.ask("DELETE", admin.schemas("s", "tables", "again"), params={"purge": "true"})
    assert purged.json()["dropped"] is True
    assert not Path(gone.location.removeprefix("file://")).exists()
    assert tables(admin) == ["t"]


def test_properties_are_altered_and_columns_are_not(admin: Asker, lake: LakeCatalog) -> None:
    path = admin.schemas("s", "tables", "ice")
    updates = [
        {"@type": "setProperty", "property": "a", "value": "b"},
        {"@type": "removeProperty", "property": "note"},
        {"@type": "updateComment", "newComment": "changed"},
    ]
    altered = admin.ask("PUT", path, {"updates": updates})
    assert altered.status_code == 200, altered.text
    table = altered.json()["table"]
    assert (table["comment"], table["properties"].get("a"), "note" in table["properties"]) == ("changed", "b", False)
    refused = [
        {"@type": "addColumn", "fieldName": ["n"], "type": "long"},
        {"@type": "deleteColumn", "fieldName": ["id"]},
        {"@type": "renameColumn", "oldFieldName": ["id"], "newFieldName": "key"},
        {"@type": "updateColumnComment", "fieldName": ["id"], "newComment": "x"},
    ]
    for update in refused:
        answer = admin.ask("PUT", path, {"updates": [update]})
        assert answer.status_code == 400, answer.text
        assert "is an Iceberg table, not a Lance table" in answer.json()["message"]
    for fixed in ("provider", "uuid", "format", "location"):
        update = {"@type": "setProperty", "property": fixed, "value": "b"}
        assert admin.ask("PUT", path, {"updates": [update]}).status_code == 400
    new = {"name": "n", "columns": [COLUMNS[0]], "properties": {"format": "iceberg"}}
    answer = admin.ask("POST", admin.schemas("s", "tables"), new)
    assert answer.status_code == 405, answer.text
    assert "Iceberg REST" in answer.json()["message"]
    assert load(admin, "ice")["columns"] == COLUMNS


def test_rights_hold_for_iceberg_tables(server: Lanceway, store: LakeStore, admin: Asker, lake: LakeCatalog) -> None:
    user = f"u{uuid.uuid4().hex[:10]}"
    token = new_token(store, user)
    role, catalog = f"role-of-{user}", admin.catalog
    table = Securable(METALAKE, catalog, Identifier(["s", "ice"]), TABLE)

    def grant(*changes: GrantChange) -> None:
        store.transact(grants.apply, METALAKE, changes, by="admin")

    store.transact(roles.create, METALAKE, role, by="admin")
    store.transact(roles.give, METALAKE, role, user, by="admin")
    with asking(server, token, catalog) as me:
        assert me.ask("GET", me.schemas("s", "tables", "ice")).status_code == 403
        grant(*(GrantChange(role, Securable(METALAKE, catalog), name) for name in ("USE_CATALOG", "USE_SCHEMA")))
        assert tables(me) == []
        grant(GrantChange(role, table, "SELECT_TABLE"))
        assert tables(me) == ["ice"]
        assert load(me, "ice")["columns"] == COLUMNS
        update = {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}
        for method, body in (("DELETE", None), ("PUT", update)):
            assert me.ask(method, me.schemas("s", "tables", "ice"), body).status_code == 403
        grant(GrantChange(role, table, "MODIFY_TABLE"))
        assert me.ask("PUT", me.schemas("s", "tables", "ice"), update).status_code == 200
        assert me.ask("DELETE", me.schemas("s", "tables", "ice")).status_code == 403
    # The same object is granted on and owned over this dialect.
    owner = admin.ask("GET", f"/owners/table/{catalog}.s.ice")
    assert owner.json()["owner"]["name"] == "admin"
    given = admin.ask("PUT", f"/owners/view/{catalog}.s.v", {"name": user, "type": "USER"})
    assert given.status_code == 200, given.text
