"""One tree over many catalogs, each mounted by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.catalogs.federated.catalog import FederatedCatalog as FederatedCatalog
    from lanceway.catalogs.federated.mounts import Mount as Mount

__all__, __getattr__ = front(
    __name__,
    {
        "FederatedCatalog": "lanceway.catalogs.federated.catalog",
        "Mount": "lanceway.catalogs.federated.mounts",
    },
)
