"""The files that are a table's versions, by their names alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lanceway.tables.dataset import is_main

if TYPE_CHECKING:
    from lanceway.tables.storage import Object, Store

FOLDER = "_versions"
HINT = f"{FOLDER}/latest_version_hint.json"
_SUFFIX = ".manifest"
# In the newer naming scheme the newest version sorts first: 20 digits that count down from here.
_TOP = 2**64 - 1
_DIGITS = 20


def folder(branch: str | None) -> str:
    """Where a branch keeps its versions, below the table's location."""
    return FOLDER if is_main(branch) else f"tree/{branch}/{FOLDER}"


def key(version: int, branch: str | None = None, *, scheme: str = "V2") -> str:
    name = f"{_TOP - version:0{_DIGITS}d}" if scheme == "V2" else str(version)
    return f"{folder(branch)}/{name}{_SUFFIX}"


def find(store: Store, version: int, branch: str | None = None) -> Object | None:
    """A version's manifest, in whichever scheme it is named."""
    if not 1 <= version <= _TOP:
        return None
    return store.head(key(version, branch)) or store.head(key(version, branch, scheme="V1"))


def version_of(path: str) -> int | None:
    """The version that a manifest's path means, None for other files beside it."""
    stem, suffix, rest = path.rpartition("/")[2].partition(_SUFFIX)
    if not suffix or rest or not (stem.isascii() and stem.isdigit()):
        return None
    return _TOP - int(stem) if len(stem) == _DIGITS else int(stem)


def all_in(store: Store, branch: str | None = None) -> Iterator[tuple[int, Object]]:
    """Every version of a branch with its manifest, in no order."""
    for found in store.objects(folder(branch)):
        version = version_of(found.key)
        if version is not None:
            yield version, found
