"""DuckDB's lance extension reads through a server, and writes past it: seen where storage keeps the versions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb
import duckdb_extension_lance
import lance
import pyarrow as pa

from tests.clients.served.conftest import Served
from tests.servers.lanceway import Lanceway

(EXTENSION,) = Path(duckdb_extension_lance.__file__).parent.rglob("lance.duckdb_extension")


class Query(Protocol):
    def __call__(self, statement: str) -> list[tuple[Any, ...]]: ...


@contextmanager
def attached(place: Served) -> Iterator[Query]:
    """A new DuckDB with the namespace as `x`: one keeps for good what it was told of a table."""
    token = place.properties["header.Authorization"].removeprefix("Bearer ")
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{EXTENSION}'")
        connection.execute(
            f"ATTACH '{'$'.join(place.namespace)}' AS x "
            f"(TYPE LANCE, ENDPOINT '{place.properties['uri']}', BEARER_TOKEN '{token}')"
        )
        yield lambda statement: connection.execute(statement).fetchall()


def reconcile(server: Lanceway, place: Served, name: str, *options: str) -> list[dict[str, Any]]:
    """What `lanceway tables reconcile` finds in the lake behind the server."""
    _, *inside = place.table(name)
    lake = ["--type", "lake", "--set", f"uri=sqlite:///{server.home}/lake.db"]
    command = [sys.executable, "-m", "lanceway", *lake, "--json", "tables", "reconcile", ".".join(inside), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_what_the_server_has_is_read(place: Served, fruit: pa.Table) -> None:
    lance.write_dataset(fruit, mode="create", **place.address("fruit"))
    with attached(place) as query:
        assert query("SELECT name FROM x.main.fruit WHERE id > 1 ORDER BY id") == [("banana",), ("cherry",)]


def test_a_table_is_created_appended_to_and_read_where_storage_keeps_versions(stored: Served) -> None:
    with attached(stored) as query:
        query("SHOW ALL TABLES")  # without this it makes the table and loses the rows, on any server
        query("CREATE TABLE x.main.plums AS SELECT 1::BIGINT AS id")
    with attached(stored) as query:
        query("INSERT INTO x.main.plums VALUES (2)")
        assert query("SELECT id FROM x.main.plums ORDER BY id") == [(1,), (2,)]
    assert stored.versions("plums") == [1, 2]
    assert sorted(lance.dataset(**stored.address("plums")).to_table()["id"].to_pylist()) == [1, 2]


def test_on_a_managed_table_its_write_is_hidden_until_it_is_adopted(server: Lanceway, managed: Served) -> None:
    lance.write_dataset(pa.table({"id": pa.array([1], pa.int64())}), mode="create", **managed.address("plums"))
    with attached(managed) as query:
        query("INSERT INTO x.main.plums VALUES (2)")
        assert query("SELECT id FROM x.main.plums") == [(1,)]
    assert lance.dataset(**managed.address("plums")).to_table()["id"].to_pylist() == [1]

    (found,) = reconcile(server, managed, "plums")
    assert (found["kind"], found["version"], found["fixed"]) == ("stray", 2, False)
    assert managed.versions("plums") == [1]
    (found,) = reconcile(server, managed, "plums", "--adopt")
    assert (found["kind"], found["version"], found["fixed"]) == ("stray", 2, True)
    assert managed.versions("plums") == [1, 2]
    assert sorted(lance.dataset(**managed.address("plums")).to_table()["id"].to_pylist()) == [1, 2]
    with attached(managed) as query:
        assert query("SELECT id FROM x.main.plums ORDER BY id") == [(1,), (2,)]
