"""A tree with one mounted catalog of any type, and a user whose role may use it; objects are made behind the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from lanceway.access.guard import Guard
from lanceway.access.mounted.identities import MountedIdentities
from lanceway.access.principal import Principal
from lanceway.access.privileges import USE_CATALOG
from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable, ServiceObject
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import metalakes
from tests.access.conftest import Clock
from tests.new_lakes import new_lake

METALAKE = "lanceway"


class Foreign:
    """The catalog `there`, as the user `me` has it. Its role `r` may use the catalog, and nothing else yet."""

    def __init__(self, store: LakeStore, tree: FederatedCatalog) -> None:
        self.store, self.tree, self.clock = store, tree, Clock()
        self.identities = MountedIdentities(store, self.clock)
        self.me: Any = self.guard("me")

    def guard(self, user: str, *, admin: bool = False) -> Any:
        return Guard(self.tree, self.store, METALAKE, Principal(user, (), admin), self.identities)

    def place(self, *path: str, kind: str = NAMESPACE) -> Securable:
        return Securable(METALAKE, "there", Identifier(path), kind, mounted=True)

    def grant(
        self,
        path: tuple[str, ...],
        *privileges: str,
        kind: str = TABLE,
        deny: bool = False,
        service: ServiceObject | None = None,
    ) -> None:
        place = replace(self.place(*path, kind=kind if path else NAMESPACE), service=service)
        changes = [GrantChange("r", place, privilege, deny) for privilege in privileges]
        self.store.transact(grants.apply, METALAKE, changes, by="admin")

    def own(self, path: tuple[str, ...], *, kind: str = TABLE, owner: str = "me") -> None:
        self.store.transact(owners.change_owner, self.place(*path, kind=kind), Owner(owner), by="admin")

    def dangling(self) -> list[str]:
        return sorted(
            f"{grant.effect} {grant.privilege} {grant.place.path}"
            for grant in self.store.read(grants.dangling, METALAKE)
        )

    def wait(self, seconds: float = 31.0) -> None:
        """Let the memory of what was verified run out."""
        self.clock.time += seconds


@contextmanager
def mounted(folder: Path, type_: str, settings: Mapping[str, str], *, at: str | None = None) -> Iterator[Foreign]:
    store = open_store(new_lake(folder / "grants.db"), upgrade=False)

    def begin(connection: Connection) -> None:
        metalakes.create(connection, METALAKE, by="admin")
        roles.create(connection, METALAKE, "r", by="admin")
        roles.give(connection, METALAKE, "r", "me", by="admin")

    store.transact(begin)
    there = CatalogSettings(type=type_, settings=dict(settings), at=at)
    tree = FederatedCatalog({"there": there}, OwnLake(store, warehouse=str(folder / "warehouse")))
    foreign = Foreign(store, tree)
    foreign.grant((), USE_CATALOG)
    with tree:
        yield foreign
