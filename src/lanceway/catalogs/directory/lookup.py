"""Looking into the folder of a directory catalog: which tables are there, in every layout, and where each lies."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path
from types import MappingProxyType

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.directory.folder import Folder, claimed_properties, open_folder
from lanceway.catalogs.directory.manifest import Manifest, ManifestRow, RelayedManifest
from lanceway.catalogs.directory.names import SUFFIX, check_known, folders_of, looks_like_manifest_folder, table_of
from lanceway.errors import InvalidInputError, TableNotFoundError
from lanceway.identifiers import ROOT, Identifier
from lanceway.tables.storage import fork
from lanceway.tables.storage.store import local_path

# A page looks for markers in at least so many folders at a time.
_CHUNK = 64


class DirectoryLookup(Catalog):
    """What a directory catalog answers without changing anything."""

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        root = _absolute(self._settings["path"])
        self._settings = MappingProxyType({**self._settings, "path": root})
        self._options: Mapping[str, str] | None = self._settings["storage"] or None
        self._folder: Folder = open_folder(root, self._options)
        self._own_manifest = Manifest(self._folder, self._options)
        self._found_layout: str | None = None

    @property
    def _manifest(self) -> Manifest:
        return RelayedManifest(self._folder, self._options) if fork.is_needed() else self._own_manifest

    def close(self) -> None:
        super().close()
        self._own_manifest.close()

    def _layout(self) -> str:
        """How a new table is written: as set, else as found, else plain as the specification has it."""
        if self._settings["layout"]:
            return str(self._settings["layout"])
        if self._manifest.exists():
            return "manifest"
        if self._found_layout is None:
            folders = [folder for folder in self._folder.names() if table_of(folder, manifest=False)]
            if not folders:
                return "plain"
            self._found_layout = "lance" if any(folder.endswith(SUFFIX) for folder in folders) else "plain"
        return self._found_layout

    # -- finding ---------------------------------------------------------------------------------

    def _find_table(self, table: Identifier) -> TableEntry:
        check_known(table)
        if table.depth == 1:
            for _, hidden, entry in self._own_folders(table.name):
                if not hidden:
                    return entry
        row = self._row(table)
        return self._entry(row.folder, row.properties)

    def _own_folders(self, name: str) -> Iterator[tuple[str, bool, TableEntry]]:
        """The folders of that name at the root: whether each is hidden, and what it tells of the table."""
        of_manifest = looks_like_manifest_folder(name) and self._manifest.exists()
        for folder in folders_of(name, manifest=of_manifest):
            look = self._folder.look(folder)
            if look is not None:
                yield folder, look.hidden, self._entry(folder, claimed_properties(look.claim), look.claim)

    def _row(self, table: Identifier) -> ManifestRow:
        """What the manifest knows. Raises TableNotFoundError, or NamespaceNotFoundError for the parent."""
        if self._manifest.exists():
            return self._manifest.find(table)
        if table.depth > 1:
            self._namespace_properties(table.parent)
        raise TableNotFoundError(f"There is no table {table} in {self._folder.root}.")

    def _has_row(self, table: Identifier) -> bool:
        with suppress(TableNotFoundError):
            return bool(self._row(table))
        return False

    def _entry(self, folder: str, properties: Mapping[str, str] | None, claim: str | None = None) -> TableEntry:
        return TableEntry(self._folder.location(folder), self._options, properties or None, claim=claim)

    def _folder_of(self, entry: TableEntry) -> str:
        return self._folder.relative(entry.location) or ""

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        folder = self._folder_of(entry)
        if entry.claim is None and table.depth == 1 and folder in folders_of(table.name):
            return False  # it was found without a marker: one that is there by now is of somebody who came later
        return bool(self._folder.declared_among([folder]))

    # -- listing ---------------------------------------------------------------------------------

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if not namespace.is_root:
            self._require_manifest(namespace)
            return self._manifest.tables(namespace, after, limit, include_declared)
        names: Iterable[str] = self._listed_folders(after, limit, include_declared)
        if self._manifest.exists():
            rows = self._manifest.tables(ROOT, after, limit, include_declared)
            names = (name for name, _ in groupby(heapq.merge(names, rows)))
        return list(islice(names, limit))

    def _require_manifest(self, namespace: Identifier) -> None:
        """Raises NamespaceNotFoundError where no namespace can be; the manifest knows better where one is."""
        if not self._manifest.exists():
            self._namespace_properties(namespace)

    def _listed_folders(self, after: str | None, limit: int | None, include_declared: bool) -> Iterator[str]:
        """The tables with a folder of their own, in order. No more folders are looked into than are needed."""
        folders = self._folders_by_table(after)
        names = iter(sorted(folders))
        while chunk := list(islice(names, max(limit or len(folders), _CHUNK))):
            candidates = [folder for name in chunk for folder in folders[name]]
            left_out = self._folder.unlisted_among(candidates)
            if not include_declared:
                left_out |= self._folder.declared_among([folder for folder in candidates if folder not in left_out])
            yield from (name for name in chunk if not left_out.issuperset(folders[name]))

    def _folders_by_table(self, after: str | None) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        manifest = self._manifest.exists()
        for folder in self._folder.names():
            name = table_of(folder, manifest=manifest)
            if name is not None and (after is None or name > after):
                folders.setdefault(name, []).append(folder)
        return folders


def _absolute(path: str) -> str:
    """Where the folder lies, whatever becomes of the process's current folder."""
    local = local_path(path)
    if local is None:
        return path.rstrip("/")
    if local.exists() and not local.is_dir():
        raise InvalidInputError(f"The path {path!r} is a file, but a directory catalog needs a folder.")
    return str(Path(local))
