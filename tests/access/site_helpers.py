"""A site: a tree with a lake and a mounted folder, some of everything in both, and users with rights in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection

from lanceway.access.guard import Guard
from lanceway.access.principal import Principal
from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import metalakes

METALAKE = "lanceway"
SPACES = (["A"], ["A", "B"], ["A", "B", "C"], ["X"])
TABLES = (["A", "t1"], ["A", "t2"], ["A", "B", "t"], ["X", "t"])
CATALOGS = ("archive", "lake")


@dataclass(frozen=True)
class Site:
    """The role `r` is the user `me`'s. `archive` is a mounted folder, `lake` a catalog of the lake."""

    store: LakeStore
    tree: FederatedCatalog

    def guard(self, user: str = "me", *, groups: tuple[str, ...] = (), admin: bool = False) -> Any:
        return Guard(self.tree, self.store, METALAKE, Principal(user, groups, admin))

    def place(self, *names: str, kind: str = NAMESPACE) -> Securable:
        """The place of an identifier in the tree; without names the metalake."""
        if not names:
            return Securable(METALAKE)
        catalog, path = names[0], Identifier(names[1:])
        return Securable(METALAKE, catalog, path, kind if path else NAMESPACE, mounted=catalog == "archive")

    def table(self, *names: str) -> Securable:
        return self.place(*names, kind=TABLE)

    def grant(self, place: Securable, *privileges: str, deny: bool = False, role: str = "r") -> None:
        self._change([GrantChange(role, place, privilege, deny) for privilege in privileges])

    def revoke(self, place: Securable, *privileges: str, deny: bool = False, role: str = "r") -> None:
        self._change([GrantChange(role, place, privilege, deny, revoke=True) for privilege in privileges])

    def own(self, place: Securable, owner: str = "me") -> None:
        self.store.transact(owners.change_owner, place, Owner(owner), by="admin")

    def _change(self, changes: Sequence[GrantChange]) -> None:
        self.store.transact(grants.apply, METALAKE, changes, by="admin")


def rows(*ids: int) -> pa.RecordBatchReader:
    return pa.table({"id": pa.array(ids, pa.int64())}).to_reader()


def make_site(store: LakeStore, folder: Path) -> Site:
    """Make the tree, fill it as an administrator, and give the user `me` the role `r`, which may do nothing yet."""
    (folder / "archive").mkdir()

    def begin(connection: Connection) -> None:
        metalakes.create(connection, METALAKE, by="admin")
        roles.create(connection, METALAKE, "r", by="admin")
        roles.give(connection, METALAKE, "r", "me", by="admin")

    store.transact(begin)
    archive = CatalogSettings(type="dir", settings={"path": str(folder / "archive"), "layout": "manifest"})
    tree = FederatedCatalog({"archive": archive}, OwnLake(store, warehouse=str(folder / "warehouse")))
    site = Site(store, tree)
    admin = site.guard("admin", admin=True)
    admin.create_namespace({"id": ["lake"]})
    for catalog in CATALOGS:
        for space in SPACES:
            admin.create_namespace({"id": [catalog, *space]})
        for table in TABLES:
            admin.create_table_stream({"id": [catalog, *table]}, rows(1, 2))
    return site
