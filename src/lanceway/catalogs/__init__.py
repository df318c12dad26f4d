"""Catalogs: the Lance Namespace contract over one metadata service each, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.catalogs.base import Catalog, TableEntry
    from lanceway.catalogs.directory import DirectoryCatalog
    from lanceway.catalogs.federated import FederatedCatalog
    from lanceway.catalogs.glue import GlueCatalog
    from lanceway.catalogs.iceberg import IcebergCatalog
    from lanceway.catalogs.lake import LakeCatalog
    from lanceway.catalogs.rest import RestCatalog
    from lanceway.catalogs.unity import UnityCatalog

# Imported when first named, so that asking for one catalog does not load the others' libraries.
_HOMES = {
    "Catalog": "lanceway.catalogs.base",
    "DirectoryCatalog": "lanceway.catalogs.directory",
    "FederatedCatalog": "lanceway.catalogs.federated",
    "GlueCatalog": "lanceway.catalogs.glue",
    "IcebergCatalog": "lanceway.catalogs.iceberg",
    "LakeCatalog": "lanceway.catalogs.lake",
    "RestCatalog": "lanceway.catalogs.rest",
    "TableEntry": "lanceway.catalogs.base",
    "UnityCatalog": "lanceway.catalogs.unity",
}

__all__ = [
    "Catalog",
    "DirectoryCatalog",
    "FederatedCatalog",
    "GlueCatalog",
    "IcebergCatalog",
    "LakeCatalog",
    "RestCatalog",
    "TableEntry",
    "UnityCatalog",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
