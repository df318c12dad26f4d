"""The files that Lance and Lanceway write below a table's location, told from all others by their names.

A location that a user chose may hold other things as well. What is not recognized here is never deleted there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.tables.storage.store import Store

# Folders whose names Lance, or in the last case Lanceway, has for itself.
_FOLDERS = ("_versions", "_transactions", "_deletions", "_indices", "_refs", "_mem_wal", r"\.lanceway")
_MARKERS = (r"\.lance-reserved", r"\.lance-deregistered", r"_latest\.manifest")
# `data` is a name that others use too. Lance names its files there by 24 bits and the rest of a UUID, or by a UUID;
# large blobs are in a folder that is named like their file. One in the making is called .tmp and six characters, or
# ends with a number.
_STEM = "(?:[01]{24}[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_DATA = rf"data/(?:[^/]+\.lance(?:#\d+)?|\.tmp[0-9A-Za-z]{{6}}|{_STEM}/.+)"
# A branch is a table of its own below `tree`, whose name may hold slashes.
_BRANCH = "tree/(?:[^/]+/)+"
_IN_THE_MAKING = r"\.[^/]+\.[0-9a-f]{32}\.part"
_OWN = re.compile(
    rf"(?:{_BRANCH})?(?:(?:{'|'.join(_FOLDERS)})/.+|{'|'.join(_MARKERS)}|{_DATA}|(?:data/)?{_IN_THE_MAKING})", re.DOTALL
)
_OWN_FOLDERS = re.compile("|".join((*_FOLDERS, "data", "tree")))


def is_own(key: str) -> bool:
    """Return whether Lance or Lanceway made the object of this key below a table's location."""
    return _OWN.fullmatch(key) is not None


def own(store: Store) -> Iterator[str]:
    return filter(is_own, store.keys())


def has_others(store: Store) -> bool:
    """Return whether a location holds anything that is not a table's own."""
    return not all(map(is_own, store.keys()))


def remove(store: Store) -> None:
    """Delete a table at a location that a user chose: its own files, then the folders that those leave empty."""
    store.delete(*own(store))
    remove_empty_folders(store)


def remove_empty_folders(store: Store) -> None:
    """Remove the local folders of a table that hold no file, and its location if that is empty then."""
    for name in store.names():
        if _OWN_FOLDERS.fullmatch(name):
            store.remove_empty_folders(name)
    if not any(store.level()):
        store.remove_empty_folders()
