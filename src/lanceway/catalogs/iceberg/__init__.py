"""Lance tables in an Iceberg REST catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.iceberg.catalog import IcebergCatalog as IcebergCatalog

__all__, __getattr__ = front(__name__, {"IcebergCatalog": "lanceway.catalogs.iceberg.catalog"})
