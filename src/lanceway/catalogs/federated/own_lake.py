"""The catalogs of a tree's own lake: those in its database, created and dropped through the tree."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from sqlalchemy import Connection

from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.contract.requests import mode
from lanceway.catalogs.federated.made import MadeMounts, MountDefaults
from lanceway.catalogs.federated.mounts import TYPE, CatalogDisabledError, Mount, ServiceMount, begin_with_a_catalog
from lanceway.catalogs.lake.catalog import VERSIONING, LakeCatalog
from lanceway.catalogs.lake.connection import MANAGED, STORAGE
from lanceway.config import login
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, recognized
from lanceway.identifiers import ROOT
from lanceway.lake.secrets import SecretKeys
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import catalogs, locations, mounts, settings
from lanceway.lake.tree.catalogs import CatalogRow
from lanceway.lake.tree.separators import Separator
from lanceway.tables.storage.store import local_path

_RESERVED = "lanceway."
# Of a catalog: whether its namespaces nest, and what separates them in a logical path.
NESTED, SEPARATOR = "lanceway.nested", "lanceway.separator"
# How many opened catalogs are cached: they share connections, and are small.
_MOST_OPENED = 1000


class LakeMount(Mount):
    """A catalog in the lake's database."""

    foreign = False

    def __init__(self, name: str, lake: OwnLake, disabled: bool = False) -> None:
        super().__init__(name, catalogs.LAKE, lake.threads, lake.deadline)
        self._lake, self._is_disabled = lake, disabled

    @property
    def catalog(self) -> LakeCatalog:
        """Return the catalog, opened if it is not yet. Raises NamespaceNotFoundError, CatalogDisabledError."""
        if self._is_disabled:
            raise CatalogDisabledError(self.name)
        return self._lake.opened(self.name)


class OwnLake:
    """A metalake in a database, and the warehouse for the tables of its new catalogs."""

    def __init__(
        self,
        store: LakeStore,
        *,
        metalake: str = "lanceway",
        warehouse: str | None = None,
        storage: Mapping[str, str] | None = None,
        threads: int = 16,
        deadline: float = 60.0,
    ) -> None:
        self.store, self.metalake, self.threads, self.deadline = store, metalake, threads, deadline
        path = None if warehouse is None else local_path(warehouse)
        self._warehouse = warehouse if path is None else os.path.abspath(path)
        self._settings = {
            "metalake": metalake,
            "user": login(),
            **{f"storage.{key}": value for key, value in (storage or {}).items()},
        }
        # By name, with the row that was found: a catalog may be dropped, and its name given to another.
        self._opened: dict[str, tuple[int, LakeCatalog]] = {}

    @property
    def user(self) -> str:
        """Return the user who acts where none is named."""
        return self._settings["user"]

    @property
    def separator(self) -> Separator:
        """Return the lake's separator and its policy, read each time: it may be changed while we run."""
        return self.store.read(settings.separator)

    def identity(self) -> tuple[object, ...]:
        return self.store.uri, sorted(self._settings.items())

    # -- finding ---------------------------------------------------------------------------------

    def names(self, after: str | None, limit: int | None) -> Sequence[str]:
        return self.store.read(catalogs.names, self.metalake, after=after, limit=limit)

    def mount(self, name: str, *, disabled: bool = False) -> LakeMount:
        return LakeMount(name, self, disabled)

    def made_mounts(self, configured: Mapping[str, ServiceMount], keys: SecretKeys | None) -> MadeMounts:
        """Return the catalogs of other services in the database, beside those of the configuration."""
        defaults = MountDefaults(self.threads, self.deadline)
        return MadeMounts(self.store, self.metalake, keys or SecretKeys(), configured, defaults, self.forget_opened)

    def forget_opened(self) -> None:
        """Forget catalogs that were opened: one of them may have another name now."""
        self._opened.clear()

    def properties(self, name: str) -> dict[str, str]:
        """Return a catalog's own properties, its type and its versioning. Raises NamespaceNotFoundError."""
        return self._described(self.load(name))

    def details(self, name: str) -> ObjectDetails:
        """Return what is recorded of a catalog. Raises NamespaceNotFoundError."""
        row = self.load(name)
        changed = (row.audit.created_by, row.audit.created_at, row.audit.changed_by, row.audit.changed_at)
        return ObjectDetails(self._described(row), row.comment, *changed)

    def _described(self, row: CatalogRow) -> dict[str, str]:
        return {**_properties(row), NESTED: str(row.nested).lower(), SEPARATOR: self.separator.character}

    def load(self, name: str) -> CatalogRow:
        """Return the row of a catalog. Raises NamespaceNotFoundError."""
        try:
            return self.store.read(catalogs.load, self.metalake, name)
        except mounts.CatalogNotFoundError as error:
            message = f"There is no catalog {name!r}. {begin_with_a_catalog(name)}"
            raise recognized(mounts.CatalogNotFoundError, message) from error

    def present(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that catalogs in the database have."""
        in_database = {*self.names(None, None), *self.store.read(mounts.names, self.metalake)}
        return [name for name in names if name in in_database]

    def opened(self, name: str) -> LakeCatalog:
        """Return a catalog, opened if it is not yet. Raises NamespaceNotFoundError."""
        cached = self._opened.get(name)
        if cached is None:
            row = self.load(name)
            if len(self._opened) >= _MOST_OPENED:
                self._opened.clear()
            cached = self._opened[name] = row.id, LakeCatalog.over(self.store, row, **self._settings)
        return cached[1]

    def at_hand(self, name: str) -> LakeCatalog | None:
        """Return a catalog that was opened before. Nothing is asked: one that was dropped since has no rows left."""
        cached = self._opened.get(name)
        return None if cached is None else cached[1]

    def is_stale(self, name: str) -> bool:
        """Return whether a catalog was dropped since it was opened, and another one has its name.

        Raises NamespaceNotFoundError if none has.
        """
        cached = self._opened.pop(name, None)
        row = self.load(name)
        if cached is None or row.id != cached[0]:
            return True
        self._opened[name] = cached
        return False

    # -- creating and dropping -------------------------------------------------------------------

    def create(
        self,
        name: str,
        properties: Mapping[str, str],
        *,
        by: str,
        replace: bool = False,
        comment: str | None = None,
        nested: bool = True,
    ) -> CatalogRow:
        """Create a catalog below the warehouse; `replace` an empty one of the same name.

        Raises NamespaceAlreadyExistsError, NamespaceNotEmptyError.
        """
        if self._warehouse is None:
            raise InvalidInputError(
                f"The catalog {name!r} cannot be made: its tables would be below the warehouse, and none is set. Set "
                "warehouse in [server]."
            )
        root = locations.canonical(self._warehouse)
        managed, own_properties = _versioning(properties)

        def created(connection: Connection) -> CatalogRow:
            if replace:
                with suppress(NamespaceNotFoundError):
                    catalogs.drop(connection, self.metalake, name, by=by)
            return catalogs.create(
                connection,
                self.metalake,
                name,
                by=by,
                nested=nested,
                managed=managed,
                location=locations.under(root),
                comment=comment,
                properties=own_properties,
            )

        return self.store.transact(created)

    def alter(self, name: str, changes: Mapping[str, str | None], *, by: str) -> dict[str, str]:
        """Change properties of a catalog, None for one that is taken away; return all it has then."""
        return self._described(self.store.transact(catalogs.alter, self.metalake, name, by=by, properties=changes))

    def drop(self, name: str, *, by: str, cascade: bool) -> dict[str, str]:
        """Drop a catalog, and with `cascade` all that is inside; return the properties that it had.

        Raises NamespaceNotFoundError, NamespaceNotEmptyError.
        """
        if not cascade:
            return _properties(self.store.transact(catalogs.drop, self.metalake, name, by=by))
        catalog = self.opened(name)  # its storage options are needed afterwards
        catalog._removals.refuse_shared(ROOT)
        dropped, gone = self.store.transact(catalogs.drop_tree, self.metalake, name, by=by)
        for location in gone:
            catalog._removals.remove(location)
        return _properties(dropped)

    def close(self) -> None:
        self._opened.clear()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, {self.metalake!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": {}}


def _properties(row: CatalogRow) -> dict[str, str]:
    """Return a catalog's own properties, its type and its versioning."""
    off = {"lanceway.disabled": "true"} if row.disabled else {}
    return {**row.properties, TYPE: row.kind, VERSIONING: MANAGED if row.managed else STORAGE, **off}


def _versioning(properties: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether the tables of a new catalog are to be managed, and the catalog's own properties."""
    reserved = {key: value for key, value in properties.items() if key.startswith(_RESERVED)}
    for key, value in reserved.items():
        if key not in (VERSIONING, SEPARATOR) and (key, value) not in ((TYPE, catalogs.LAKE), (NESTED, "true")):
            raise InvalidInputError(
                f"A catalog cannot be made with the property {key} = {value!r}: names that begin with {_RESERVED!r} "
                f"are not free. Known are {VERSIONING}, and {TYPE} = {catalogs.LAKE!r}."
            )
    managed = mode(f"The property {VERSIONING}", reserved.get(VERSIONING), MANAGED, STORAGE) == MANAGED
    return managed, {key: value for key, value in properties.items() if key not in reserved}
