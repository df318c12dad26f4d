"""Tables in a folder, on this machine or in a bucket: the directory namespace of the specification.

A table of the root is a folder `name/` or `name.lance/`. Where the folder has pylance's `__manifest` there are
namespaces below the root too, and tables whose folder has another name. All of these are read; a new table is written
as the folder has it, or as the setting `layout` says.

Namespaces, registered and renamed tables need the manifest. Stock pylance sees them as its modes
allow: below the root always; at the root a table is shown by its default mode only if the folder
is named after it, and by its manifest-only mode (`dir_listing_enabled=false`) in any case.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.names import check_known, check_new
from lanceway.catalogs.directory.manifest import Manifest
from lanceway.catalogs.directory.tables import DirectoryTables
from lanceway.config import Setting
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables.storage.store import local_path

_NEED_MANIFEST = frozenset({"create_namespace", "drop_namespace", "register_table", "rename_table"})
# How often a cascade is tried again because other processes put something into the namespace.
_CASCADES = 10


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """The settings of one folder of tables, as `DirectoryCatalog.SETTINGS` describes them."""

    path: str  # absolute, or a URI
    layout: str | None
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Self:
        return cls(_absolute(settings["path"]), settings["layout"], settings["storage"])


class DirectoryCatalog(Catalog):
    """A folder of Lance tables; with the layout `manifest`, a tree of them."""

    TYPE = "dir"
    SETTINGS = (
        Setting(
            "path",
            "The folder: a URI, an absolute path, or one relative to the running process.",
            required=True,
            aliases=("root",),
        ),
        Setting(
            "layout",
            "How new tables are written: plain (name/), lance (name.lance/), manifest (with namespaces), auto (as "
            "found there, manifest in a folder without tables). As found if it is not set, plain in a folder without "
            "tables.",
            choices=("plain", "lance", "manifest", "auto"),
        ),
        Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
    )

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = DirectorySettings.read(self._settings)
        self._complete(path=settings.path)
        self._path = settings.path
        self._tables = DirectoryTables(settings.path, settings.storage or None, settings.layout)
        self._folder = self._tables.folder

    @property
    def _manifest(self) -> Manifest:
        return self._tables.manifest

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        everything = super().support()[cls.TYPE]
        return MappingProxyType({cls.TYPE: everything - _NEED_MANIFEST, f"{cls.TYPE} (manifest)": everything})

    def _missing(self, operation: str) -> str:
        return f'{self._folder.root} has no manifest. Connect with layout="manifest" to have {operation} there.'

    def _need_manifest(self, operation: str) -> None:
        if not self._tables.has_manifest():
            self._unsupported(operation)

    def portable_settings(self) -> dict[str, object]:
        settings = {key: value for key, value in self._given.items() if key not in ("path", "root")}
        return {**settings, "path": self._path}

    def close(self) -> None:
        super().close()
        self._tables.close()

    # -- limits ----------------------------------------------------------------------------------

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(1, None if self._tables.has_manifest() else 1)

    def check_new_table(self, table: Identifier) -> None:
        for depth in range(1, table.depth + 1):
            check_new(Identifier(table[:depth]), manifest=True)

    def check_location(self, table: Identifier, location: str) -> None:
        if not self._folder.relative(location):
            raise InvalidInputError(
                f"{table} cannot be registered at {location}: a directory catalog holds what is below its own "
                "folder. Copy the data (migrate --data copy), or use a target of another type."
            )

    def check_register(self) -> None:
        self._need_manifest("register_table")
        path = local_path(self._path)
        if path is None:  # of a bucket only a write can tell
            return
        existing = next(place for place in (path, *path.parents) if place.exists())
        effective = os.access in os.supports_effective_ids
        if not os.access(existing, os.W_OK | os.X_OK, effective_ids=effective):
            raise PermissionDeniedError(f"No table can be registered in {path}: this user cannot write to {existing}.")

    def single_writer(self) -> bool:
        return True  # the manifest is one table, where each change is a commit

    # -- namespaces ------------------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        check_known(namespace)
        self._tables.require_manifest(namespace)
        return self._manifest.namespace_properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        if not self._manifest.exists():
            return super()._child_namespaces(namespace, after, limit)
        return self._manifest.namespaces(namespace, after, limit)

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        self._need_manifest("create_namespace")
        check_new(namespace, manifest=True)
        if namespace.depth == 1 and any(not hidden for _, hidden, _ in self._tables.folders(namespace.name)):
            raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a table has this name already.")
        self._manifest.create_namespace(namespace, properties)
        return dict(properties)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        self._need_manifest("drop_namespace")
        properties = self._namespace_properties(namespace)
        for _ in range(_CASCADES if cascade else 0):
            self._empty(namespace)
            try:
                self._manifest.drop_namespace(namespace)
            except NamespaceNotEmptyError:
                continue
            return properties
        self._manifest.drop_namespace(namespace)
        return properties

    def _empty(self, namespace: Identifier) -> None:
        for name in self._manifest.tables(namespace, None, None, True):
            with suppress(TableNotFoundError):  # gone already
                self._drop_table(namespace.child(name))
        for name in self._manifest.namespaces(namespace, None, None):
            with suppress(NamespaceNotFoundError):
                self._drop_namespace(namespace.child(name), cascade=True)

    # -- tables ----------------------------------------------------------------------------------

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        return self._tables.names(namespace, after, limit, include_declared)

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._tables.find(table)

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        return self._tables.is_declared_only(table, entry)

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._tables.declare(table, location, properties)

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        return self._tables.holds(table, entry)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        self._tables.withdraw(table, entry)

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        self._tables.clear_away(table, entry)

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._tables.deregister(table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._tables.drop(table)

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        self._need_manifest("register_table")
        return self._tables.register(table, location, properties, replace)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._need_manifest("rename_table")
        self._tables.rename(table, target)


def _absolute(path: str) -> str:
    """Return the folder as an absolute path, which stays valid when the process changes its working folder."""
    local = local_path(path)
    if local is None:
        return path.rstrip("/")
    if local.exists() and not local.is_dir():
        raise InvalidInputError(f"The path {path!r} is a file, but a directory catalog needs a folder.")
    return str(Path(local))
