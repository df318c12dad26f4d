"""Lance tables in a Hive Metastore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.hive.catalog import HiveCatalog as HiveCatalog

__all__, __getattr__ = front(__name__, {"HiveCatalog": "lanceway.catalogs.hive.catalog"})
