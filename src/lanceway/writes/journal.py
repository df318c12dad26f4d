"""What the tasks of one write have written, noted beside the table until the write ends.

Spark tells the driver of one attempt of each task at most. Others may have written files as well: those that were
tried twice, and those that went on while their job failed. So while a write is under way, a file in the table's folder
says so. A task that has written notes its files beside it, and then looks whether the write is still under way;
whoever ends the write takes that file away, and then looks for notes. One of the two finds what the other did, and
removes what is not wanted. Nothing of it stays.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import commit
from lanceway.writes.destination import Destination

# Out of sight of every reader of the format, and gone with the table's folder.
FOLDER = ".lanceway/writes"
_UNDER_WAY = "under-way"
# Writes whose driver has died leave their notes. The files in them may be part of a version, so they are left alone.
_FORGOTTEN_MILLIS = 30 * 24 * 3600 * 1000


def begin(place: Destination) -> str:
    """Say that a write is under way; answers its name."""
    write = uuid.uuid4().hex
    _store(place).put(_key(write, _UNDER_WAY), b"")
    return write


def note(place: Destination, write: str, files: Sequence[str]) -> None:
    """Note what a task has written, with paths in the table's folder.

    Raises ConcurrentModificationError where the write has ended without this task; its files are gone then.
    """
    store, key = _store(place), _key(write, _name(files))
    try:
        store.put(key, json.dumps(list(files)).encode())
        if store.exists(_key(write, _UNDER_WAY)):
            return
    except LanceNamespaceError:
        commit.remove(store, files)
        raise
    store.delete(key)
    commit.remove(store, files)
    store.remove_empty_folders(f"{FOLDER}/{write}")
    raise ConcurrentModificationError(
        f"The write to {place.target.name} has ended while this task still wrote for it; what it wrote was removed."
    )


def end(place: Destination, write: str, kept: Collection[str] = ()) -> None:
    """End a write: all files that its tasks have noted go, but for those that are `kept`."""
    store = _store(place)
    store.delete(_key(write, _UNDER_WAY))
    # A hidden one is a note in the making; whoever makes it will find that the write has ended.
    notes = [key for key in store.keys(f"{FOLDER}/{write}") if not key.rpartition("/")[2].startswith(".")]
    needless = {_key(write, _name([file])) for file in kept}
    unwanted = [file for key in notes if key not in needless for file in json.loads(store.read(key) or b"[]")]
    commit.remove(store, set(unwanted) - set(kept))
    store.delete(*notes, *_forgotten(store))
    store.remove_empty_folders(f"{FOLDER}/{write}")


def finish(place: Destination, write: str, kept: Collection[str]) -> None:
    """End a write that was committed: that notes could not be removed is no failure of it."""
    with suppress(LanceNamespaceError):
        end(place, write, kept)


def _forgotten(store: Store) -> Iterable[str]:
    before = time.time() * 1000 - _FORGOTTEN_MILLIS
    return [found.key for found in store.objects(FOLDER) if found.modified_millis < before]


def _store(place: Destination) -> Store:
    return place.current().table.store()


def _key(write: str, name: str) -> str:
    return f"{FOLDER}/{write}/{name}"


def _name(files: Sequence[str]) -> str:
    """A note has the name of its first file, which no other has."""
    return files[0].rpartition("/")[2]
