"""Lance tables in Apache Gravitino."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.gravitino.catalog import GravitinoCatalog as GravitinoCatalog

__all__, __getattr__ = front(__name__, {"GravitinoCatalog": "lanceway.catalogs.gravitino.catalog"})
