"""The folder of a directory catalog: the names in it, and which folder belongs to which.

pylance's markers say what a table folder is: `.lance-reserved` claims it for a table (and stays when the data comes),
`.lance-deregistered` hides it. pylance reads the content of neither; Lanceway writes into the first an id of the claim
and the properties of the table.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lanceway.catalogs.contract.names import DELIMITER, MANIFEST, SUFFIX
from lanceway.identifiers import Identifier
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import FolderStore, Store, local_path, open_store, translated
from lanceway.tables.versions import manifests

_OF_THE_MANIFEST = re.compile(r"[0-9a-f]{8}_")


def table_of(folder: str, *, manifest: bool) -> str | None:
    """Return the table whose folder this is, None for a folder that is no table's.

    Beside a manifest, folders that begin with eight hexadecimal digits and `_` are its own.
    """
    if folder.startswith(".") or folder == MANIFEST:
        return None
    if folder.endswith(SUFFIX):
        name = folder.removesuffix(SUFFIX)
        return None if name.endswith(SUFFIX) else name
    return None if manifest and _OF_THE_MANIFEST.match(folder) else folder


def folders_of(name: str, *, manifest: bool = False) -> tuple[str, ...]:
    """Return the folders in which a table of the root may be, the likelier one first."""
    both = (name + SUFFIX, name)
    return both if table_of(name, manifest=manifest) else both[:1]


def looks_like_manifest_folder(name: str) -> bool:
    return table_of(name, manifest=True) is None


def hidden_by_manifest(folder: str) -> bool:
    """Return whether this is the folder of a table now, and is taken for the manifest's own once there is one."""
    return table_of(folder, manifest=False) is not None and table_of(folder, manifest=True) is None


def manifest_folder(identifier: Identifier, digits: str) -> str:
    """Return a folder for a table that only the manifest knows: `1a2b3c4d_team$orders`, as pylance has it.

    The manifest holds the whole name; here what is unsafe in a path becomes `-`.
    """
    return f"{digits[:8]}_{re.sub(r'[^A-Za-z0-9_.$-]', '-', DELIMITER.join(identifier))[:200]}"


RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
VERSIONS = "_versions"
# Hidden folders: a claim in the making, and a dropped table until its last file is deleted.
_CLAIMED, _DROPPED = ".lanceway-claimed-", ".lanceway-dropped-"
# How often the folder of a dropped table is deleted again because a writer has added files.
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Look:
    """The markers of a table folder."""

    hidden: bool
    claim: str | None  # what the marker of its claim holds, None without a marker


def new_claim(properties: Mapping[str, str]) -> str:
    """Return the content of a claim's marker, which is unique."""
    return json.dumps({"claim": uuid.uuid4().hex, "properties": dict(properties)})


def claimed_properties(claim: str | None) -> dict[str, str] | None:
    """Return the properties in a claim. One that was made by pylance or another program has none."""
    try:
        properties = json.loads(claim or "{}").get("properties")
    except (ValueError, AttributeError):  # not JSON, or not an object
        return None
    return {str(key): str(value) for key, value in properties.items()} if isinstance(properties, dict) else None


def has_version(store: Store, folder: str) -> bool:
    return any(key.endswith(".manifest") for key in store.keys(f"{folder}/{VERSIONS}"))


class Folder(ABC):
    """What a directory catalog needs of storage. Table folders are paths relative to `root`."""

    root: str

    @abstractmethod
    def location(self, folder: str) -> str:
        """Return the location at which pylance opens a table folder."""

    @abstractmethod
    def relative(self, location: str) -> str | None:
        """Return the table folder at a location, None if it is not below the root."""

    @abstractmethod
    def leads_out(self, folder: str) -> bool:
        """Return whether a table folder is outside the root, because one of the folders above it is a link."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the folders directly below the root, in no order."""

    @abstractmethod
    def has(self, folder: str) -> bool:
        """Return whether there is such a folder."""

    @abstractmethod
    def look(self, folder: str) -> Look | None:
        """Return the markers of a table folder, None if it does not exist."""

    @abstractmethod
    def has_data(self, folder: str) -> bool:
        """Return whether a table folder has any version of a table."""

    @abstractmethod
    def unlisted_among(self, folders: Sequence[str]) -> set[str]:
        """Return those that are not to be listed: deregistered, or deleted."""

    @abstractmethod
    def declared_among(self, folders: Sequence[str]) -> set[str]:
        """Return those that are claimed and hold no data."""

    @abstractmethod
    def claim(self, folder: str, claim: str) -> bool:
        """Create a new table folder, marked with the claim; of several claimants one gets True."""

    @abstractmethod
    def withdraw(self, folder: str, claim: str) -> None:
        """Undo this claim, if it still stands, and remove the folder, if nothing else is in it."""

    @abstractmethod
    def tidy(self, folder: str) -> None:
        """Remove a table folder without a table: it holds at most pylance's hint to a deleted version."""

    @abstractmethod
    def mark(self, folder: str, claim: str) -> None:
        """Replace the claim of an existing table folder."""

    @abstractmethod
    def hide(self, folder: str) -> bool:
        """Mark a table folder as deregistered; False if it was."""

    @abstractmethod
    def show(self, folder: str) -> None:
        """Remove the marker of `hide`."""

    @abstractmethod
    def has_others(self, folder: str) -> bool:
        """Return whether a table folder holds files that are not a table's, and that `remove` would delete."""

    @abstractmethod
    def remove(self, folder: str) -> bool:
        """Delete a table folder with all that is in it; of several who remove it one gets True.

        It is hidden before anything in it is deleted.
        """


def open_folder(root: str, storage_options: Mapping[str, str] | None) -> Folder:
    """Return the folder at an absolute path or URI, which need not exist yet."""
    if local_path(root) is not None:
        return LocalFolder(root)

    return BucketFolder(root, storage_options)


class LocalFolder(Folder):
    """A folder of this machine, through the operating system's own calls."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files = FolderStore(Path(root))

    def location(self, folder: str) -> str:
        return f"{self.root}/{folder}"

    def relative(self, location: str) -> str | None:
        path, root = str(local_path(location) or ""), self.root.rstrip("/") + "/"
        return path.removeprefix(root) if path.startswith(root) else None

    def leads_out(self, folder: str) -> bool:
        root, parent = os.path.realpath(self.root), os.path.realpath(os.path.dirname(f"{self.root}/{folder}"))
        return parent != root and not parent.startswith(f"{root.rstrip('/')}/")

    def names(self) -> list[str]:
        return self._files.names()

    def has(self, folder: str) -> bool:
        return os.path.isdir(f"{self.root}/{folder}")

    def look(self, folder: str) -> Look | None:
        path = f"{self.root}/{folder}"
        if not os.path.isdir(path):
            return None
        marker = self._files.read(f"{folder}/{RESERVED}")
        return Look(
            os.path.exists(f"{path}/{DEREGISTERED}"),
            None if marker is None else marker.decode(errors="replace"),
        )

    def unlisted_among(self, folders: Sequence[str]) -> set[str]:
        return {folder for folder in folders if os.path.exists(f"{self.root}/{folder}/{DEREGISTERED}")}

    def declared_among(self, folders: Sequence[str]) -> set[str]:
        return {folder for folder in folders if self._is_declared(folder)}

    def _is_declared(self, folder: str) -> bool:
        return self._files.exists(f"{folder}/{RESERVED}") and not self.has_data(folder)

    def has_data(self, folder: str) -> bool:
        return has_version(self._files, folder)

    def claim(self, folder: str, claim: str) -> bool:
        path, staged = f"{self.root}/{folder}", f"{self.root}/{_CLAIMED}{uuid.uuid4().hex}"
        with translated("make", path):
            os.makedirs(staged)
            try:
                # With its marker inside, the folder appears at once, and no other such folder can take its place.
                Path(staged, RESERVED).write_text(claim)
                os.rename(staged, path)
            except OSError as error:
                shutil.rmtree(staged)
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    return False
                raise
        return True

    def withdraw(self, folder: str, claim: str) -> None:
        self._files.delete_if(f"{folder}/{RESERVED}", lambda marker: marker == claim.encode())
        self.tidy(folder)

    def tidy(self, folder: str) -> None:
        hint = f"{folder}/{manifests.HINT}"
        if all(key == hint for key in self._files.keys(folder)):
            self._files.delete(hint)
            self._files.remove_empty_folders(folder, unless=RESERVED)

    def mark(self, folder: str, claim: str) -> None:
        self._files.put(f"{folder}/{RESERVED}", claim.encode())

    def hide(self, folder: str) -> bool:
        marker = f"{self.root}/{folder}/{DEREGISTERED}"
        with translated("write", marker):
            try:
                open(marker, "xb").close()
            except (FileExistsError, FileNotFoundError):  # hidden before, or dropped
                return False
        return True

    def show(self, folder: str) -> None:
        self._files.delete(f"{folder}/{DEREGISTERED}")

    def has_others(self, folder: str) -> bool:
        path = Path(self.root, folder)
        return not path.is_symlink() and own_files.has_others(FolderStore(path))

    def remove(self, folder: str) -> bool:
        path, grave = f"{self.root}/{folder}", f"{self.root}/{_DROPPED}{uuid.uuid4().hex}"
        with translated("delete", path):
            try:
                os.rename(path, grave)
            except FileNotFoundError:
                return False
            if os.path.islink(grave):
                os.unlink(grave)  # what it points to is not in this folder, and stays
            else:
                _delete(grave)
        return True


def _delete(grave: str) -> None:
    """Delete a folder to which writers that still have it open may add files."""
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            shutil.rmtree(grave)
            return
        except OSError as error:
            # A file that came after the folder was listed, or went.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or not attempts_left:
                raise


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
        """Return the objects directly in a folder, None if there is no such folder.

        Some stores go on naming a prefix for a while after its last object is gone.
        """
        folders, objects = self._store.level(folder)
        return objects if objects or (folders and self.has(folder)) else None

    def unlisted_among(self, folders: Sequence[str]) -> set[str]:
        return _passing(folders, self._is_unlisted)

    def _is_unlisted(self, folder: str) -> bool:
        objects = self._objects(folder)
        return objects is None or DEREGISTERED in objects

    def declared_among(self, folders: Sequence[str]) -> set[str]:
        return _passing(folders, self._is_declared)

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
        look = self.look(folder)
        # The tombstone hides the table at once, and keeps the name taken until all else is gone.
        if look is None or (not self.hide(folder) and not look.hidden):
            return False
        store.delete(f"{folder}/{RESERVED}")
        # A writer that has not noticed yet may still add keys.
        while keys := [key for key in store.keys(folder) if key != tombstone]:
            store.delete(*keys)
        store.delete(tombstone)
        return True


def _passing(folders: Sequence[str], test: Callable[[str], bool]) -> set[str]:
    """Return the folders that pass a test, which costs a request each, several at a time."""
    if len(folders) < 2:
        return {folder for folder in folders if test(folder)}
    with ThreadPoolExecutor(min(_AT_ONCE, len(folders))) as pool:
        return {folder for folder, passed in zip(folders, pool.map(test, folders), strict=True) if passed}
