"""Data files that are part of no version, removed with all that belongs to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.tables.storage.store import Store

_SUFFIX = ".lance"


def remove(store: Store, files: Iterable[str]) -> None:
    """Remove files by their paths in the table's folder; large blobs lie in a folder with the name of their file."""
    gone = list(files)
    for folder in (file.removesuffix(_SUFFIX) for file in gone if file.endswith(_SUFFIX)):
        store.delete(*store.keys(folder))
        store.remove_empty_folders(folder)
    store.delete(*gone)
