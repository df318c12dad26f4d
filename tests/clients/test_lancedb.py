"""LanceDB works on a catalog of ours as on one of its own."""

from __future__ import annotations

import lancedb
import pyarrow as pa
import pytest

from lanceway.errors import TableNotFoundError
from tests.clients.conftest import Place


@pytest.fixture
def database(place: Place) -> lancedb.DBConnection:
    return lancedb.connect_namespace(place.implementation, place.properties)


def test_a_table_is_created_opened_added_to_searched_listed_and_dropped(
    database: lancedb.DBConnection, place: Place, fruit: pa.Table
) -> None:
    inside = {"namespace_path": list(place.namespace)}
    database.create_table("fruit", fruit, **inside)
    assert database.list_tables(**inside).tables == ["fruit"]

    table = database.open_table("fruit", **inside)
    table.add(pa.table({"id": [4], "name": ["date"], "vector": fruit["vector"].slice(0, 1).combine_chunks()}))
    assert table.count_rows() == 4
    assert table.search([0.0, 1.0]).limit(1).to_arrow()["name"].to_pylist() == ["banana"]
    assert table.search([1.0, 0.0]).where("id > 1").limit(1).to_arrow()["name"].to_pylist() == ["date"]

    assert place.catalog.count_table_rows({"id": place.table("fruit")}).count == 4
    database.drop_table("fruit", **inside)
    assert database.list_tables(**inside).tables == []
    assert place.catalog.list_tables({"id": list(place.namespace)}).tables == []


def test_rows_are_updated_merged_and_deleted(database: lancedb.DBConnection, place: Place, fruit: pa.Table) -> None:
    table = database.create_table("fruit", fruit, namespace_path=list(place.namespace))
    table.update(where="id = 1", values={"name": "avocado"})
    table.delete("id = 2")
    new = fruit.set_column(1, "name", pa.array(["x", "blueberry", "y"]))
    table.merge_insert("id").when_not_matched_insert_all().execute(new)
    answer = place.catalog.query_table_stream({"id": place.table("fruit"), "vector": {}, "k": 10})
    names = answer.read_all()["name"].to_pylist()
    assert sorted(names) == ["avocado", "blueberry", "cherry"]


def test_what_the_catalog_writes_lancedb_reads(database: lancedb.DBConnection, place: Place, fruit: pa.Table) -> None:
    place.catalog.create_table_stream({"id": place.table("fruit")}, fruit.to_reader())
    assert database.open_table("fruit", namespace_path=list(place.namespace)).to_arrow() == fruit


def test_a_missing_table_is_not_found(database: lancedb.DBConnection, place: Place) -> None:
    with pytest.raises(TableNotFoundError):
        database.open_table("fruit", namespace_path=list(place.namespace))


def test_creating_twice_is_refused(database: lancedb.DBConnection, place: Place, fruit: pa.Table) -> None:
    inside = {"namespace_path": list(place.namespace)}
    database.create_table("fruit", fruit, **inside)
    with pytest.raises(Exception, match="TableAlreadyExistsError"):
        database.create_table("fruit", fruit, **inside)
    assert database.open_table("fruit", **inside).count_rows() == 3
