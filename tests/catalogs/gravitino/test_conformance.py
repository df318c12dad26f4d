"""The conformance suite over Gravitino's own API: a real `lanceway up`, which speaks it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from lanceway.catalogs import GravitinoCatalog
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from tests.servers.gravitino import Gravitino, catalog_of
from tests.servers.lanceway import Lanceway

GRAVITINO: Mapping[str, str] = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "cascade": "Gravitino would keep the data of tables that are external",
}


class TestLanceway(CatalogTests):
    """Everything, in nested schemas; the server chooses where tables are."""

    without: ClassVar[Mapping[str, str]] = GRAVITINO

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls, server: Lanceway) -> Iterator[Gravitino]:
        with catalog_of(server) as place:
            yield place

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, place: Gravitino) -> Iterator[GravitinoCatalog]:
        with place.connect() as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self, place: Gravitino, catalog: GravitinoCatalog) -> Sequence[str]:
        namespace = [place.catalog, f"n{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": namespace})
        return namespace
