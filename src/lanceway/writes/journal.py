"""The journal of writes: the files that the tasks of one write have written, noted beside the table until it ends.

Spark hands the driver the result of one attempt of each task at most. Other attempts may have written files as well:
a task that was tried twice, or one that went on while its job failed. So while a write is under way, a file in the
table's folder says so: the write's entry. A task notes its files beside it, and then looks whether the entry is still
there; the process that ends the write removes the entry, and then looks for notes. So one of the two sees what the
other did, and removes the files that no version has. Nothing of the journal stays.
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
from lanceway.writes.table_ref import Destination

# Out of sight of every reader of the format, and gone with the table's folder.
FOLDER = ".lanceway/writes"
_UNDER_WAY = "under-way"
# Writes whose driver has died leave their notes. The files in them may be part of a version, so they are left alone.
_ABANDONED_MILLIS = 30 * 24 * 3600 * 1000


def begin(destination: Destination) -> str:
    """Open an entry for a write that is under way, and return its name."""
    entry = uuid.uuid4().hex
    _store(destination).put(_key(entry, _UNDER_WAY), b"")
    return entry


def note(destination: Destination, entry: str, files: Sequence[str]) -> None:
    """Note the files that a task has written, as paths in the table's folder.

    Raises ConcurrentModificationError where the write has ended without this task; its files are removed then.
    """
    store, key = _store(destination), _key(entry, _name(files))
    try:
        store.put(key, json.dumps(list(files)).encode())
        # Looked at after the note is written: an end that came before has not seen the note, one that comes later does.
        if store.exists(_key(entry, _UNDER_WAY)):
            return
    except LanceNamespaceError:
        commit.remove(store, files)
        raise
    store.delete(key)
    commit.remove(store, files)
    store.remove_empty_folders(f"{FOLDER}/{entry}")
    raise ConcurrentModificationError(
        f"The write to {destination.ref.name} has ended while this task still wrote for it; what it wrote was removed."
    )


def end(destination: Destination, entry: str, committed: Collection[str] = ()) -> None:
    """End a write: remove all files that its tasks have noted, except the `committed` ones."""
    store = _store(destination)
    # First of all: a task that notes its files from now on finds that the write has ended, and removes them itself.
    store.delete(_key(entry, _UNDER_WAY))
    # A hidden one is a note that is being written; its task will find that the write has ended.
    notes = [key for key in store.keys(f"{FOLDER}/{entry}") if not key.rpartition("/")[2].startswith(".")]
    # A note has the name of its first file, so the notes of committed files need not be read.
    needless = {_key(entry, _name([file])) for file in committed}
    unwanted = [file for key in notes if key not in needless for file in json.loads(store.read(key) or b"[]")]
    commit.remove(store, set(unwanted) - set(committed))
    store.delete(*notes, *_abandoned(store))
    store.remove_empty_folders(f"{FOLDER}/{entry}")


def finish(destination: Destination, entry: str, committed: Collection[str]) -> None:
    """End a write that was committed. It does not fail where notes cannot be removed."""
    with suppress(LanceNamespaceError):
        end(destination, entry, committed)


def _abandoned(store: Store) -> Iterable[str]:
    before = time.time() * 1000 - _ABANDONED_MILLIS
    return [file.key for file in store.objects(FOLDER) if file.modified_millis < before]


def _store(destination: Destination) -> Store:
    return destination.current().table.store()


def _key(entry: str, name: str) -> str:
    return f"{FOLDER}/{entry}/{name}"


def _name(files: Sequence[str]) -> str:
    """Name a note after its first file, which no other note has."""
    return files[0].rpartition("/")[2]
