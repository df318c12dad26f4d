"""pylance opens and writes tables by a catalog and an identifier."""

from __future__ import annotations

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.fragment import write_fragments

from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import TableAlreadyExistsError
from tests.clients.conftest import IMPLEMENTATION, Place


def test_the_contracts_own_way_in(place: Place) -> None:
    catalog = lance_namespace.connect(IMPLEMENTATION, place.properties)
    assert isinstance(catalog, DirectoryCatalog)
    assert catalog.list_tables({"id": list(place.namespace)}).tables == []


def test_a_table_is_created_appended_to_overwritten_and_read(place: Place, fruit: pa.Table) -> None:
    table = {"namespace_client": place.catalog, "table_id": place.table("fruit")}
    lance.write_dataset(fruit, mode="create", **table)
    lance.write_dataset(fruit, mode="append", **table)
    assert lance.dataset(**table).count_rows() == 6
    lance.write_dataset(fruit, mode="overwrite", **table)
    dataset = lance.dataset(**table)
    assert dataset.to_table() == fruit
    assert dataset.version == 3
    assert lance.dataset(version=2, **table).count_rows() == 6
    assert place.catalog.list_tables({"id": list(place.namespace)}).tables == ["fruit"]


def test_creating_twice_is_refused_and_changes_nothing(place: Place, fruit: pa.Table) -> None:
    table = {"namespace_client": place.catalog, "table_id": place.table("fruit")}
    lance.write_dataset(fruit, mode="create", **table)
    with pytest.raises(TableAlreadyExistsError):
        lance.write_dataset(fruit.slice(1), mode="create", **table)
    assert lance.dataset(**table).to_table() == fruit


def test_fragments_written_apart_are_committed_through_the_catalog(place: Place, fruit: pa.Table) -> None:
    catalog, id_ = place.catalog, place.table("fruit")
    lance.write_dataset(fruit, mode="create", namespace_client=catalog, table_id=id_)
    dataset = lance.dataset(namespace_client=catalog, table_id=id_)
    options = catalog.describe_table({"id": id_}).storage_options
    fragments = write_fragments(fruit, dataset.uri, schema=dataset.schema, storage_options=options)
    lance.LanceDataset.commit(
        dataset.uri,
        lance.LanceOperation.Append(fragments),
        read_version=dataset.version,
        namespace_client=catalog,
        table_id=id_,
        storage_options=options,
    )
    assert place.catalog.count_table_rows({"id": id_}).count == 6


def test_what_the_catalog_writes_pylance_searches(place: Place, fruit: pa.Table) -> None:
    catalog, id_ = place.catalog, place.table("fruit")
    assert isinstance(catalog, DirectoryCatalog)
    catalog.create_table_stream({"id": id_}, fruit.to_reader())
    nearest = {"column": "vector", "q": [1.0, 0.1], "k": 1}
    found = lance.dataset(namespace_client=catalog, table_id=id_).to_table(nearest=nearest, columns=["name"])
    assert found["name"].to_pylist() == ["apple"]
