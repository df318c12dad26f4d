"""Stock LanceDB works on a server of ours as on one of its own."""

from __future__ import annotations

from typing import Any

import lancedb
import pyarrow as pa
import pytest
from lancedb.index import FTS

from tests.clients.served.conftest import Served


@pytest.fixture
def database(place: Served) -> lancedb.DBConnection:
    return lancedb.connect_namespace("rest", place.properties)


@pytest.fixture
def inside(place: Served) -> dict[str, Any]:
    return {"namespace_path": list(place.namespace)}


def test_namespaces_are_made_listed_and_dropped(database: lancedb.DBConnection, place: Served) -> None:
    path = [*place.namespace, "sales"]
    database.create_namespace(path)
    assert database.list_namespaces(list(place.namespace)).namespaces == ["sales"]
    database.drop_namespace(path)
    assert place.catalog.list_namespaces({"id": list(place.namespace)}).namespaces == []


def test_a_table_is_created_opened_added_to_listed_and_dropped(
    database: lancedb.DBConnection, place: Served, fruit: pa.Table, inside: dict[str, Any]
) -> None:
    database.create_table("fruit", fruit, **inside)
    assert database.list_tables(**inside).tables == ["fruit"]
    table = database.open_table("fruit", **inside)
    table.add(fruit.slice(0, 1))
    assert table.count_rows() == 4
    assert place.catalog.count_table_rows({"id": place.table("fruit")}).count == 4
    with pytest.raises(Exception, match=r"TableAlreadyExists|already exists"):
        database.create_table("fruit", fruit, **inside)
    database.drop_table("fruit", **inside)
    assert place.catalog.list_tables({"id": list(place.namespace)}).tables == []
    with pytest.raises(Exception, match=r"TableNotFound|not found"):
        database.open_table("fruit", **inside)


def test_vectors_and_text_are_searched(database: lancedb.DBConnection, fruit: pa.Table, inside: dict[str, Any]) -> None:
    table = database.create_table("fruit", fruit, **inside)
    table.create_index("name", config=FTS())
    assert table.search([0.0, 1.0]).limit(1).to_arrow()["name"].to_pylist() == ["banana"]
    assert table.search([1.0, 0.0]).where("id > 1").limit(1).to_arrow()["name"].to_pylist() == ["cherry"]
    assert table.search("cherry", query_type="fts").limit(9).to_arrow()["id"].to_pylist() == [3]


def test_rows_are_changed_and_former_versions_kept(
    database: lancedb.DBConnection, place: Served, fruit: pa.Table, inside: dict[str, Any]
) -> None:
    table = database.create_table("fruit", fruit, **inside)
    table.tags.create("first", 1)
    table.update(where="id = 1", values={"name": "avocado"})
    table.delete("id = 2")
    new = fruit.set_column(1, "name", pa.array(["x", "blueberry", "y"]))
    table.merge_insert("id").when_not_matched_insert_all().execute(new)
    answer = place.catalog.query_table_stream({"id": place.table("fruit"), "vector": {}, "k": 10})
    assert sorted(answer.read_all()["name"].to_pylist()) == ["avocado", "blueberry", "cherry"]

    table.checkout("first")
    assert table.to_arrow()["name"].to_pylist() == ["apple", "banana", "cherry"]
    table.checkout_latest()
    table.restore(1)
    assert database.open_table("fruit", **inside).to_arrow().sort_by("id") == fruit
    assert place.versions("fruit") == list(range(1, table.version + 1))
