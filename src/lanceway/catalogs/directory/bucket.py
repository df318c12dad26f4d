"""The folder of a directory catalog in a bucket, where a folder is a prefix that some keys have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from lanceway.catalogs.directory.folder import DEREGISTERED, RESERVED, Folder, Look, has_version
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import Store, open_store
from lanceway.tables.versions import manifests

_AT_ONCE = 16
# pylance reads a URI: these must not be taken for an escape, a fragment or a query.
_ESCAPED = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})


class BucketFolder(Folder):
    """A prefix of a bucket. What local folders do by renaming is done here in an order that is safe to watch."""

    def __init__(self, root: str, storage_options: Mapping[str, str] | None) -> None:
        self.root = root
        self._options = storage_options

    @property
    def _store(self) -> Store:
        # Opened for each question: clients are shared underneath, and none outlives a fork.
        return open_store(self.root, self._options)

    def location(self, folder: str) -> str:
        return f"{self.root}/{folder.translate(_ESCAPED)}"

    def relative(self, location: str) -> str | None:
        root = f"{self.root}/"
        return unquote(location.removeprefix(root)).rstrip("/") if location.startswith(root) else None

    def leads_out(self, folder: str) -> bool:
        return False

    def names(self) -> list[str]:
        return self._store.names()

    def has(self, folder: str) -> bool:
        return self._store.has_any(folder)

    def look(self, folder: str) -> Look | None:
        objects = self._objects(folder)
        if objects is None:
            return None
        marker = self._store.read(f"{folder}/{RESERVED}") if RESERVED in objects else None
        return Look(DEREGISTERED in objects, None if marker is None else marker.decode(errors="replace"))

    def _objects(self, folder: str) -> list[str] | None:
        """The objects directly in a folder, None if there is no such folder.

        Some stores go on naming a prefix for a while after its last object is gone.
        """
        folders, objects = self._store.level(folder)
        return objects if objects or (folders and self.has(folder)) else None

    def unlisted_among(self, folders: Sequence[str]) -> set[str]:
        return _those(folders, self._is_unlisted)

    def _is_unlisted(self, folder: str) -> bool:
        objects = self._objects(folder)
        return objects is None or DEREGISTERED in objects

    def declared_among(self, folders: Sequence[str]) -> set[str]:
        return _those(folders, self._is_declared)

    def _is_declared(self, folder: str) -> bool:
        return self._store.exists(f"{folder}/{RESERVED}") and not self.has_data(folder)

    def has_data(self, folder: str) -> bool:
        return has_version(self._store, folder)

    def claim(self, folder: str, claim: str) -> bool:
        store, marker = self._store, f"{folder}/{RESERVED}"
        if not store.put_if_absent(marker, claim.encode()):
            return False
        # A prefix cannot be made exclusively as a folder can: whatever else has it was there before.
        if list(store.keys(folder)) == [marker]:
            return True
        self.withdraw(folder, claim)
        return False

    def withdraw(self, folder: str, claim: str) -> None:
        self._store.delete_if(f"{folder}/{RESERVED}", lambda marker: marker == claim.encode())

    def tidy(self, folder: str) -> None:
        store, hint = self._store, f"{folder}/{manifests.HINT}"
        if all(key == hint for key in store.keys(folder)):
            store.delete(hint)

    def mark(self, folder: str, claim: str) -> None:
        self._store.put(f"{folder}/{RESERVED}", claim.encode())

    def hide(self, folder: str) -> bool:
        return self._store.put_if_absent(f"{folder}/{DEREGISTERED}", b"")

    def show(self, folder: str) -> None:
        self._store.delete(f"{folder}/{DEREGISTERED}")

    def has_others(self, folder: str) -> bool:
        return own_files.has_others(open_store(self.location(folder), self._options))

    def remove(self, folder: str) -> bool:
        store, tombstone = self._store, f"{folder}/{DEREGISTERED}"
        found = self.look(folder)
        # The tombstone hides the table at once, and keeps the name taken until all else is gone.
        if found is None or (not self.hide(folder) and not found.hidden):
            return False
        store.delete(f"{folder}/{RESERVED}")
        # A writer who has not noticed yet may add keys meanwhile.
        while keys := [key for key in store.keys(folder) if key != tombstone]:
            store.delete(*keys)
        store.delete(tombstone)
        return True


def _those(folders: Sequence[str], test: Callable[[str], bool]) -> set[str]:
    """The folders that pass a test which costs a request, several at a time."""
    if len(folders) < 2:
        return {folder for folder in folders if test(folder)}
    with ThreadPoolExecutor(min(_AT_ONCE, len(folders))) as pool:
        return {folder for folder, passed in zip(folders, pool.map(test, folders), strict=True) if passed}
