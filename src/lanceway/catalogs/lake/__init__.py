"""The lake: Lanceway's own catalog, with nested namespaces and managed versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.lake.catalog import Difference as Difference
    from lanceway.catalogs.lake.catalog import LakeCatalog as LakeCatalog

__all__, __getattr__ = front(
    __name__, {"Difference": "lanceway.catalogs.lake.catalog", "LakeCatalog": "lanceway.catalogs.lake.catalog"}
)
