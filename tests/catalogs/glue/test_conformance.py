"""The conformance suite over Glue, with data on a real S3 server.

No namespace of Glue holds both tables and namespaces, so it runs three times: in a database, for all that is about
tables; and for what is about namespaces, with databases of the root and with databases two catalogs down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from lanceway.catalogs import GlueCatalog
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.behaviours.namespaces import (
    DroppedNamespaceTests,
    MissingNamespaceTests,
    NewNamespaceTests,
    RootTests,
)
from tests.catalogs.glue.glue_helpers import database
from tests.servers import seaweedfs
from tests.servers.moto import ACCOUNT, SECRET, Glue
from tests.servers.seaweedfs import S3

LEFT_OUT: Mapping[str, str] = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "cascade": "the Glue specification has restrict alone",
    "mixed_namespaces": "a database holds tables, a catalog holds databases and catalogs",
}
SECRETS = (SECRET, seaweedfs.SECRET)


def connect(glue: Glue, s3: S3, **settings: str) -> GlueCatalog:
    storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
    return GlueCatalog(**glue.settings, **storage, **settings)


@pytest.fixture(scope="module")
def shared(glue_server: Glue, s3: S3) -> Iterator[GlueCatalog]:
    """One for many tests: a client of AWS takes as long to make as most of them take."""
    with connect(glue_server, s3) as catalog:
        yield catalog


class TestGlueTables(CatalogTests):
    """Everything, inside a database."""

    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "namespaces": "a database holds no namespaces"}
    secrets = SECRETS

    @pytest.fixture
    def catalog(self, shared: GlueCatalog, glue: Glue, s3: S3) -> GlueCatalog:
        database(glue, LocationUri=s3.prefix())
        return shared

    @pytest.fixture
    def scratch(self) -> tuple[str, ...]:
        return ("db",)


class GlueNamespaceTests(RootTests, MissingNamespaceTests, NewNamespaceTests, DroppedNamespaceTests):
    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "nested_namespaces": "a database holds no namespaces"}


class TestGlueDatabases(GlueNamespaceTests):
    """Namespaces of one name are databases."""

    @pytest.fixture
    def catalog(self, glue: Glue, s3: S3) -> Iterator[GlueCatalog]:
        with connect(glue, s3, hierarchy="databases", root=s3.prefix()) as catalog:
            yield catalog


class TestDatabasesOfChildCatalog(GlueNamespaceTests):
    """Databases two catalogs down."""

    @pytest.fixture
    def catalog(self, glue: Glue, s3: S3) -> Iterator[GlueCatalog]:
        glue.state.add(ACCOUNT, "outer")
        glue.state.add(ACCOUNT, "outer", "inner")
        with connect(glue, s3, root=s3.prefix()) as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self) -> tuple[str, ...]:
        return ("outer", "inner")
