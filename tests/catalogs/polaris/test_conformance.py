"""The conformance suite over generic tables: on a fake of both services, and on real ones where there are any."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

import pytest

from lanceway.catalogs import PolarisCatalog
from lanceway.errors import NamespaceNotEmptyError
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.capabilities import Suite
from tests.servers.polaris import ID, LAKEKEEPER, POLARIS, SECRET, Polaris

GENERIC: Mapping[str, str] = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "cascade": "both services drop empty namespaces alone",
    "unique_names": "Iceberg REST keeps the names of namespaces and of tables apart",
}
EMPTY_LOCATIONS = dict.fromkeys(
    (
        "test_a_registered_table_has_the_data_at_its_location",
        "test_a_registered_table_keeps_its_location",
        "test_a_registration_may_be_replaced",
        "test_a_table_may_get_its_name_back",
    ),
    "Lakekeeper takes empty locations alone, so that no table that is there can be registered; it says so",
)


class GenericTests(Suite):
    """A namespace of its own for each test."""

    without = GENERIC

    @pytest.fixture
    def scratch(self, catalog: PolarisCatalog, folder: str | None) -> Iterator[Sequence[str]]:
        space = [*catalog.list_namespaces({}).namespaces, f"n{uuid.uuid4().hex[:12]}"]
        catalog.create_namespace({"id": space, "properties": {"location": folder} if folder else {}})
        yield space
        remove(catalog, space)

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls) -> str | None:
        """Where a namespace has its tables, if the server does not say it itself."""
        return None


def remove(catalog: PolarisCatalog, namespace: list[str]) -> None:
    """Drop a namespace and all in it. Most tests leave it empty."""
    with suppress(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": namespace})
        return
    for name in catalog.list_tables({"id": namespace}).tables:
        catalog.drop_table({"id": [*namespace, name]})
    for name in catalog.list_namespaces({"id": namespace}).namespaces:
        remove(catalog, [*namespace, name])
    catalog.drop_namespace({"id": namespace})


class FakeTests(GenericTests):
    secrets = (SECRET,)
    dialect: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        return tmp_path_factory.mktemp("generic").as_uri()

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, fake_process: Polaris, folder: str) -> Iterator[PolarisCatalog]:
        fake_process.clear(cls.dialect)
        fake_process.signs_in = True
        with fake_process.connect(root=folder, credential=f"{ID}:{SECRET}") as catalog:
            yield catalog


class TestPolaris(FakeTests, CatalogTests):
    dialect = POLARIS


class TestLakekeeper(FakeTests, CatalogTests):
    dialect = LAKEKEEPER
    deviations: ClassVar[Mapping[str, str]] = EMPTY_LOCATIONS


class TestRealPolaris(GenericTests, CatalogTests):
    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, polaris: PolarisCatalog) -> PolarisCatalog:
        return polaris


class TestRealLakekeeper(GenericTests, CatalogTests):
    deviations: ClassVar[Mapping[str, str]] = EMPTY_LOCATIONS

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, lakekeeper: PolarisCatalog) -> PolarisCatalog:
        return lakekeeper
