"""The conformance suite over a Hive Metastore, with data in local folders.

No namespace of Hive holds both tables and namespaces, so it runs three times: in a database, for all that is about
tables; and for what is about namespaces, with databases of the root and with databases of a catalog. A class shares its
catalog, and each test of tables has a database of its own. What happens inside a table is the same code whatever
metastore knows it, so that older versions are asked for what a metastore takes part in alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from lanceway.catalogs import HiveCatalog
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.behaviours.namespaces import (
    DroppedNamespaceTests,
    MissingNamespaceTests,
    NewNamespaceTests,
    RootTests,
)
from lanceway.testing.capabilities import Suite
from lanceway.testing.catalog import TableTests
from tests.servers.hive import Hive

SECRET = "quiet-quiet"
LEFT_OUT: Mapping[str, str] = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "cascade": "the mapping has restrict alone",
    "mixed_namespaces": "a database holds tables, a catalog holds databases",
}


def connect(hive: Hive, folders: pytest.TempPathFactory, **settings: str) -> HiveCatalog:
    root = str(folders.mktemp("hive"))
    return HiveCatalog(uri=hive.uri, root=root, **{"storage.secret_access_key": SECRET}, **settings)


class InADatabase(Suite):
    """A database of its own for each test, in the first catalog where there are any."""

    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "namespaces": "a database holds no namespaces"}
    secrets = (SECRET,)
    parent: ClassVar[Sequence[str]] = ("hive",)

    @pytest.fixture
    def scratch(self, catalog: HiveCatalog) -> Sequence[str]:
        database = [*self.parent, f"d_{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": database})
        return database


class TestHiveTables(InADatabase, CatalogTests):
    """Everything, inside a database."""

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(hive, tmp_path_factory) as catalog:
            yield catalog


class TestTablesOfVersion3(InADatabase, TableTests, ConcurrencyTests):
    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, older_hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(older_hive, tmp_path_factory) as catalog:
            yield catalog


class TestTablesOfVersion2(InADatabase, TableTests, ConcurrencyTests):
    parent = ()

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, oldest_hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(oldest_hive, tmp_path_factory) as catalog:
            yield catalog


class HiveNamespaceTests(RootTests, MissingNamespaceTests, NewNamespaceTests, DroppedNamespaceTests):
    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "nested_namespaces": "a database holds no namespaces"}


class TestHiveDatabases(HiveNamespaceTests):
    """Namespaces of one name are databases."""

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(hive, tmp_path_factory, hierarchy="databases") as catalog:
            yield catalog


class TestDatabasesOfACatalog(HiveNamespaceTests):
    """Databases in a catalog beside the first one."""

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(hive, tmp_path_factory) as catalog:
            yield catalog

    @pytest.fixture(scope="class")
    @classmethod
    def scratch(cls, catalog: HiveCatalog) -> Sequence[str]:
        made = [f"c_{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": made})
        return made


class TestDatabasesOfVersion3(HiveNamespaceTests):
    """Databases in a catalog beside the first one."""

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, older_hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(older_hive, tmp_path_factory) as catalog:
            yield catalog

    @pytest.fixture(scope="class")
    @classmethod
    def scratch(cls, catalog: HiveCatalog) -> Sequence[str]:
        made = [f"c_{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": made})
        return made


class TestDatabasesOfVersion2(HiveNamespaceTests):
    """There is nothing but databases, which the metastore says itself."""

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, oldest_hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveCatalog]:
        with connect(oldest_hive, tmp_path_factory) as catalog:
            yield catalog
