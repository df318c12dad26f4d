"""The conformance suite over HTTP: the REST client against a real `lanceway up`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from lanceway.catalogs import RestCatalog
from lanceway.testing import CatalogTests, temporary_namespace
from tests.servers.lanceway import Lanceway


class TestServer(CatalogTests):
    @pytest.fixture
    def catalog(self, server: Lanceway) -> Iterator[RestCatalog]:
        with RestCatalog(uri=server.uri, token=server.token) as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self, catalog: RestCatalog) -> Iterator[Sequence[str]]:
        with temporary_namespace(catalog, ["lake"]) as namespace:
            yield namespace
