"""Lance tables in the AWS Glue Data Catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.glue.catalog import GlueCatalog as GlueCatalog

__all__, __getattr__ = front(__name__, {"GlueCatalog": "lanceway.catalogs.glue.catalog"})
