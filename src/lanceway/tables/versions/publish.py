"""Manifests of managed tables in storage: brought from their staging path to their final one, strays kept aside.

Whoever may claim a version decides elsewhere. What is done here can be done by anybody, any number of times
and at the same time, and ends the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from lanceway.tables.versions import manifests

if TYPE_CHECKING:
    from lanceway.tables.storage.store import Store

# Out of sight of every reader of the format, and gone with the table's folder.
KEPT = ".lanceway/strays"


def publish(store: Store, staging: str, final: str, keep: Callable[[bytes], None], data: bytes | None = None) -> bool:
    """Put a staged manifest, whose `data` may be known, at its final path; False if it is staged no more.

    What somebody else has put there is handed to `keep`, and then replaced.
    """
    data = store.read(staging) if data is None else data
    if data is None:
        return False
    if not store.place_if_absent(staging, final, data):
        _replace(store, final, data, keep)
    return True


def _replace(store: Store, final: str, data: bytes, keep: Callable[[bytes], None]) -> None:
    found = store.read(final)
    if found == data:
        return  # ours: somebody was faster
    if found is not None:
        keep(found)
    # Replaced, never deleted and written: so two who do it at once leave the same, and no moment is without it.
    store.put(final, data)


def kept_key(key: str, data: bytes) -> str:
    """Where a stray is kept: the same for the same content, so that to keep it twice keeps it once."""
    folder, _, name = key.rpartition("/")
    return f"{KEPT}/{folder}/{hashlib.blake2b(data, digest_size=8).hexdigest()}/{name}"


def branches(store: Store) -> list[str]:
    """The branches that have a folder of versions, without the main one and without what can be no branch."""
    mark = f"/{manifests.FOLDER}/"
    found = {key.removeprefix("tree/").partition(mark)[0] for key in store.keys("tree") if mark in key}
    return sorted(filter(manifests.is_branch, found))
