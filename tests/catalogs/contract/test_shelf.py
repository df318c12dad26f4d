"""A catalog in an afternoon: the one that the guide builds, under the conformance suite."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from lance_namespace import LanceNamespace

from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from tests.catalogs.contract.shelf_program import SHOWN, ShelfCatalog


class TestShelf(CatalogTests):
    without: ClassVar[dict[str, str]] = {**NO_ENGINE, **STORAGE_MANAGED, "namespaces": "nothing nests on a shelf"}

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> LanceNamespace:
        catalog: LanceNamespace = ShelfCatalog(file=str(tmp_path / "shelf.db"), root=str(tmp_path / "shelf"))
        return catalog


def test_it_is_short() -> None:
    """As the guide has it: an afternoon's work, in about sixty lines and the imports."""
    body = SHOWN[SHOWN.index("class ShelfCatalog") :]
    assert sum(bool(line.strip()) for line in body.splitlines()) <= 65
