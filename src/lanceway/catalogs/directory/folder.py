"""The folder of a directory catalog as storage has it: table folders, their markers, claims and drops.

pylance's markers say what a table folder is: `.lance-reserved` claims it for a table (and stays when
the data comes), `.lance-deregistered` hides it. pylance looks at neither one's content; ours
holds in the first who claimed it, with the properties of the table.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import FolderStore, Store, local_path, translated
from lanceway.tables.versions import manifests

RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
VERSIONS = "_versions"
# Hidden folders: a claim in the making, and a dropped table until its last file is deleted.
_CLAIMED, _DROPPED = ".lanceway-claimed-", ".lanceway-dropped-"
# How often a dropped table's folder is deleted anew because something came into it meanwhile.
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a table folder tells."""

    hidden: bool
    claim: str | None  # what the marker of its claim holds, None without a marker


def new_claim(properties: Mapping[str, str]) -> str:
    """The content of a claim's marker, like no other."""
    return json.dumps({"claim": uuid.uuid4().hex, "properties": dict(properties)})


def claimed_properties(claim: str | None) -> dict[str, str] | None:
    """The properties in a claim. One that pylance made, or anybody else, has none."""
    try:
        properties = json.loads(claim or "{}").get("properties")
    except (ValueError, AttributeError):  # not JSON, or not an object
        return None
    return {str(key): str(value) for key, value in properties.items()} if isinstance(properties, dict) else None


def has_version(store: Store, folder: str) -> bool:
    return any(key.endswith(".manifest") for key in store.keys(f"{folder}/{VERSIONS}"))


class Folder(ABC):
    """All that a directory catalog asks of storage. Table folders are paths relative to `root`."""

    root: str

    @abstractmethod
    def location(self, folder: str) -> str:
        """Where pylance opens a table folder."""

    @abstractmethod
    def relative(self, location: str) -> str | None:
        """The table folder at a location, None if it is not below the root."""

    @abstractmethod
    def leads_out(self, folder: str) -> bool:
        """Whether a table folder lies elsewhere, because one of the folders above it is a link."""

    @abstractmethod
    def names(self) -> list[str]:
        """The folders directly below the root, in no order."""

    @abstractmethod
    def has(self, folder: str) -> bool:
        """Whether there is such a folder."""

    @abstractmethod
    def look(self, folder: str) -> Look | None:
        """What a table folder is, None if it is not there."""

    @abstractmethod
    def has_data(self, folder: str) -> bool:
        """Whether a table folder has any version of a table."""

    @abstractmethod
    def unlisted_among(self, folders: Sequence[str]) -> set[str]:
        """Those that are no table to be shown: deregistered, or gone."""

    @abstractmethod
    def declared_among(self, folders: Sequence[str]) -> set[str]:
        """Those that are claimed and hold no data."""

    @abstractmethod
    def claim(self, folder: str, claim: str) -> bool:
        """Make a table folder that was not there, marked with the claim; of several claimants one gets True."""

    @abstractmethod
    def withdraw(self, folder: str, claim: str) -> None:
        """Take back this claim, if it still stands, and the folder, if nothing else is in it."""

    @abstractmethod
    def tidy(self, folder: str) -> None:
        """Remove a table folder in which nobody has anything: at most pylance's hint to a version that is gone."""

    @abstractmethod
    def mark(self, folder: str, claim: str) -> None:
        """Replace the claim of a table folder that is there."""

    @abstractmethod
    def hide(self, folder: str) -> bool:
        """Mark a table folder as deregistered; False if it was."""

    @abstractmethod
    def show(self, folder: str) -> None:
        """Take the mark of `hide` away."""

    @abstractmethod
    def has_others(self, folder: str) -> bool:
        """Whether anything lies in a table folder that is not a table's own, and that `remove` would delete."""

    @abstractmethod
    def remove(self, folder: str) -> bool:
        """Delete a table folder with all that is in it; of several who remove it one gets True.

        It is out of sight before anything in it is deleted.
        """


def open_folder(root: str, storage_options: Mapping[str, str] | None) -> Folder:
    """The folder at an absolute path or URI, which need not exist yet."""
    if local_path(root) is not None:
        return LocalFolder(root)
    from lanceway.catalogs.directory.bucket import BucketFolder

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
            except (FileExistsError, FileNotFoundError):  # hidden before, or dropped meanwhile
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
    """Delete a folder into which those may still put something who had found it under its name."""
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            shutil.rmtree(grave)
            return
        except OSError as error:
            # A file that came after the folder was listed, or went.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or not attempts_left:
                raise
