"""A lake with the namespace `team`, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from tests.new_lakes import new_lake


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture
def lake(tmp_path: Path, warehouse: Path) -> Iterator[LakeCatalog]:
    catalog = LakeCatalog(uri=new_lake(tmp_path / "lake.db"), root=str(warehouse))
    catalog.create_namespace({"id": ["team"]})  # type: ignore[arg-type]
    yield catalog
    catalog.close()
