"""The conformance suite over our own Iceberg catalog, whose server is the Iceberg dialect.

What happens inside a table is the same code whatever server knows it, so that only what a server takes part in is asked
for. The specification of catalogs has a missing parent refused, that of nested namespaces has it made: the catalog
looks before it asks, so that both hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.catalog import NamespaceTests, TableTests
from tests.catalogs.iceberg.iceberg_helpers import namespace
from tests.catalogs.iceberg.test_conformance import ICEBERG, remove
from tests.server.iceberg.iceberg_rest_helpers import lake_of, new_catalog
from tests.servers.lanceway import Lanceway


class TestServed(NamespaceTests, TableTests, ConcurrencyTests):
    without: ClassVar[Mapping[str, str]] = ICEBERG
    deviations: ClassVar[Mapping[str, str]] = {
        "test_a_registration_may_be_replaced": "companions refuse commits: a Lance table is replaced by Lance clients"
    }

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, server: Lanceway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergCatalog]:
        store = lake_of(server)
        warehouse = new_catalog(store, server)
        store.close()
        root = str(tmp_path_factory.mktemp("served"))
        endpoint = f"{server.address}/iceberg"
        with IcebergCatalog(endpoint=endpoint, warehouse=warehouse, root=root, auth_token=server.token) as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self, catalog: IcebergCatalog) -> Iterator[Sequence[str]]:
        space = namespace(catalog)
        yield space
        remove(catalog, space)
