"""The tables in the folder of a directory catalog: found, listed, claimed, registered and dropped in every layout."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import NoReturn

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.names import MANIFEST, SUFFIX, check_known, check_new
from lanceway.catalogs.directory.folder import (
    claimed_properties,
    folders_of,
    hidden_by_manifest,
    looks_like_manifest_folder,
    manifest_folder,
    new_claim,
    open_folder,
    table_of,
)
from lanceway.catalogs.directory.manifest import Manifest, ManifestRow, RelayedManifest
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    namespace_not_found,
    table_not_found,
)
from lanceway.identifiers import ROOT, Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import fork

# A page looks for markers in at least so many folders at a time.
_CHUNK = 64


class DirectoryTables:
    """The tables in one folder. `layout` says how new ones are written; as found there if it is None."""

    def __init__(self, root: str, options: Mapping[str, str] | None, layout: str | None) -> None:
        self.folder = open_folder(root, options)
        self._options = options
        self._is_auto = layout == "auto"
        self._set_layout = None if self._is_auto else layout
        self._found_layout: str | None = None
        self._manifest_here = Manifest(self.folder, options)

    @property
    def manifest(self) -> Manifest:
        """Return the manifest of the folder, through a helper process where pylance cannot be used in this one."""
        return RelayedManifest(self.folder, self._options) if fork.is_needed() else self._manifest_here

    def close(self) -> None:
        self._manifest_here.close()

    def has_manifest(self) -> bool:
        """Return whether there is a manifest, or the first change that needs it creates one."""
        has = self._set_layout == "manifest" or self.manifest.exists()
        return has or (self._is_auto and self._layout() == "manifest")

    def _layout(self) -> str:
        """Return how a new table is written: as set, else as found.

        In a folder without tables it is plain, as the specification has it, or with a manifest for `auto`.
        """
        if self._set_layout:
            return self._set_layout
        if self.manifest.exists():
            return "manifest"
        if self._found_layout is None:
            folders = [folder for folder in self.folder.names() if table_of(folder, manifest=False)]
            if not folders:
                return "manifest" if self._is_auto else "plain"
            self._found_layout = "lance" if any(folder.endswith(SUFFIX) for folder in folders) else "plain"
        return self._found_layout

    # -- finding ---------------------------------------------------------------------------------

    def find(self, table: Identifier) -> TableEntry:
        """Return where a table is. Raises TableNotFoundError, NamespaceNotFoundError for its parent."""
        check_known(table)
        if table.depth == 1:
            for _, hidden, entry in self.folders(table.name):
                if not hidden:
                    return entry
        row = self._row(table)
        return self._entry(row.folder, row.properties)

    def folders(self, name: str) -> Iterator[tuple[str, bool, TableEntry]]:
        """Yield the folders for a table of the root: each with whether it is hidden, and its table."""
        of_manifest = looks_like_manifest_folder(name) and self.manifest.exists()
        for folder in folders_of(name, manifest=of_manifest):
            look = self.folder.look(folder)
            if look is not None:
                yield folder, look.hidden, self._entry(folder, claimed_properties(look.claim), look.claim)

    def require_manifest(self, namespace: Identifier) -> None:
        """Raise NamespaceNotFoundError where there are no namespaces below the root."""
        if not self.manifest.exists():
            check_known(namespace)
            if self.has_manifest():
                raise namespace_not_found(f"There is no namespace {namespace}. Create it first, or check the name.")
            raise namespace_not_found(
                f"There is no namespace {namespace}: {self.folder.root} is a plain folder, which has nothing but "
                'tables. Connect to a new folder with layout="manifest" to have namespaces, or use a lake.'
            )

    def _row(self, table: Identifier) -> ManifestRow:
        """Return what the manifest knows. Raises TableNotFoundError, or NamespaceNotFoundError for the parent."""
        if table.depth > 1:
            self.require_manifest(table.parent)
        elif not self.manifest.exists():
            raise table_not_found(f"There is no table {table} in {self.folder.root}.")
        return self.manifest.find(table)

    def _has_row(self, table: Identifier) -> bool:
        with suppress(TableNotFoundError):
            return bool(self._row(table))
        return False

    def _entry(self, folder: str, properties: Mapping[str, str] | None, claim: str | None = None) -> TableEntry:
        return TableEntry(self.folder.location(folder), self._options, properties or None, claim=claim)

    def _folder_of(self, entry: TableEntry) -> str:
        return self.folder.relative(entry.location) or ""

    def is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the name is claimed and no data has been written."""
        folder = self._folder_of(entry)
        if entry.claim is None and _is_named_for(table, folder):
            return False  # it was found without a marker: one that is there by now belongs to a later claim
        return bool(self.folder.declared_among([folder]))

    # -- listing ---------------------------------------------------------------------------------

    def names(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """Return the first `limit` tables after `after`, in code point order. Raises NamespaceNotFoundError."""
        if not namespace.is_root:
            self.require_manifest(namespace)
            return self.manifest.tables(namespace, after, limit, include_declared)
        names: Iterable[str] = self._listed_folders(after, limit, include_declared)
        if self.manifest.exists():
            rows = self.manifest.tables(ROOT, after, limit, include_declared)
            names = (name for name, _ in groupby(heapq.merge(names, rows)))
        return list(islice(names, limit))

    def _listed_folders(self, after: str | None, limit: int | None, include_declared: bool) -> Iterator[str]:
        """Yield the tables with a folder of their own, in order, looking into no more folders than needed."""
        folders = self._folders_by_table(after)
        names = iter(sorted(folders))
        while chunk := list(islice(names, max(limit or len(folders), _CHUNK))):
            candidates = [folder for name in chunk for folder in folders[name]]
            left_out = self.folder.unlisted_among(candidates)
            if not include_declared:
                left_out |= self.folder.declared_among([folder for folder in candidates if folder not in left_out])
            yield from (name for name in chunk if not left_out.issuperset(folders[name]))

    def _folders_by_table(self, after: str | None) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        manifest = self.manifest.exists()
        for folder in self.folder.names():
            name = table_of(folder, manifest=manifest)
            if name is not None and (after is None or name > after):
                folders.setdefault(name, []).append(folder)
        return folders

    # -- claiming --------------------------------------------------------------------------------

    def declare(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        """Claim a name and a folder for a table whose data is yet to be written; of several claimants one wins."""
        in_manifest = table.depth > 1 or self._layout() == "manifest"
        check_new(table, manifest=in_manifest)
        if table.depth > 1:
            self.require_manifest(table.parent)
        folder = self._new_folder(table, in_manifest)
        self._check_location(table, folder, location)
        entry = self._claim_folder(table, folder, properties)
        if in_manifest:
            self._add_claimed(table, entry, properties)
        return entry

    def _new_folder(self, table: Identifier, in_manifest: bool) -> str:
        """Return the folder for a new table. Raises TableAlreadyExistsError if its name is taken at the root."""
        if table.depth > 1:
            return manifest_folder(table, uuid.uuid4().hex)
        renamed_away = self._refuse_taken(table)
        if not in_manifest and self.manifest.exists() and self._is_in_manifest(table):
            raise _taken(table, "the manifest has a table or namespace of this name")
        if renamed_away:
            return manifest_folder(table, uuid.uuid4().hex)
        return table.name if self._layout() == "plain" and not self._is_hidden(table.name) else table.name + SUFFIX

    def _is_hidden(self, folder: str) -> bool:
        """Return whether a folder at the root would be taken for the manifest's own."""
        return hidden_by_manifest(folder) and self.manifest.exists()

    def _refuse_taken(self, table: Identifier) -> bool:
        """Raise TableAlreadyExistsError if a folder at the root has the name.

        True if one has it but belongs to a table that was given another name.
        """
        renamed_away = False
        for folder, hidden, entry in self.folders(table.name):
            if not hidden:
                raise _taken(table, f"it is at {entry.location}")
            if not self.manifest.owners(folder):
                raise _taken(
                    table,
                    f"it was deregistered, and its data is still at {entry.location}. Drop {table} to delete "
                    f"the data; to have it back delete the marker .lance-deregistered there",
                )
            renamed_away = True
        return renamed_away

    def _is_in_manifest(self, table: Identifier) -> bool:
        return self.manifest.has_namespace(table) or self._has_row(table)

    def _check_location(self, table: Identifier, folder: str, location: str | None) -> None:
        if location is not None and self.folder.relative(location) != folder:
            raise InvalidInputError(
                f"{table} cannot be declared at {location}: new tables are stored directly in {self.folder.root}, "
                "under a name of its choice. Leave the location out; data that is there already can be registered."
            )

    def _claim_folder(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> TableEntry:
        claim = new_claim(properties)
        entry = self._entry(folder, properties, claim)
        if not self.folder.claim(folder, claim):
            raise _taken(table, f"another process has just made {entry.location}")
        spellings = folders_of(table.name) if table.depth == 1 else ()
        if folder in spellings and any(self.folder.has(other) for other in spellings if other != folder):
            self.folder.withdraw(folder, claim)
            raise _taken(table, f"{' and '.join(spellings)} would be the same table")
        return entry

    def _add_claimed(self, table: Identifier, entry: TableEntry, properties: Mapping[str, str]) -> None:
        folder = self._folder_of(entry)
        try:
            self._add_row(table, folder, properties)
            if not self._has_claim(folder, entry.claim):
                raise ConcurrentModificationError(
                    f"{table} was dropped while it was being created; nothing of it is left. Create it again if need "
                    "be."
                )
        except LanceNamespaceError:
            self.withdraw(table, entry)
            raise

    def _add_row(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        try:
            self.manifest.add(table, folder, properties)
        except TableAlreadyExistsError:
            # The folder is ours alone, so a row that names it is what a dropped table left behind.
            if not self._is_at(table, folder):
                raise

    def _has_claim(self, folder: str, claim: str | None) -> bool:
        look = self.folder.look(folder)
        return look is not None and not look.hidden and look.claim == claim

    def holds(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the claim behind `entry` still stands."""
        folder = self._folder_of(entry)
        if entry.claim is None or table.depth > 1:
            return self._is_at(table, folder)
        return self._has_claim(folder, entry.claim)

    def _is_at(self, table: Identifier, folder: str) -> bool:
        """Return whether the manifest places a table in this folder."""
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            return self._row(table).folder == folder
        return False

    def withdraw(self, table: Identifier, entry: TableEntry) -> None:
        """Undo a claim whose first write failed."""
        self.folder.withdraw(self._folder_of(entry), entry.claim or "")
        self.clear_away(table, entry)

    def clear_away(self, table: Identifier, entry: TableEntry) -> None:
        """Remove what neither holds a table nor is claimed for one: an empty folder, and the row that names it.

        A writer brings the folder of a dropped table back with its files; when those are removed, it stays.
        """
        folder = self._folder_of(entry)
        self.folder.tidy(folder)
        look = self.folder.look(folder)
        unclaimed = look is None or (look.claim is None and not self.folder.has_data(folder))
        if unclaimed and self.manifest.exists():
            self._forget_row(table, folder)

    def _forget_row(self, table: Identifier, folder: str) -> bool:
        """Remove the row of a table in this folder, if there is one."""
        with suppress(TableNotFoundError):
            if self._is_at(table, folder):
                self.manifest.remove(table)
                return True
        return False

    # -- deregistering and dropping --------------------------------------------------------------

    def deregister(self, table: Identifier) -> TableEntry:
        """Remove a table from the catalog and keep its data. Raises TableNotFoundError."""
        entry = self.find(table)
        folder = self._folder_of(entry)
        if not _is_named_for(table, folder):
            self.manifest.remove(table)
            return entry
        if not self.folder.hide(folder):
            raise _gone(table, "deregistered or dropped")
        if self.manifest.exists():
            self._forget_row(table, folder)
        return entry

    def drop(self, table: Identifier) -> TableEntry:
        """Remove a table from the catalog and delete its data. Raises TableNotFoundError."""
        check_known(table)
        entry = self._droppable(table)
        folder = self._folder_of(entry)
        if self.folder.has_others(folder):
            raise InvalidInputError(
                f"The table {table} cannot be dropped: in its folder {entry.location} are also files that are not "
                "Lance's. Move them away first, or deregister the table, which keeps all that is there."
            )
        if not _is_named_for(table, folder):
            # The manifest decides between several who drop it; the winner alone deletes the folder.
            self.manifest.remove(table)
            self.folder.remove(folder)
            return entry
        had_row = self.manifest.exists() and self._forget_row(table, folder)
        if not self.folder.remove(folder) and not had_row:
            raise _gone(table, "dropped")
        if self.manifest.exists():
            # A process that was creating the table may have added its row again, and seen the folder still there.
            self.clear_away(table, entry)
        return entry

    def _droppable(self, table: Identifier) -> TableEntry:
        """Return the table to drop: as it is found, else one that was deregistered."""
        try:
            return self.find(table)
        except TableNotFoundError:
            hidden = self.folders(table.name) if table.depth == 1 else iter(())
            for folder, _, entry in hidden:
                if not self.manifest.owners(folder):
                    return entry
            raise

    # -- registering and renaming ----------------------------------------------------------------

    def register(self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool) -> TableEntry:
        """Give a name to the table at `location`; `replace` an existing registration."""
        check_new(table, manifest=True)
        folder = self._registrable(table, location)
        self.manifest.check_first_change(table)
        replaced = self._replaced(table, replace)
        try:
            self.manifest.add(table, folder, properties)
            self._settle(table, folder, properties)
        except LanceNamespaceError:
            if replaced is not None:
                self.manifest.add(table, replaced.folder, replaced.properties or {})
            raise
        return self._entry(folder, properties)

    def _registrable(self, table: Identifier, location: str) -> str:
        """Return the folder at a location. Raises InvalidInputError unless it holds a Lance table without a name."""
        folder = self.folder.relative(location) if _is_absolute(location) else location.strip("/")
        if not folder or any(part in ("", MANIFEST) or part.startswith(".") for part in folder.split("/")):
            _refuse(table, location, f"it must be a folder somewhere below {self.folder.root}, without '..'")
        if self.folder.leads_out(folder):
            _refuse(table, location, f"a link in it leads out of {self.folder.root}")
        entry = self._entry(folder, None)
        if not dataset.has_data(StoredTable(str(table), entry.location, entry.storage_options)):
            _refuse(table, location, "there is no Lance table")
        owners = [owner for owner in self.manifest.owners(folder) if owner != table]
        if owners:
            _refuse(table, location, f"it is the table {owners[0]}. Rename or deregister that one first")
        return folder

    def _replaced(self, table: Identifier, replace: bool) -> ManifestRow | None:
        """Make way for a registration. Return the row that the table had, None if it had none."""
        try:
            entry = self.find(table)
        except TableNotFoundError:
            return None
        if not replace:
            raise TableAlreadyExistsError(
                f"{table} cannot be registered: it is at {entry.location}. Use mode overwrite to replace that."
            )
        row = self._row(table) if self._has_row(table) else None
        self.deregister(table)
        return row

    def _settle(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        """Show a folder at the root that has its table's name; hide one whose table has another name."""
        if _is_named_for(table, folder):
            self.folder.mark(folder, new_claim(properties))
            self.folder.show(folder)
        elif "/" not in folder and table_of(folder, manifest=True):
            self.folder.hide(folder)

    def rename(self, table: Identifier, target: Identifier) -> None:
        """Rename a table. Raises TableNotFoundError, TableAlreadyExistsError, NamespaceNotFoundError."""
        check_new(target, manifest=True)
        entry = self.find(table)
        folder, properties = self._folder_of(entry), entry.properties or {}
        if target.depth == 1:
            self._refuse_taken(target)
        self.manifest.add(target, folder, properties)
        try:
            self._remove_name(table, folder)
        except LanceNamespaceError:
            self.manifest.remove(target)
            raise
        self._settle(target, folder, properties)

    def _remove_name(self, table: Identifier, folder: str) -> None:
        """Remove the old name. Raises TableNotFoundError if another process has removed it."""
        if not _is_named_for(table, folder):
            self.manifest.remove(table)
            return
        if not self.folder.hide(folder):
            raise _gone(table, "deregistered or dropped")
        try:
            self._forget_row(table, folder)
        except LanceNamespaceError:
            self.folder.show(folder)
            raise


def _is_named_for(table: Identifier, folder: str) -> bool:
    """Return whether a folder has the name of its table, so that the table is found without the manifest."""
    return table.depth == 1 and folder in folders_of(table.name)


def _is_absolute(location: str) -> bool:
    return "://" in location or location.startswith(("/", "file:"))


def _taken(table: Identifier, reason: str) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(f"{table} cannot be created: {reason}.")


def _gone(table: Identifier, change: str) -> TableNotFoundError:
    return table_not_found(f"There is no table {table}: another process has just {change} it.")


def _refuse(table: Identifier, location: str, reason: str) -> NoReturn:
    raise InvalidInputError(f"{table} cannot be registered at {location}: {reason}.")
