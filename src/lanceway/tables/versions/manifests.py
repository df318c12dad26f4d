"""The files that are a table's versions, by their names alone."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lanceway.errors import InvalidInputError
from lanceway.tables.dataset import is_main
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from lanceway.tables.dataset import StoredTable
    from lanceway.tables.storage.store import Object, Store

FOLDER = "_versions"
HINT = f"{FOLDER}/latest_version_hint.json"
_SUFFIX = ".manifest"
# In the newer naming scheme the newest version sorts first: 20 digits that count down from here.
_TOP = 2**64 - 1
_DIGITS = 20
_SCHEMES = ("V2", "V1")


def folder(branch: str | None) -> str:
    """Return the folder of a branch's versions, below the table's location.

    Raises InvalidInputError for what can be no branch: this is where a name becomes a path.
    """
    if branch is None or is_main(branch):
        return FOLDER
    check_branch(branch)
    return f"tree/{branch}/{FOLDER}"


def check_branch(name: str) -> None:
    """Refuse what can be no name of a branch."""
    if not is_branch(name):
        raise InvalidInputError(
            f"{name!r} is not a name of a branch. It has one or more parts, joined by '/', of letters, digits, '.', "
            "'-' and '_'; no part is '.', nowhere are two dots in a row, and it does not end with '.lock'."
        )


def is_branch(name: str) -> bool:
    """Return whether pylance takes a name for a branch, by its own rules."""
    parts = name.split("/")
    return (
        all(part and part != "." and all(map(_is_for_branches, part)) for part in parts)
        and ".." not in name
        and not name.endswith(".lock")
    )


def _is_for_branches(character: str) -> bool:
    # Rust counts the vowel signs of many scripts as letters, Python as marks.
    return character.isalnum() or character in "._-" or unicodedata.category(character).startswith("M")


def key(version: int, branch: str | None = None, *, scheme: str = "V2") -> str:
    if not 1 <= version <= _TOP:
        raise InvalidInputError(f"{version} is not a version number: they begin with 1.")
    name = f"{_TOP - version:0{_DIGITS}d}" if scheme == "V2" else str(version)
    return f"{folder(branch)}/{name}{_SUFFIX}"


def scheme(name: str | None) -> str:
    """Return a naming scheme as a request names it; by default the newer one."""
    chosen = (name or _SCHEMES[0]).upper()
    if chosen not in _SCHEMES:
        raise InvalidInputError(
            f"create_table_version: the naming scheme is {name!r}, but must be one of {', '.join(_SCHEMES)}."
        )
    return chosen


def root(table: StoredTable) -> str:
    """Return the location as a path from its store's root: no scheme, no bucket, no leading slash."""
    path = local_path(table.location)
    return (unquote(urlsplit(table.location).path) if path is None else path.as_posix()).strip("/")


def path_of(table: StoredTable, key: str) -> str:
    """Return a key below the location as clients know it: as a path from the store's root."""
    return f"{root(table)}/{key}".lstrip("/")


def staged(table: StoredTable, path: str, branch: str | None) -> str:
    """Return the key of a staged manifest, whose path a client gives from the store's root or from the location.

    It must be where the branch keeps its versions, and be none yet.
    """
    below = path.lstrip("/").removeprefix(f"{root(table)}/")
    parent, _, name = below.rpartition("/")
    if parent != folder(branch) or name in ("", ".", "..") or version_of(below) is not None:
        raise InvalidInputError(
            f"create_table_version: {path!r} is not a staged manifest of {table.name}. Write it into "
            f"{root(table)}/{folder(branch)} under a name of its own and give that path."
        )
    return below


def find(store: Store, version: int, branch: str | None = None) -> Object | None:
    """Return a version's manifest, in whichever scheme it is named."""
    if not 1 <= version <= _TOP:
        return None
    return store.head(key(version, branch)) or store.head(key(version, branch, scheme="V1"))


def version_of(path: str) -> int | None:
    """Return the version that a manifest's path means, None for other files beside it."""
    return None if path.rpartition("/")[2].partition(_SUFFIX)[2] else staged_version(path)


def staged_version(path: str) -> int | None:
    """Return the version that a staged manifest is meant for, by its name; None if that does not tell."""
    stem, suffix, _ = path.rpartition("/")[2].partition(_SUFFIX)
    if not suffix or not (stem.isascii() and stem.isdigit()):
        return None
    return _TOP - int(stem) if len(stem) == _DIGITS else int(stem)


def all_in(store: Store, branch: str | None = None) -> Iterator[tuple[int, Object]]:
    """Yield every version of a branch with its manifest, in no order."""
    for manifest in store.objects(folder(branch)):
        version = version_of(manifest.key)
        if version is not None:
            yield version, manifest


# Out of sight of every reader of the format, and gone with the table's folder.
KEPT = ".lanceway/strays"


def publish(store: Store, staging: str, final: str, keep: Callable[[bytes], None], data: bytes | None = None) -> bool:
    """Put a staged manifest, whose `data` may be known, at its final path; False if it is staged no more.

    What another writer has put there is handed to `keep`, and then replaced.
    """
    data = store.read(staging) if data is None else data
    if data is None:
        return False
    if not store.place_if_absent(staging, final, data):
        _replace(store, final, data, keep)
    return True


def _replace(store: Store, final: str, data: bytes, keep: Callable[[bytes], None]) -> None:
    current = store.read(final)
    if current == data:
        return  # ours: another process was faster
    if current is not None:
        keep(current)
    # Replaced, never deleted and written: so two who do it at once leave the same, and no moment is without it.
    store.put(final, data)


def kept_key(key: str, data: bytes) -> str:
    """Return the key that a stray is kept under: the same for the same content, so that it is kept once."""
    folder, _, name = key.rpartition("/")
    return f"{KEPT}/{folder}/{hashlib.blake2b(data, digest_size=8).hexdigest()}/{name}"


def branches(store: Store) -> list[str]:
    """Return the branches that have a folder of versions, without the main one and without what can be no branch."""
    mark = f"/{FOLDER}/"
    names = {key.removeprefix("tree/").partition(mark)[0] for key in store.keys("tree") if mark in key}
    return sorted(filter(is_branch, names))
