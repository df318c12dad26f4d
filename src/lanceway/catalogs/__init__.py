"""Catalogs: the Lance Namespace contract over one metadata service each, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.catalogs.base import Catalog, TableEntry
    from lanceway.catalogs.directory import DirectoryCatalog
    from lanceway.catalogs.lake import LakeCatalog

# Imported when first named, so that asking for one catalog does not load the others' libraries.
_HOMES = {
    "Catalog": "lanceway.catalogs.base",
    "DirectoryCatalog": "lanceway.catalogs.directory",
    "LakeCatalog": "lanceway.catalogs.lake",
    "TableEntry": "lanceway.catalogs.base",
}

__all__ = ["Catalog", "DirectoryCatalog", "LakeCatalog", "TableEntry"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
