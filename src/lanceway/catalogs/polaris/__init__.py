"""Lance tables in Apache Polaris and in Lakekeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.polaris.catalog import PolarisCatalog as PolarisCatalog

__all__, __getattr__ = front(__name__, {"PolarisCatalog": "lanceway.catalogs.polaris.catalog"})
