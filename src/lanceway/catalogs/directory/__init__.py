"""Tables in a folder, on this machine or in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.directory.catalog import DirectoryCatalog as DirectoryCatalog

__all__, __getattr__ = front(__name__, {"DirectoryCatalog": "lanceway.catalogs.directory.catalog"})
