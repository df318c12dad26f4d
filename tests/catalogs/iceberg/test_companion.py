"""A Lance table and its companion at one location: each is read by its own stock reader, whatever the other does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog as PyIceberg
from pyiceberg.table import Table

from lanceway.catalogs import IcebergCatalog
from tests.catalogs.iceberg.iceberg_helpers import connect, create, namespace
from tests.servers.iceberg import Iceberg


@pytest.fixture(params=["iceberg", "older_iceberg"])
def server(request: pytest.FixtureRequest) -> Iceberg:
    fixture: Iceberg = request.getfixturevalue(request.param)
    return fixture


@pytest.fixture
def catalog(server: Iceberg, tmp_path: Path) -> Iterator[IcebergCatalog]:
    with connect(server.endpoint, tmp_path) as catalog:
        yield catalog


@pytest.fixture
def space(catalog: IcebergCatalog) -> Iterator[list[str]]:
    """A namespace whose tables leave the shared server with the test: their files go, and others list everything."""
    space = namespace(catalog)
    yield space
    for name in catalog.list_tables({"id": space}).tables:
        catalog.deregister_table({"id": [*space, name]})


def companion(server: Iceberg, table: list[str]) -> Table:
    return PyIceberg("stock", uri=server.endpoint).load_table(tuple(table[1:]))


def rows(catalog: IcebergCatalog, table: list[str]) -> list[int]:
    location = catalog.describe_table({"id": table}).location
    ids: list[int] = sorted(lance.dataset(location).to_table()["id"].to_pylist())
    return ids


def test_each_reads_its_own(server: Iceberg, catalog: IcebergCatalog, space: list[str]) -> None:
    table = create(catalog, [*space, "t"])
    assert rows(catalog, table) == [1, 2, 3]
    iceberg_table = companion(server, table)
    assert [(field.name, str(field.field_type), field.required) for field in iceberg_table.schema().fields] == [
        ("dummy", "string", False)
    ]
    assert iceberg_table.properties["table_type"] == "lance"
    assert iceberg_table.location() == catalog.describe_table({"id": table}).location
    assert iceberg_table.scan().to_arrow().num_rows == 0


def test_what_lance_does_leaves_the_companion_alone(server: Iceberg, catalog: IcebergCatalog, space: list[str]) -> None:
    table = create(catalog, [*space, "t"])
    before = companion(server, table)
    location = catalog.describe_table({"id": table}).location
    catalog.insert_into_table_stream({"id": table}, pa.table({"id": [4]}).to_reader())
    catalog.create_table_scalar_index({"id": table, "column": "id", "index_type": "BTREE"})
    create(catalog, table, pa.table({"id": [7]}), mode="overwrite")
    dataset = lance.dataset(location)
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)
    after = companion(server, table)
    assert (after.metadata_location, after.metadata) == (before.metadata_location, before.metadata)
    assert rows(catalog, table) == [7]


def test_what_iceberg_does_leaves_the_lance_table_alone(
    server: Iceberg, catalog: IcebergCatalog, space: list[str]
) -> None:
    table = create(catalog, [*space, "t"])
    iceberg_table = companion(server, table)
    with iceberg_table.transaction() as change:
        change.set_properties(comment="seen by Iceberg")
    iceberg_table.append(pa.table({"dummy": pa.array(["x", None], pa.string())}))
    assert companion(server, table).scan().to_arrow().num_rows == 2
    assert rows(catalog, table) == [1, 2, 3]
    described = catalog.describe_table({"id": table, "load_detailed_metadata": True})
    assert (described.version, (described.properties or {})["comment"]) == (1, "seen by Iceberg")
    dataset = lance.dataset(described.location)
    dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)
    assert companion(server, table).scan().to_arrow().num_rows == 2


def test_a_table_that_pyiceberg_declared_is_a_lance_table(
    server: Iceberg, catalog: IcebergCatalog, space: list[str]
) -> None:
    """As any other tool may do that follows the specification."""
    schema = pa.schema([pa.field("dummy", pa.string())])
    iceberg_table = PyIceberg("stock", uri=server.endpoint).create_table(
        (space[1], "t"), schema, properties={"table_type": "lance"}
    )
    assert catalog.list_tables({"id": space}).tables == ["t"]
    table = create(catalog, [*space, "t"])
    assert rows(catalog, table) == [1, 2, 3]
    assert companion(server, table).metadata.table_uuid == iceberg_table.metadata.table_uuid
