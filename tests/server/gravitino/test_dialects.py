"""One table through every dialect: made by Gravitino REST, filled by LanceDB, read by pylance, renamed in each.

What stock clients send to make a table is in tests/clients/gravitino; Spark SQL reads one in tests/spark/catalog.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

from lanceway.access.records.audit import object_path
from lanceway.lake.store.database import LakeStore
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog
from tests.servers.lanceway import Lanceway

COLUMNS = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": "string", "comment": "of a fruit"},
]
VECTOR = {
    "name": "vector",
    "type": {
        "type": "external",
        "catalogString": '{"name": "vector", "nullable": true, "type": {"name": "fixedsizelist", "listSize": 2}, '
        '"children": [{"name": "item", "nullable": true, "type": {"name": "floatingpoint", "precision": "SINGLE"}}]}',
    },
}


@pytest.fixture(scope="module")
def store(server: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(server)
    yield opened
    opened.close()


@pytest.fixture
def admin(server: Lanceway, store: LakeStore) -> Iterator[Asker]:
    with asking(server, server.token, new_catalog(store, server)) as asker:
        yield asker


def fruit() -> pa.Table:
    vectors = pa.array([[0.0, 1.0], [1.0, 0.0]], pa.list_(pa.float32(), 2))
    return pa.table({"id": [1, 2], "name": ["apple", "pear"], "vector": vectors})


def tables(admin: Asker, schema: str) -> list[str]:
    return [each["name"] for each in admin.ask("GET", admin.schemas(schema, "tables")).json()["identifiers"]]


def listed(client: httpx.Client, *names: str) -> list[str]:
    return list(client.get(f"/lance/v1/namespace/{'$'.join(names)}/table/list").json()["tables"])


def companions(admin: Asker, *names: str) -> list[str]:
    """What an Iceberg client sees of a namespace."""
    path = f"/iceberg/v1/{admin.catalog}/namespaces/{'%1F'.join(names)}/tables"
    return [each["name"] for each in admin.client.get(path).raise_for_status().json()["identifiers"]]


def test_one_table_in_all_dialects(server: Lanceway, admin: Asker) -> None:
    admin.make("team:fruit")
    made = admin.ask("POST", admin.schemas("team:fruit", "tables"), {"name": "t", "columns": [*COLUMNS, VECTOR]})
    assert made.status_code == 200, made.text
    place = [admin.catalog, "team", "fruit"]
    properties = {"uri": server.uri, "header.Authorization": f"Bearer {server.token}"}
    database = lancedb.connect_namespace("rest", properties)
    database.open_table("t", namespace_path=place).add(fruit())
    namespace = lance_namespace.connect("rest", properties)
    dataset = lance.dataset(namespace_client=namespace, table_id=[*place, "t"])
    assert dataset.to_table(columns=["id", "name"]).to_pylist() == [
        {"id": 1, "name": "apple"},
        {"id": 2, "name": "pear"},
    ]
    loaded = admin.ask("GET", admin.schemas("team:fruit", "tables", "t")).json()["table"]
    assert loaded["properties"]["lance.version"] == str(dataset.version)
    assert loaded["columns"][1]["comment"] == "of a fruit"
    nearest = database.open_table("t", namespace_path=place).search([1.0, 0.1]).limit(1).to_arrow()
    assert nearest["name"].to_pylist() == ["pear"]
    # Renamed in one, it is seen in the others at once.
    rename = {"updates": [{"@type": "rename", "newName": "u"}]}
    assert admin.ask("PUT", admin.schemas("team:fruit", "tables", "t"), rename).status_code == 200
    assert listed(admin.client, *place) == tables(admin, "team:fruit") == companions(admin, "team", "fruit") == ["u"]
    assert database.list_tables(namespace_path=place).tables == ["u"]
    namespace.rename_table(lance_namespace.RenameTableRequest(id=[*place, "u"], new_table_name="v"))
    assert tables(admin, "team:fruit") == companions(admin, "team", "fruit") == ["v"]
    names = ({"namespace": ["team", "fruit"], "name": name} for name in ("v", "w"))
    rename = dict(zip(("source", "destination"), names, strict=True))
    admin.client.post(f"/iceberg/v1/{admin.catalog}/tables/rename", json=rename).raise_for_status()
    assert listed(admin.client, *place) == tables(admin, "team:fruit") == companions(admin, "team", "fruit") == ["w"]
    admin.client.post(
        "/lanceway/v1/schemas/alter", json={"name": f"{admin.catalog}.team:fruit", "set": {"a": "b"}}
    ).raise_for_status()
    assert admin.ask("GET", admin.schemas("team:fruit")).json()["schema"]["properties"] == {"a": "b"}
    database.drop_table("w", namespace_path=place)
    assert tables(admin, "team:fruit") == companions(admin, "team", "fruit") == []


def test_a_schema_of_another_dialect_is_listed(admin: Asker) -> None:
    for names in ("x", "x$y"):
        assert admin.client.post(f"/lance/v1/namespace/{admin.catalog}${names}/create", json={}).is_success
    assert (admin.list(), admin.list("x")) == ("x", "x:y")
    assert admin.ask("DELETE", admin.schemas("x:y")).json()["dropped"]
    assert admin.client.get(f"/lance/v1/namespace/{admin.catalog}$x/list").json()["namespaces"] == []


def test_what_is_done_is_audited(admin: Asker) -> None:
    admin.make("A:B")
    assert admin.ask("DELETE", admin.schemas("A")).status_code == 409
    events = ended(admin, 4)
    assert {event["via"] for event in events} == {"Gravitino API"}
    done = {(event["operation"], event["object"], event["outcome"]) for event in events}
    assert ("create_schema", object_path([admin.catalog, "A", "B"]), "done") in done
    assert ("drop_schema", object_path([admin.catalog, "A"]), "failed") in done


def ended(admin: Asker, count: int) -> list[dict[str, Any]]:
    """Return the events of the catalog, once there are so many: an end is written a moment after its answer."""
    for _ in range(200):
        events = admin.client.get("/lanceway/v1/audit", params={"limit": 1000}).json()["events"]
        mine = [event for event in events if (event["object"] or "").startswith(f'["{admin.catalog}"')]
        if len(mine) >= count:
            return mine
    raise AssertionError(f"{len(mine)} events instead of {count}")
