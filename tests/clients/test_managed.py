"""Stock clients commit to managed tables through the lake, without knowing and all at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

from lanceway.catalogs import LakeCatalog
from tests.clients.writer import IMPLEMENTATION
from tests.servers.postgres import Postgres

WRITER = Path(__file__).with_name("writer.py")
TABLE = ["team", "sales", "orders"]
EACH = 5


@pytest.fixture(params=["sqlite", "postgresql", "bucket"])
def properties(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A lake as a client is told of it: on each database, and with its warehouse in a bucket."""
    local = {"uri": f"sqlite:///{tmp_path}/lake.db", "root": str(tmp_path / "warehouse")}
    if request.param == "sqlite":
        yield local
    elif request.param == "bucket":
        s3 = request.getfixturevalue("s3")
        options = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        yield {**local, "root": s3.prefix(), **options}
    else:
        server: Postgres = request.getfixturevalue("postgres")
        schema = server.schema()
        yield {**local, "uri": server.uri(schema)}
        server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def lake(properties: dict[str, str]) -> Iterator[LakeCatalog]:
    catalog = lance_namespace.connect(IMPLEMENTATION, properties)
    assert isinstance(catalog, LakeCatalog)
    with catalog:
        catalog.create_namespaces("team:sales")
        yield catalog


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def start(client: str, properties: dict[str, str], first: int, table: list[str] = TABLE) -> subprocess.Popen[str]:
    # Without the folder of the program, which holds one that is called as a client is.
    command = [sys.executable, "-P", str(WRITER), client, json.dumps(properties), json.dumps(table)]
    command += [str(first), str(EACH)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_writers_of_every_kind_lose_and_double_nothing(lake: LakeCatalog, properties: dict[str, str]) -> None:
    lance.write_dataset(rows(0), namespace_client=lake, table_id=TABLE, mode="create")
    clients = ("pylance", "open_dataset", "lancedb", "daft")
    writers = [start(client, properties, 100 * (number + 1)) for number, client in enumerate(clients)]
    assert [writer.stdout.readline() for writer in writers if writer.stdout] == ["ready\n"] * len(clients)
    said = [writer.communicate("go\n") for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(clients)
    acknowledged = [int(line) for out, _ in said for line in out.split()]

    dataset = lance.dataset(namespace_client=lake, table_id=TABLE)
    assert sorted(dataset.to_table()["id"].to_pylist()) == [0, *sorted(acknowledged)]
    assert len(acknowledged) == EACH * len(clients)
    found = lake.list_table_versions({"id": TABLE}).versions  # type: ignore[arg-type]
    assert [version.version for version in found] == list(range(1, len(acknowledged) + 2))
    assert lake.reconcile(TABLE) == []


def test_every_change_of_a_client_is_a_version_of_the_lake(lake: LakeCatalog) -> None:
    table = {"namespace_client": lake, "table_id": TABLE}
    lance.write_dataset(rows(1, 2, 3), mode="create", **table)
    dataset = lance.dataset(**table)
    dataset.delete("id = 3")
    dataset.update({"id": "20"}, where="id = 2")
    dataset.merge_insert("id").when_not_matched_insert_all().execute(rows(1, 4))
    dataset.add_columns({"twice": "id * 2"})
    dataset.create_scalar_index("id", "BTREE")
    dataset.optimize.compact_files()
    latest = lake.describe_table_version({"id": TABLE}).version.version  # type: ignore[arg-type]
    assert (latest, dataset.latest_version) == (dataset.version, dataset.version)
    dataset.checkout_version(1).restore()
    assert sorted(lance.dataset(**table).to_table()["id"].to_pylist()) == [1, 2, 3]
    dataset.tags.create("first", 1)
    assert lance.dataset(**table, version="first").version == 1
    lance.write_dataset(rows(7), mode="overwrite", **table)
    assert lake.count_table_rows({"id": TABLE}).count == 1  # type: ignore[arg-type]
    # A client writes tags to storage alone. They are its own until the lake adopts them.
    assert [(difference.kind, difference.name) for difference in lake.reconcile(TABLE)] == [("stray tag", "first")]
    assert lake.list_table_tags({"id": TABLE}).tags == {}  # type: ignore[arg-type]
    lake.reconcile(TABLE, adopt=True)
    assert list(lake.list_table_tags({"id": TABLE}).tags) == ["first"]  # type: ignore[arg-type]
    assert lake.reconcile(TABLE) == []


def test_lancedb_creates_changes_and_drops(lake: LakeCatalog, properties: dict[str, str]) -> None:
    database = lancedb.connect_namespace(IMPLEMENTATION, properties)
    inside = {"namespace_path": TABLE[:-1]}
    table = database.create_table("orders", rows(1, 2, 3), **inside)
    table.add(rows(4))
    table.delete("id = 1")
    table.update(where="id = 2", values={"id": 20})
    assert sorted(database.open_table("orders", **inside).to_arrow()["id"].to_pylist()) == [3, 4, 20]
    assert lake.count_table_rows({"id": TABLE}).count == 3  # type: ignore[arg-type]
    assert len(lake.list_table_versions({"id": TABLE}).versions) == 4  # type: ignore[arg-type]
    database.drop_table("orders", **inside)
    assert lake.list_tables({"id": TABLE[:-1]}).tables == []  # type: ignore[arg-type]


def test_what_goes_round_the_lake_is_not_seen_by_a_client(lake: LakeCatalog) -> None:
    table = {"namespace_client": lake, "table_id": TABLE}
    lance.write_dataset(rows(1), mode="create", **table)
    lance.write_dataset(rows(2), mode="append", **table)
    described = lake.describe_table({"id": TABLE})  # type: ignore[arg-type]
    lance.write_dataset(rows(99), described.location, mode="append", storage_options=described.storage_options)
    assert sorted(lance.dataset(**table).to_table()["id"].to_pylist()) == [1, 2]
    lance.write_dataset(rows(3), mode="append", **table)
    assert sorted(lance.dataset(**table).to_table()["id"].to_pylist()) == [1, 2, 3]
    (stray,) = lake.reconcile(TABLE)
    assert (stray.kind, stray.version) == ("stray", 3)
