"""A warehouse in a bucket: the server says where it is, and clients bring their own keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import lance
import lancedb
import pyarrow as pa
import pytest

from tests.clients.served.conftest import Served, properties
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, S3, SECRET


@dataclass(frozen=True)
class Bucket:
    server: Lanceway
    place: Served
    keys: dict[str, str]  # what a client has of its own


@pytest.fixture(scope="module")
def bucket(whole_run: Run, s3: S3) -> Iterator[Bucket]:
    options = [f'storage.{name} = "{value}"' for name, value in s3.storage_options.items()]
    settings = "\n".join(["[server]", f'warehouse = "{s3.prefix()}"', *options])
    server = lanceway_server.start(whole_run, settings=settings)
    place = Served(properties(server), ("lake", "team"))
    place.catalog.create_namespace({"id": list(place.namespace)})
    keys = {name: value for name, value in s3.storage_options.items() if value in (KEY, SECRET)}
    assert len(keys) == 2
    yield Bucket(server, place, keys)
    server.stop()


def test_no_answer_has_the_servers_keys(bucket: Bucket, s3: S3) -> None:
    table = f"{'$'.join(bucket.place.namespace)}$plain"
    for operation in ("declare", "describe"):
        answer = bucket.server.ask("POST", f"table/{table}/{operation}", {"vend_credentials": True})
        assert answer.json()["storage_options"]["aws_endpoint"] == s3.endpoint
        assert SECRET not in answer.text
        assert KEY not in answer.json()["storage_options"].values()


def test_pylance_reads_and_writes_with_keys_of_its_own(bucket: Bucket, fruit: pa.Table) -> None:
    table = {**bucket.place.address("fruit"), "storage_options": bucket.keys}
    lance.write_dataset(fruit, mode="create", **table)
    lance.write_dataset(fruit, mode="append", **table)
    dataset = lance.dataset(**table)
    dataset.delete("id = 1")
    assert dataset.uri.startswith("s3://")
    assert sorted(lance.dataset(**table).to_table()["id"].to_pylist()) == [2, 2, 3, 3]
    assert bucket.place.versions("fruit") == [1, 2, 3]
    assert bucket.place.catalog.count_table_rows({"id": bucket.place.table("fruit")}).count == 4

    strange = {**table, "storage_options": {**bucket.keys, "aws_secret_access_key": "another"}}
    with pytest.raises(ValueError, match="403 Forbidden"):
        lance.dataset(**strange)


def test_lancedb_takes_keys_from_the_environment_or_for_a_table(
    bucket: Bucket, fruit: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection's own storage options are forgotten as soon as a server sends any."""
    database = lancedb.connect_namespace("rest", bucket.place.properties)
    inside = {"namespace_path": list(bucket.place.namespace)}
    with monkeypatch.context() as environment:
        for name, value in bucket.keys.items():
            environment.setenv(name.upper(), value)
        table = database.create_table("pears", fruit, **inside)
        table.add(fruit)
        assert table.search([0.0, 1.0]).limit(1).to_arrow()["name"].to_pylist() == ["banana"]
    table = database.open_table("pears", storage_options=bucket.keys, **inside)
    table.add(fruit)
    assert table.count_rows() == 9
    assert bucket.place.versions("pears") == [1, 2, 3]
