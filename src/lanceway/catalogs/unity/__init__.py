"""Lance tables in Unity Catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.unity.catalog import UnityCatalog as UnityCatalog

__all__, __getattr__ = front(__name__, {"UnityCatalog": "lanceway.catalogs.unity.catalog"})
