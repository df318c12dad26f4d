"""Credentials that an Iceberg catalog gives out for each table, by a real server that enforces them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import lance
import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.errors import LanceNamespaceError
from tests.catalogs.iceberg.iceberg_helpers import ROWS, create, namespace
from tests.servers import seaweedfs
from tests.servers.proxy import Proxy
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, S3, SECRET, TABLE_BUCKET


@pytest.fixture(scope="module")
def vending(whole_run: Run) -> S3:
    return seaweedfs.start_vending(whole_run)


@pytest.fixture
def catalog(vending: S3) -> Iterator[IcebergCatalog]:
    """A catalog that knows no key to the data of its own."""
    with connect(vending.iceberg, vended_credentials=True) as catalog:
        yield catalog


def connect(endpoint: str, **settings: bool) -> IcebergCatalog:
    return IcebergCatalog(
        endpoint=endpoint, warehouse=TABLE_BUCKET, credential=f"{KEY}:{SECRET}", root="s3://", **settings
    )


def test_a_table_is_written_and_read_with_what_the_server_gives(catalog: IcebergCatalog) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    catalog.insert_into_table_stream({"id": table}, ROWS.to_reader())
    assert catalog.count_table_rows({"id": table}).count == 6
    assert lance.dataset(namespace_client=catalog, table_id=table).count_rows() == 6
    assert catalog.list_tables({"id": table[:-1], "include_declared": False}).tables == ["t"]
    catalog.drop_table({"id": table})
    assert catalog.list_tables({"id": table[:-1]}).tables == []


def test_declaring_and_describing_answer_credentials_that_end(catalog: IcebergCatalog) -> None:
    table = [*namespace(catalog), "t"]
    for options in (
        catalog.declare_table({"id": table}).storage_options or {},
        catalog.describe_table({"id": table}).storage_options or {},
    ):
        assert {"aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_endpoint"} <= options.keys()
        assert int(options["expires_at_millis"]) > time.time() * 1000
        assert SECRET not in options.values()


@pytest.mark.slow
def test_they_are_good_for_the_one_table(catalog: IcebergCatalog) -> None:
    space = namespace(catalog)
    create(catalog, [*space, "mine"])
    other = create(catalog, [*space, "mine_too"])
    options = catalog.describe_table({"id": [*space, "mine"]}).storage_options
    place = catalog.describe_table({"id": other}).location
    assert place is not None
    with pytest.raises((ValueError, OSError), match=r"403|AccessDenied"):
        lance.dataset(place, storage_options=options)


def test_nothing_is_given_to_those_who_do_not_ask(vending: S3) -> None:
    with connect(vending.iceberg) as catalog:
        table = [*namespace(catalog), "t"]
        catalog.declare_table({"id": table})
        assert catalog.describe_table({"id": table}).storage_options is None
        with pytest.raises(LanceNamespaceError):
            create(catalog, table)


class Listening(Proxy):
    """Remembers who asked for credentials."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.asked = 0

    def forward(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        self.asked += "x-iceberg-access-delegation" in map(str.lower, headers)
        return super().forward(method, path, headers, body)


def test_a_list_asks_for_none(vending: S3) -> None:
    with Listening(vending.iceberg) as proxy, connect(proxy.endpoint, vended_credentials=True) as catalog:
        table = [*namespace(catalog), "t"]
        catalog.declare_table({"id": table})
        assert proxy.asked == 1
        assert catalog.list_tables({"id": table[:-1]}).tables == ["t"]
        assert proxy.asked == 1
        catalog.describe_table({"id": table})
        assert proxy.asked == 2


def test_no_credential_is_shown(catalog: IcebergCatalog) -> None:
    table = [*namespace(catalog), "t"]
    secret = (catalog.declare_table({"id": table}).storage_options or {})["aws_secret_access_key"]
    assert secret not in repr(catalog) + catalog.namespace_id()
