"""Catalogs: the Lance Namespace contract over one metadata service each, one package each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.contract.base import Catalog as Catalog
    from lanceway.catalogs.contract.base import TableEntry as TableEntry
    from lanceway.catalogs.directory.catalog import DirectoryCatalog as DirectoryCatalog
    from lanceway.catalogs.federated.catalog import FederatedCatalog as FederatedCatalog
    from lanceway.catalogs.glue.catalog import GlueCatalog as GlueCatalog
    from lanceway.catalogs.gravitino.catalog import GravitinoCatalog as GravitinoCatalog
    from lanceway.catalogs.hive.catalog import HiveCatalog as HiveCatalog
    from lanceway.catalogs.iceberg.catalog import IcebergCatalog as IcebergCatalog
    from lanceway.catalogs.lake.catalog import LakeCatalog as LakeCatalog
    from lanceway.catalogs.polaris.catalog import PolarisCatalog as PolarisCatalog
    from lanceway.catalogs.rest.catalog import RestCatalog as RestCatalog
    from lanceway.catalogs.unity.catalog import UnityCatalog as UnityCatalog

# Imported when first named, so that asking for one catalog does not load the others' libraries.
__all__, __getattr__ = front(
    __name__,
    {
        "Catalog": "lanceway.catalogs.contract.base",
        "DirectoryCatalog": "lanceway.catalogs.directory",
        "FederatedCatalog": "lanceway.catalogs.federated",
        "GlueCatalog": "lanceway.catalogs.glue",
        "GravitinoCatalog": "lanceway.catalogs.gravitino",
        "HiveCatalog": "lanceway.catalogs.hive",
        "IcebergCatalog": "lanceway.catalogs.iceberg",
        "LakeCatalog": "lanceway.catalogs.lake",
        "PolarisCatalog": "lanceway.catalogs.polaris",
        "RestCatalog": "lanceway.catalogs.rest",
        "TableEntry": "lanceway.catalogs.contract.base",
        "UnityCatalog": "lanceway.catalogs.unity",
    },
)
