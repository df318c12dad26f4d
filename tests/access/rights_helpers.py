"""Worlds of rights: a metalake with one catalog and a few namespaces, and callers who ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.access import decisions, lists
from lanceway.access.decisions import Verdict
from lanceway.errors import NamespaceNotFoundError, PermissionDeniedError
from lanceway.identifiers import ROOT, HierarchicalName, Identifier
from lanceway.lake.access import grants, owners, roles, securables
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import catalogs, metalakes, namespaces, tables

CATALOG = "lake"
ME = Caller("me")
LIST = "list"


@dataclass(frozen=True)
class World:
    """A metalake in a store."""

    store: LakeStore
    metalake: str

    def place(self, path: str | None = "", kind: str = NAMESPACE) -> Securable:
        """The place of a logical path, such as `A:B`; the empty one is the catalog, and None the metalake."""
        return Securable(self.metalake) if path is None else Securable(self.metalake, CATALOG, name(path), kind)

    def grant(self, role: str, path: str | None, privilege: str, *, deny: bool = False, kind: str = NAMESPACE) -> None:
        self.change(GrantChange(role, self.place(path, kind), privilege, deny))

    def change(self, *changes: GrantChange) -> list[bool]:
        return self.store.transact(grants.apply, self.metalake, changes, by="admin")

    def own(self, path: str | None, owner: Owner, kind: str = NAMESPACE) -> None:
        self.store.transact(owners.change_owner, self.place(path, kind), owner, by="admin")

    def may(self, rule: str, path: str | None = "", kind: str = NAMESPACE, caller: Caller = ME) -> Verdict:
        return self.store.read(decisions.decide, caller, rule, self.place(path, kind))

    def list(self, path: str = "", caller: Caller = ME, size: int = 100) -> Sequence[str] | str:
        """The logical paths of what is shown in a namespace; what it raises as a status."""
        try:
            names = self.pages(lists.child_namespaces, path, caller, size)
        except PermissionDeniedError:
            return "403"
        except NamespaceNotFoundError:
            return "404"
        return [name(path).child(each).format(":") for each in names]

    def pages(self, function: object, path: str, caller: Caller, size: int, **options: object) -> list[str]:
        """All pages of a list, each of which is full but the last."""
        found: list[str] = []
        while True:
            after = found[-1] if found else None
            page = self.store.read(function, caller, self.place(path), after=after, limit=size, **options)
            found += page
            if len(page) < size:
                return found

    def load(self, path: str, caller: Caller = ME) -> str:
        if not self.may("load schema", path, caller=caller):
            return "403"
        return "200" if self.exists(path) else "404"

    def create(self, path: str, caller: Caller = ME) -> str:
        parent = name(path).parent.format(":") if name(path).depth > 1 else ""
        return "200" if self.may("create schema", parent, caller=caller) else "403"

    def exists(self, path: str) -> bool:
        try:
            self.store.read(securables.find, self.place(path))
        except NamespaceNotFoundError:
            return False
        return True


def name(path: str) -> HierarchicalName:
    return HierarchicalName.parse(path) if path else HierarchicalName(ROOT)


def make_world(
    store: LakeStore, metalake: str, paths: Sequence[str], leaves: Sequence[str] = (), role: str = "r"
) -> World:
    """A metalake whose catalog has namespaces and, by the path of each, tables; the user `me` has one role."""

    def work(connection: Connection) -> None:
        metalakes.create(connection, metalake, by="admin")
        catalog = catalogs.create(connection, metalake, CATALOG, by="admin", nested=True, location=f"/w/{metalake}").id
        for path in paths:
            namespaces.create(connection, catalog, name(path), by="admin")
        for leaf in leaves:
            tables.create(connection, catalog, Identifier(name(leaf)), by="admin", kind=TABLE)
        roles.create(connection, metalake, role, by="admin")
        roles.give(connection, metalake, role, ME.user, by="admin")

    store.transact(work)
    return World(store, metalake)
