"""The conformance suite over Unity Catalog, with data on a real S3 server and in local folders.

No namespace of Unity holds both tables and namespaces, so it runs in a schema, for all that is about tables; and in the
catalog for what is about namespaces, in each dialect of its errors. A class shares its catalog, and each test of
tables has a schema of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from lanceway.catalogs import UnityCatalog
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.behaviours.namespaces import (
    DroppedNamespaceTests,
    MissingNamespaceTests,
    NewNamespaceTests,
    RootTests,
)
from tests.catalogs.unity.unity_helpers import Home, home
from tests.servers import seaweedfs
from tests.servers.seaweedfs import S3
from tests.servers.unity import DATABRICKS, NEW, OLD, Unity, real

TOKEN = "hush-hush-token"
LEFT_OUT: Mapping[str, str] = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "mixed_namespaces": "a schema holds tables, a catalog holds schemas",
}
SCHEMA = {
    "test_a_plain_description_reads_no_table": "the specification answers the schema that Unity shows, without a look "
    "at the table"
}


class TestUnityTables(CatalogTests):
    """Everything, inside a schema, with data in a real bucket."""

    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "namespaces": "a schema holds no namespaces"}
    deviations: ClassVar[Mapping[str, str]] = SCHEMA
    secrets = (TOKEN, seaweedfs.SECRET)

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls, unity_process: Unity) -> Iterator[Home]:
        unity_process.clear()
        with home(real() or unity_process.endpoint) as place:
            yield place

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, place: Home, s3: S3) -> Iterator[UnityCatalog]:
        storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        with place.connect(s3.prefix(), auth_token=TOKEN, **storage) as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self, place: Home) -> Sequence[str]:
        return place.schema(f"s{uuid.uuid4().hex[:12]}")


class UnitySchemas(RootTests, MissingNamespaceTests, NewNamespaceTests, DroppedNamespaceTests):
    """Schemas in a catalog, and tables in local folders."""

    without: ClassVar[Mapping[str, str]] = {**LEFT_OUT, "nested_namespaces": "a schema holds no namespaces"}
    dialect: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls, unity_process: Unity) -> Iterator[Home]:
        unity_process.clear()
        unity_process.dialect = cls.dialect
        with home((cls.dialect == NEW and real()) or unity_process.endpoint) as place:
            yield place

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, place: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnityCatalog]:
        with place.connect(tmp_path_factory.mktemp("unity")) as catalog:
            yield catalog

    @pytest.fixture
    def scratch(self, place: Home) -> Sequence[str]:
        return (place.catalog,)


class TestUnitySchemas(UnitySchemas):
    dialect = NEW


class TestOlderUnity(UnitySchemas):
    """A server that has one code for all that is missing, and one for all that is taken."""

    dialect = OLD


class TestDatabricks(UnitySchemas):
    """Databricks, as far as its errors are known."""

    dialect = DATABRICKS
