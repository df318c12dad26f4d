"""The conformance suite over the lake, on both databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.testing import CatalogTests
from lanceway.testing.catalog import LifeTests, StructureTests, TableTests
from tests.catalogs.lake.lake_helpers import PASSWORD, connect

SECRETS = {"storage.secret_access_key": "hush-hush"}


class TestSqliteLake(CatalogTests):
    secrets = tuple(SECRETS.values())

    @pytest.fixture
    def catalog(self, sqlite_uri: str, tmp_path: Path) -> Iterator[LakeCatalog]:
        with connect(sqlite_uri, tmp_path, **SECRETS) as lake:
            yield lake


class TestPostgresLake(CatalogTests):
    secrets = (PASSWORD, *SECRETS.values())

    @pytest.fixture
    def catalog(self, postgres_uri: str, tmp_path: Path) -> Iterator[LakeCatalog]:
        with connect(postgres_uri, tmp_path, **SECRETS) as lake:
            yield lake


class TestStorageManagedLake(TableTests, StructureTests, LifeTests):
    """What changes where the lake leaves versions to storage."""

    without: ClassVar[Mapping[str, str]] = {
        "managed_versions": "the catalog was made with versioning=storage",
    }

    @pytest.fixture
    def catalog(self, sqlite_uri: str, tmp_path: Path) -> Iterator[LakeCatalog]:
        with connect(sqlite_uri, tmp_path, versioning="storage") as lake:
            yield lake
