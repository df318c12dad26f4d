"""Tables in a folder, on this machine or in a bucket: the directory namespace of the specification.

A table of the root is a folder `name/` or `name.lance/`. Where pylance's `__manifest` lies beside
them there are namespaces below the root too, and tables whose folder has another name. All of
these are read; a new table is written as the folder has it, or as the setting `layout` says.

Namespaces, registered and renamed tables need the manifest. Stock pylance sees them as its modes
allow: below the root always; at the root a table is shown by its default mode only if the folder
is named after it, and by its manifest-only mode (`dir_listing_enabled=false`) in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NoReturn

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.directory.folder import new_claim
from lanceway.catalogs.directory.manifest import ManifestRow
from lanceway.catalogs.directory.names import MANIFEST, check_known, check_new, folders_of, table_of
from lanceway.catalogs.directory.tables import DirectoryTables
from lanceway.config import Setting
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table

_NEED_MANIFEST = frozenset({"create_namespace", "drop_namespace", "register_table", "rename_table"})
# How often a cascade begins anew because others put something into the namespace meanwhile.
_CASCADES = 10


class DirectoryCatalog(DirectoryTables):
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
            "How new tables are written: plain (name/), lance (name.lance/), manifest (with namespaces). "
            "As found there if it is not set.",
            choices=("plain", "lance", "manifest"),
        ),
        Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
    )

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        everything = super().support()[cls.TYPE]
        return MappingProxyType({cls.TYPE: everything - _NEED_MANIFEST, f"{cls.TYPE} (manifest)": everything})

    def _missing(self, operation: str) -> str:
        return f'{self._folder.root} has no manifest. Connect with layout="manifest" to have {operation} there.'

    def _need_manifest(self, operation: str) -> None:
        if self._settings["layout"] != "manifest" and not self._manifest.exists():
            self._unsupported(operation)

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the folder it meant here, wherever the other process runs.
        rebuild, (cls, given) = super().__reduce__()
        kept = {key: value for key, value in given.items() if key not in ("path", "root")}
        return rebuild, (cls, {**kept, "path": self._settings["path"]})

    # -- namespaces ------------------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        check_known(namespace)
        if not self._manifest.exists():
            raise NamespaceNotFoundError(
                f"There is no namespace {namespace}: {self._folder.root} holds tables alone, as it has no {MANIFEST}."
            )
        return self._manifest.namespace_properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        if not self._manifest.exists():
            return super()._child_namespaces(namespace, after, limit)
        return self._manifest.namespaces(namespace, after, limit)

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        self._need_manifest("create_namespace")
        check_new(namespace, manifest=True)
        self._refuse_folder(namespace)
        self._manifest.create_namespace(namespace, properties)
        return dict(properties)

    def _refuse_folder(self, namespace: Identifier) -> None:
        if namespace.depth == 1 and any(not hidden for _, hidden, _ in self._own_folders(namespace.name)):
            raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a table has this name already.")

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

    # -- names for what is there -----------------------------------------------------------------

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        self._need_manifest("register_table")
        check_new(table, manifest=True)
        folder = self._registrable(table, location)
        replaced = self._replaced(table, replace)
        try:
            self._manifest.add(table, folder, properties)
            self._settle(table, folder, properties)
        except LanceNamespaceError:
            if replaced is not None:
                self._manifest.add(table, replaced.folder, replaced.properties or {})
            raise
        return self._entry(folder, properties)

    def _registrable(self, table: Identifier, location: str) -> str:
        """The folder at a location. Raises InvalidInputError unless a Lance table of nobody else lies there."""
        folder = self._folder.relative(location) if _is_absolute(location) else location.strip("/")
        if not folder or any(part in ("", MANIFEST) or part.startswith(".") for part in folder.split("/")):
            _refuse(table, location, f"it must be a folder somewhere below {self._folder.root}, without '..'")
        if self._folder.leads_out(folder):
            _refuse(table, location, f"a link in it leads out of {self._folder.root}")
        entry = self._entry(folder, None)
        if not dataset.has_data(Table(str(table), entry.location, entry.storage_options)):
            _refuse(table, location, "there is no Lance table")
        owners = [owner for owner in self._manifest.owners(folder) if owner != table]
        if owners:
            _refuse(table, location, f"it is the table {owners[0]}. Rename or deregister that one first")
        return folder

    def _replaced(self, table: Identifier, replace: bool) -> ManifestRow | None:
        """Make way for a registration. The row that the table had, None if it had none."""
        try:
            found = self._find_table(table)
        except TableNotFoundError:
            return None
        if not replace:
            raise TableAlreadyExistsError(
                f"{table} cannot be registered: it lies at {found.location}. Use mode overwrite to replace that."
            )
        row = self._row(table) if self._has_row(table) else None
        self._deregister_table(table)
        return row

    def _settle(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        """A folder at the root is a table by its own name, unless the manifest has it under another."""
        if table.depth == 1 and folder in folders_of(table.name):
            self._folder.mark(folder, new_claim(properties))
            self._folder.show(folder)
        elif "/" not in folder and table_of(folder, manifest=True):
            self._folder.hide(folder)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._need_manifest("rename_table")
        check_new(target, manifest=True)
        entry = self._find_table(table)
        folder, properties = self._folder_of(entry), entry.properties or {}
        if target.depth == 1:
            self._refuse_taken(target)
        self._manifest.add(target, folder, properties)
        try:
            self._let_go(table, folder)
        except LanceNamespaceError:
            self._manifest.remove(target)
            raise
        self._settle(target, folder, properties)

    def _let_go(self, table: Identifier, folder: str) -> None:
        """Take the old name away. Raises TableNotFoundError if somebody else was faster."""
        if table.depth > 1 or folder not in folders_of(table.name):
            self._manifest.remove(table)
            return
        if not self._folder.hide(folder):
            raise TableNotFoundError(f"There is no table {table}: somebody else has just deregistered or dropped it.")
        try:
            self._forget_row(table, folder)
        except LanceNamespaceError:
            self._folder.show(folder)
            raise


def _is_absolute(location: str) -> bool:
    return "://" in location or location.startswith(("/", "file:"))


def _refuse(table: Identifier, location: str, reason: str) -> NoReturn:
    raise InvalidInputError(f"{table} cannot be registered at {location}: {reason}.")
