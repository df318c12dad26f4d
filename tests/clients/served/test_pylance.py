"""Stock pylance works on a server of ours by an address and a token."""

from __future__ import annotations

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.fragment import write_fragments

from lanceway.errors import TableAlreadyExistsError, TableNotFoundError, UnauthenticatedError
from tests.clients.served.conftest import Served


def names(dataset: lance.LanceDataset) -> list[str]:
    return sorted(dataset.to_table(columns=["name"])["name"].to_pylist())


def test_a_table_is_created_appended_to_overwritten_and_read(place: Served, fruit: pa.Table) -> None:
    table = place.address("fruit")
    lance.write_dataset(fruit, mode="create", **table)
    lance.write_dataset(fruit, mode="append", **table)
    assert lance.dataset(**table).count_rows() == 6
    lance.write_dataset(fruit, mode="overwrite", **table)
    assert lance.dataset(**table).to_table() == fruit
    assert lance.dataset(version=2, **table).count_rows() == 6
    assert place.versions("fruit") == [1, 2, 3]
    assert place.catalog.list_tables({"id": list(place.namespace)}).tables == ["fruit"]


def test_creating_twice_is_refused_and_changes_nothing(place: Served, fruit: pa.Table) -> None:
    lance.write_dataset(fruit, mode="create", **place.address("fruit"))
    with pytest.raises(TableAlreadyExistsError):
        lance.write_dataset(fruit.slice(1), mode="create", **place.address("fruit"))
    assert lance.dataset(**place.address("fruit")).to_table() == fruit


def test_rows_and_columns_are_changed_and_every_change_is_a_version_of_the_server(
    managed: Served, fruit: pa.Table
) -> None:
    table = managed.address("fruit")
    lance.write_dataset(fruit, mode="create", **table)
    dataset = lance.dataset(**table)
    dataset.delete("id = 3")
    dataset.update({"name": "'avocado'"}, where="id = 1")
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fruit.slice(1))
    dataset.add_columns({"twice": "id * 2"})
    dataset.optimize.compact_files()
    assert names(lance.dataset(**table)) == ["avocado", "banana", "cherry"]
    assert managed.versions("fruit") == list(range(1, dataset.latest_version + 1))
    found = managed.catalog.query_table_stream({"id": managed.table("fruit"), "vector": {}, "k": 9, "filter": "id = 3"})
    assert found.read_all().select(["name", "twice"]).to_pylist() == [{"name": "cherry", "twice": 6}]


def test_time_travel_tags_and_restore(place: Served, fruit: pa.Table) -> None:
    table = place.address("fruit")
    dataset = lance.write_dataset(fruit.slice(0, 1), mode="create", **table)
    dataset.tags.create("first", 1)
    lance.write_dataset(fruit.slice(1), mode="append", **table)
    assert names(lance.dataset(version="first", **table)) == ["apple"]
    assert names(lance.dataset(version=2, **table)) == ["apple", "banana", "cherry"]
    tags = place.catalog.list_table_tags({"id": place.table("fruit")}).tags
    # A client writes tags to storage alone, which a lake that manages the table does not show.
    managed = place.catalog.describe_table({"id": place.table("fruit")}).managed_versioning
    assert {name: tag.version for name, tag in tags.items()} == ({} if managed else {"first": 1})

    place.catalog.create_table_tag({"id": place.table("fruit"), "tag": "second", "version": 2})
    assert names(lance.dataset(version="second", **table)) == ["apple", "banana", "cherry"]

    lance.dataset(version=1, **table).restore()
    assert names(lance.dataset(**table)) == ["apple"]
    assert place.versions("fruit") == [1, 2, 3]


def test_vectors_and_text_are_searched_through_indices(place: Served, fruit: pa.Table) -> None:
    table = place.address("fruit")
    lance.write_dataset(fruit, mode="create", **table)
    lance.dataset(**table).create_scalar_index("name", "INVERTED")
    dataset = lance.dataset(**table)
    nearest = {"column": "vector", "q": [0.0, 1.0], "k": 1}
    assert dataset.to_table(nearest=nearest, columns=["name"])["name"].to_pylist() == ["banana"]
    assert dataset.to_table(full_text_query="cherry", columns=["id"])["id"].to_pylist() == [3]
    (index,) = place.catalog.list_table_indices({"id": place.table("fruit")}).indexes
    assert index.columns == ["name"]


def test_fragments_written_apart_are_committed_through_the_server(managed: Served, fruit: pa.Table) -> None:
    table = managed.address("fruit")
    lance.write_dataset(fruit, mode="create", **table)
    dataset = lance.dataset(**table)
    fragments = write_fragments(fruit, dataset.uri, schema=dataset.schema)
    append = lance.LanceOperation.Append(fragments)
    lance.LanceDataset.commit(dataset.uri, append, read_version=1, namespace_client_managed_versioning=True, **table)
    assert managed.catalog.count_table_rows({"id": managed.table("fruit")}).count == 6
    assert managed.versions("fruit") == [1, 2]


def test_a_branch_has_versions_of_its_own(managed: Served, fruit: pa.Table) -> None:
    table = managed.address("fruit")
    lance.write_dataset(fruit, mode="create", **table)
    branch = lance.dataset(**table).create_branch("trial")
    branch.insert(fruit.slice(2))
    assert lance.dataset(**table).count_rows() == 3
    request = {"id": managed.table("fruit"), "branch": "trial"}
    assert [found.version for found in managed.catalog.list_table_versions(request).versions] == [1, 2]
    assert managed.catalog.count_table_rows({"id": managed.table("fruit")}).count == 3


def test_what_is_refused_has_the_error_of_its_code(managed: Served) -> None:
    with pytest.raises(TableNotFoundError):
        lance.dataset(**managed.address("fruit"))
    nobody = lance_namespace.connect("rest", {**managed.properties, "header.Authorization": "Bearer lw_no_body"})
    with pytest.raises(UnauthenticatedError):
        lance.dataset(namespace_client=nobody, table_id=managed.table("fruit"))
