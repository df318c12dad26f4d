from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.tables.dataset import StoredTable
from tests.tables import table_helpers as samples


@pytest.fixture
def table(tmp_path: Path) -> StoredTable:
    """Ten rows in one version."""
    return samples.make(tmp_path)
