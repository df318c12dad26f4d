"""The conformance suite over a local folder, in each of its layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import DirectoryCatalog
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests

SETTINGS = {"storage.secret_access_key": "hush-hush"}
MANIFEST = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "chosen_location": "a table lies in the folder, under its name",
}
FLAT = {
    **MANIFEST,
    "namespaces": "a folder without a manifest holds tables alone",
    "create_namespace": "the layout manifest has it",
    "drop_namespace": "the layout manifest has it",
    "register_table": "the layout manifest has it",
    "rename_table": "the layout manifest has it",
}


class TestPlainFolder(CatalogTests):
    without = FLAT
    secrets = tuple(SETTINGS.values())

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> DirectoryCatalog:
        return DirectoryCatalog(path=str(tmp_path), **SETTINGS)


class TestLanceFolder(CatalogTests):
    without = FLAT
    secrets = tuple(SETTINGS.values())

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> DirectoryCatalog:
        return DirectoryCatalog(path=str(tmp_path), layout="lance", **SETTINGS)


class TestManifestFolder(CatalogTests):
    without = MANIFEST
    secrets = tuple(SETTINGS.values())

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> DirectoryCatalog:
        return DirectoryCatalog(path=str(tmp_path), layout="manifest", **SETTINGS)
