"""The tables of a directory catalog: claiming, forgetting and dropping them in every layout."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.directory.folder import new_claim
from lanceway.catalogs.directory.lookup import DirectoryLookup
from lanceway.catalogs.directory.names import SUFFIX, check_known, check_new, folders_of, manifest_folder
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier


class DirectoryTables(DirectoryLookup):
    """What a directory catalog does with tables, whatever the layout."""

    # -- claiming --------------------------------------------------------------------------------

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        in_manifest = table.depth > 1 or self._layout() == "manifest"
        check_new(table, manifest=in_manifest)
        if table.depth > 1:
            self._require_manifest(table.parent)
        folder = self._new_folder(table, in_manifest)
        self._check_location(table, folder, location)
        entry = self._claim_folder(table, folder, properties)
        if in_manifest:
            self._add_claimed(table, entry, properties)
        return entry

    def _new_folder(self, table: Identifier, in_manifest: bool) -> str:
        """Where a new table goes. Raises TableAlreadyExistsError if its name is taken at the root."""
        if table.depth > 1:
            return manifest_folder(table, uuid.uuid4().hex)
        renamed_away = self._refuse_taken(table)
        if not in_manifest and self._manifest.exists() and self._is_in_manifest(table):
            raise _taken(table, "the manifest has a table or namespace of this name")
        if renamed_away:
            return manifest_folder(table, uuid.uuid4().hex)
        return table.name if self._layout() == "plain" else table.name + SUFFIX

    def _refuse_taken(self, table: Identifier) -> bool:
        """Raises TableAlreadyExistsError if a folder at the root has the name.

        True if one has it but belongs to a table that was given another name.
        """
        renamed_away = False
        for folder, hidden, entry in self._own_folders(table.name):
            if not hidden:
                raise _taken(table, f"it lies at {entry.location}")
            if not self._manifest.owners(folder):
                raise _taken(
                    table,
                    f"it was deregistered, and its data is still at {entry.location}. Drop {table} to delete "
                    f"the data; to have it back delete the marker .lance-deregistered there",
                )
            renamed_away = True
        return renamed_away

    def _is_in_manifest(self, table: Identifier) -> bool:
        return self._manifest.has_namespace(table) or self._has_row(table)

    def _check_location(self, table: Identifier, folder: str, location: str | None) -> None:
        if location is not None and self._folder.relative(location) != folder:
            raise InvalidInputError(
                f"{table} cannot be declared at {location}: new tables lie directly in {self._folder.root}, under a "
                "name of its choice. Leave the location out; data that is there already can be registered."
            )

    def _claim_folder(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> TableEntry:
        claim = new_claim(properties)
        entry = self._entry(folder, properties, claim)
        if not self._folder.claim(folder, claim):
            raise _taken(table, f"somebody else has just made {entry.location}")
        spellings = folders_of(table.name) if table.depth == 1 else ()
        if folder in spellings and any(self._folder.has(other) for other in spellings if other != folder):
            self._folder.withdraw(folder, claim)
            raise _taken(table, f"{' and '.join(spellings)} would be the same table")
        return entry

    def _add_claimed(self, table: Identifier, entry: TableEntry, properties: Mapping[str, str]) -> None:
        folder = self._folder_of(entry)
        try:
            self._add_row(table, folder, properties)
            if not self._has_claim(folder, entry.claim):
                raise _dropped(table)
        except LanceNamespaceError:
            self._withdraw(table, entry)
            raise

    def _add_row(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        try:
            self._manifest.add(table, folder, properties)
        except TableAlreadyExistsError:
            # The folder is ours alone, so a row that names it is what a dropped table left behind.
            if not self._lies_at(table, folder):
                raise

    def _has_claim(self, folder: str, claim: str | None) -> bool:
        look = self._folder.look(folder)
        return look is not None and not look.hidden and look.claim == claim

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        folder = self._folder_of(entry)
        if entry.claim is None or table.depth > 1:
            return self._lies_at(table, folder)
        return self._has_claim(folder, entry.claim)

    def _lies_at(self, table: Identifier, folder: str) -> bool:
        """Whether the manifest places a table in this folder."""
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            return self._row(table).folder == folder
        return False

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        # Dropped under the writer's hands, the folder came back with its files; they are gone again, it is not.
        self._sweep(table, self._folder_of(entry))

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        folder = self._folder_of(entry)
        self._folder.withdraw(folder, entry.claim or "")
        self._sweep(table, folder)

    def _sweep(self, table: Identifier, folder: str) -> None:
        """Remove what neither holds a table nor is claimed for one: an empty folder, and the row that names it."""
        self._folder.tidy(folder)
        look = self._folder.look(folder)
        unclaimed = look is None or (look.claim is None and not self._folder.has_data(folder))
        if unclaimed and self._manifest.exists():
            self._forget_row(table, folder)

    def _forget_row(self, table: Identifier, folder: str) -> bool:
        """Remove the row of a table that lies in this folder, if there is one."""
        with suppress(TableNotFoundError):
            if self._lies_at(table, folder):
                self._manifest.remove(table)
                return True
        return False

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> TableEntry:
        entry = self._find_table(table)
        folder = self._folder_of(entry)
        if table.depth > 1 or folder not in folders_of(table.name):
            self._manifest.remove(table)
            return entry
        if not self._folder.hide(folder):
            raise TableNotFoundError(f"There is no table {table}: somebody else has just deregistered or dropped it.")
        if self._manifest.exists():
            self._forget_row(table, folder)
        return entry

    def _drop_table(self, table: Identifier) -> TableEntry:
        check_known(table)
        entry = self._droppable(table)
        folder = self._folder_of(entry)
        if self._folder.has_others(folder):
            raise InvalidInputError(
                f"The table {table} cannot be dropped: in its folder {entry.location} are also files that are not "
                "Lance's. Move them away first, or deregister the table, which keeps all that is there."
            )
        if table.depth > 1 or folder not in folders_of(table.name):
            # The manifest decides between several who drop it; the folder is nobody else's then.
            self._manifest.remove(table)
            self._folder.remove(folder)
            return entry
        had_row = self._manifest.exists() and self._forget_row(table, folder)
        if not self._folder.remove(folder) and not had_row:
            raise TableNotFoundError(f"There is no table {table}: somebody else has just dropped it.")
        if self._manifest.exists():
            # Somebody who was creating the table may have added its row again, and seen the folder still there.
            self._sweep(table, folder)
        return entry

    def _droppable(self, table: Identifier) -> TableEntry:
        """The table to drop: as it is found, else one that was deregistered."""
        try:
            return self._find_table(table)
        except TableNotFoundError:
            hidden = self._own_folders(table.name) if table.depth == 1 else iter(())
            for folder, _, entry in hidden:
                if not self._manifest.owners(folder):
                    return entry
            raise


def _taken(table: Identifier, reason: str) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(f"{table} cannot be created: {reason}.")


def _dropped(table: Identifier) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"{table} was dropped while it was being created; nothing of it is left. Create it again if need be."
    )
