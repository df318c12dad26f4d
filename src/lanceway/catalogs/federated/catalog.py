"""One tree over many catalogs: each is mounted by its name under one root.

The first name of an identifier chooses the catalog, and the rest is the catalog's own:
`["lake", "team", "orders"]` is `["team", "orders"]` in the catalog `lake`. There are two kinds of catalogs: those
from the configuration, of any type, which cannot be changed here, and those in the database of the tree's own
lake, which come and go as namespaces of the root.

    federated_mounts    a mounted catalog, opened when it is needed
    federated_lake      the catalogs in the lake's database
    federated_tree      requests for a branch
    federated_root      the root: catalogs as namespaces
    federated_jobs      background jobs
    federated_listing   the tables of all catalogs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from lanceway.catalogs.federated.listing import FederatedListing, ListingStep
from lanceway.catalogs.federated.mounts import Mount
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    from lanceway.lake.store.database import LakeStore

__all__ = ["FederatedCatalog", "ListingStep", "Mount"]


class FederatedCatalog(FederatedListing):
    """Catalogs under one root.

    A call waits for the catalog that it is for, as long as that takes: the deadlines and threads of mounts are for
    the server, which keeps to them. A catalog that cannot be opened answers 17 for its own branch, and is tried
    again a second later; the root and the other branches do not need it.
    """

    @classmethod
    def from_settings(
        cls,
        settings: ServerSettings,
        store: LakeStore | None = None,
        *,
        metalake: str = "lanceway",
        warehouse: str | None = None,
    ) -> Self:
        """The tree that a server with these settings has, over its store if that is open already.

        Raises InvalidInputError where a catalog is configured that cannot be, such as one whose name a catalog in the
        database has.
        """
        if store is None and settings.database is None:
            return cls(settings.catalogs)
        from lanceway.catalogs.federated.own_lake import OwnLake
        from lanceway.lake.store.database import open_store

        lake = OwnLake(
            store or open_store(settings.database or "", upgrade=False),
            metalake=metalake,
            warehouse=warehouse or settings.warehouse,
            storage=settings.storage,
            threads=settings.threads,
            deadline=settings.request_timeout,
        )
        made = cls(settings.catalogs, lake)
        made._refuse_shadows(lake.present(list(made.mounts())), lake.store)
        return made

    @staticmethod
    def _refuse_shadows(names: list[str], store: LakeStore) -> None:
        if names:
            raise InvalidInputError(
                f"The section [catalogs.{names[0]}] of the configuration and the catalog {names[0]!r} in the lake's "
                f"database ({store!r}) have the same name, and one would hide the other. Rename the section."
            )
