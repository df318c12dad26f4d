"""The conformance suite over a server of Gravitino's own: `make test-gravitino`.

Its schemas of Lance tables do not nest, so that it runs in a schema, for all that is about tables, and in the catalog
for what is about namespaces.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from lanceway.catalogs import GravitinoCatalog
from lanceway.testing import CatalogTests
from lanceway.testing.behaviours.namespaces import (
    DroppedNamespaceTests,
    MissingNamespaceTests,
    NewNamespaceTests,
    RootTests,
)
from lanceway.testing.capabilities import Suite
from tests.catalogs.gravitino.test_conformance import GRAVITINO
from tests.servers.gravitino import Gravitino


class RealTests(Suite):
    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, gravitino: Gravitino) -> Iterator[GravitinoCatalog]:
        with gravitino.connect() as catalog:
            yield catalog


class TestGravitinoTables(RealTests, CatalogTests):
    without: ClassVar[Mapping[str, str]] = {**GRAVITINO, "namespaces": "a schema of Lance tables holds no namespaces"}

    @pytest.fixture
    def scratch(self, gravitino: Gravitino, catalog: GravitinoCatalog) -> Sequence[str]:
        namespace = [gravitino.catalog, f"s{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": namespace})
        return namespace


class TestGravitinoSchemas(RealTests, RootTests, MissingNamespaceTests, NewNamespaceTests, DroppedNamespaceTests):
    without: ClassVar[Mapping[str, str]] = {
        **GRAVITINO,
        "mixed_namespaces": "a schema holds tables, a catalog holds schemas",
        "nested_namespaces": "a schema of Lance tables holds no namespaces",
    }

    @pytest.fixture
    def scratch(self, gravitino: Gravitino) -> Sequence[str]:
        return (gravitino.catalog,)
