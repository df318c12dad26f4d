"""DuckDB's iceberg extension, as it is, reads and writes through the Iceberg dialect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.server.gravitino.gravitino_helpers import lake_of, new_catalog
from tests.servers.lanceway import Lanceway

NAMES = ("httpfs", "avro", "iceberg")


class Query(Protocol):
    def __call__(self, statement: str) -> list[tuple[Any, ...]]: ...


def _file(name: str) -> Path:
    module = import_module(f"duckdb_extension_{name}")
    (file,) = Path(str(module.__file__)).parent.rglob(f"{name}.duckdb_extension")
    return file


@pytest.fixture
def warehouse(server: Lanceway) -> str:
    store = lake_of(server)
    name = new_catalog(store, server)
    store.close()
    return name


@contextmanager
def attached(server: Lanceway, warehouse: str, token: str | None = None) -> Iterator[Query]:
    """A new DuckDB with the warehouse as `x`."""
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for name in NAMES:
            connection.execute(f"LOAD '{_file(name)}'")
        connection.execute(
            f"ATTACH '{warehouse}' AS x (TYPE ICEBERG, ENDPOINT '{server.address}/iceberg', "
            f"TOKEN '{token or server.token}', ACCESS_DELEGATION_MODE 'none')"
        )
        yield lambda statement: connection.execute(statement).fetchall()


def test_a_table_is_made_filled_changed_and_read(server: Lanceway, warehouse: str) -> None:
    with attached(server, warehouse) as query:
        query("CREATE SCHEMA x.sales")
        query("CREATE TABLE x.sales.orders (id BIGINT, name VARCHAR)")
        query("INSERT INTO x.sales.orders VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        assert query("SELECT id, name FROM x.sales.orders ORDER BY id") == [(1, "a"), (2, "b"), (3, "c")]
        query("DELETE FROM x.sales.orders WHERE id = 2")
        assert query("SELECT count(*) FROM x.sales.orders") == [(2,)]
        # In one statement, DuckDB writes into a folder that it has not made: on local disks that fails, on any server.
        query("CREATE TABLE x.sales.copied (id BIGINT, name VARCHAR)")
        query("INSERT INTO x.sales.copied SELECT * FROM x.sales.orders")
        assert query("SELECT sum(id) FROM x.sales.copied") == [(4,)]
    with attached(server, warehouse) as query:
        assert query("SELECT id FROM x.sales.orders ORDER BY id") == [(1,), (3,)]
        query("DROP TABLE x.sales.copied")
        query("DROP TABLE x.sales.orders")
        query("DROP SCHEMA x.sales")


def test_what_pyiceberg_wrote_is_read_and_written_back(server: Lanceway, warehouse: str) -> None:
    import pyarrow as pa

    catalog = RestCatalog("ours", uri=f"{server.address}/iceberg", warehouse=warehouse, token=server.token)
    catalog.create_namespace("ns")
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]})
    catalog.create_table("ns.t", rows.schema).append(rows)
    with attached(server, warehouse) as query:
        assert query("SELECT name FROM x.ns.t ORDER BY id") == [("a",), ("b",)]
        query("INSERT INTO x.ns.t VALUES (3, 'c')")
    assert sorted(catalog.load_table("ns.t").scan().to_arrow()["name"].to_pylist()) == ["a", "b", "c"]


def test_what_one_may_not_see_is_not_shown(server: Lanceway, warehouse: str) -> None:
    with attached(server, warehouse) as query:
        query("CREATE SCHEMA x.hidden")
        query("CREATE TABLE x.hidden.t (id BIGINT)")
    token = server.token_for(f"duck-{warehouse}", "USE_CATALOG", "CREATE_SCHEMA")
    with attached(server, warehouse, token) as query:
        query("CREATE SCHEMA x.mine")
        with pytest.raises(duckdb.Error):
            query("SELECT * FROM x.hidden.t")
