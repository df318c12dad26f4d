"""Any Lance REST server as a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.rest.catalog import RestCatalog as RestCatalog

__all__, __getattr__ = front(__name__, {"RestCatalog": "lanceway.catalogs.rest.catalog"})
