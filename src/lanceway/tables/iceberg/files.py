"""Files of Iceberg's metadata: `{location}/metadata/00003-<uuid>.metadata.json`, written once and never changed.

A table's row points to one of them. What a commit wrote and lost is deleted by it; what a crash leaves is an orphan.
"""

from __future__ import annotations

import os
import re
import threading
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lanceway.errors import InvalidInputError
from lanceway.tables.storage.store import FolderStore, Store, open_store

FOLDER = "metadata"
# Of a file, unpacked. A table with a hundred thousand snapshots has less.
LARGEST = 256 * 2**20
_CACHED = 64 * 2**20  # bytes, of all files together
_NUMBER = re.compile(r"(\d{1,9})-[0-9a-fA-F-]{36}\.(?:gz\.)?metadata\.json(?:\.gz)?")
_OWN = re.compile(r"(\d{5,9})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.metadata\.json")
_SUFFIXES = (".json", ".json.gz")
# What Iceberg's writers put into a table's folder. Names of data files are the writers' own.
_METADATA_FILE = re.compile(
    r"(?:.+\.metadata\.json(?:\.gz)?|.+\.avro|.+\.stats|.+\.puffin|version-hint\.text|\.[^/]+\.part)"
)
_DATA_FILE = re.compile(r".+\.(?:parquet|orc|avro|puffin)")

Options = Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A metadata file below the location of its table."""

    key: str  # below the location
    number: int
    modified_millis: int


class MetadataFiles:
    """The metadata files of all tables that one catalog can open."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def write(self, location: str, data: bytes, *, after: str | None = None) -> str:
        """Write a new file for the table at a location, and return the pointer to it.

        It is numbered `after` the pointer of the metadata before. Raises InvalidInputError for one that is too large.
        """
        if len(data) > LARGEST:
            raise _too_large(location)
        base = location.rstrip("/")
        name = f"{number_of(after) + 1:05d}-{uuid.uuid4()}.metadata.json"
        key = f"{FOLDER}/{name}"
        if not self._store(base).put_if_absent(key, data):
            raise InvalidInputError(f"The metadata file {key} exists already below {base}. Try again.")
        return f"{base}/{key}"

    def read(self, pointer: str, owner: object, check: Callable[[bytes], None]) -> bytes:
        """Return what a file holds, unpacked. Raises InvalidInputError if there is none, or it is too large.

        A file never changes as long as it is the same `owner`'s, so it is read once, and goes through a `check` then.
        """
        data = self.at_hand(pointer, owner)
        if data is None:
            data = self.read_stored(pointer)
            check(data)
            _CACHE.put(self._key(pointer, owner), data)
        return data

    def at_hand(self, pointer: str, owner: object) -> bytes | None:
        """Return what `read` has read before, without waiting for storage; None means to read it."""
        return _CACHE.get(self._key(pointer, owner))

    def read_at_once(self, pointer: str, owner: object, check: Callable[[bytes], None], most: int) -> bytes | None:
        """Return what `read` would of a file in a local folder, waiting for nothing but the disk.

        None means to call `read`: the file is missing, elsewhere, packed, larger than `most` bytes, or none that a
        commit has written.
        """
        folder, _, name = unescaped(pointer).rpartition("/")
        if not os.path.isabs(folder) or not name.endswith(".json"):
            return None
        data = FolderStore(Path(folder)).read_at_once(name, most)
        try:
            if data is not None:
                check(data)
        except InvalidInputError:
            return None
        if data is not None:
            _CACHE.put(self._key(pointer, owner), data)
        return data

    def _key(self, pointer: str, owner: object) -> tuple[object, ...]:
        return pointer, owner, tuple(sorted((self._options or {}).items()))

    def read_stored(self, pointer: str) -> bytes:
        """Return what a file holds now; it may be one that others write."""
        folder, _, name = pointer.rpartition("/")
        if not folder or not name.endswith(_SUFFIXES):
            raise InvalidInputError(f"{pointer!r} is not a metadata file: its name must end with .metadata.json.")
        store = self._store(folder)
        stored = store.head(name)
        if stored is None:
            raise InvalidInputError(f"The metadata file {pointer} does not exist.")
        if stored.size > LARGEST:
            raise _too_large(pointer)
        data = store.read(name)
        if data is None:
            raise InvalidInputError(f"The metadata file {pointer} does not exist.")
        is_packed = name.endswith(".gz") or ".gz." in name
        return _unpacked(pointer, data) if is_packed and data[:2] == b"\x1f\x8b" else data

    def remove(self, *pointers: str) -> None:
        """Delete files that no table has; one that is not there is fine."""
        for pointer in pointers:
            folder, _, name = pointer.rpartition("/")
            self._store(folder).delete(name)

    def untracked(self, location: str, pointers: Collection[str]) -> Iterator[MetadataFile]:
        """Yield the files at a location that a commit wrote and that are not among the `pointers`, its table's log.

        A file from before the log is no orphan: a log has a limited length, and leaves out what is older.
        """
        numbers = [number_of(pointer) for pointer in pointers]
        oldest = min((number for number in numbers if number >= 0), default=0)
        names = {pointer.rpartition("/")[2] for pointer in pointers}
        for stored in self._store(location).objects(FOLDER):
            number = own_number(stored.key)
            if number >= oldest and stored.key.rpartition("/")[2] not in names:
                yield MetadataFile(stored.key, number, stored.modified_millis)

    def _store(self, location: str) -> Store:
        return open_store(unescaped(location), self._options)


def unescaped(location: str) -> str:
    """Return the path that a `file:` URI of Iceberg means, and any other location as it is.

    Iceberg's clients write a path into a URI as it is, and never escape it.
    """
    scheme, colon, path = location.partition(":")
    if not colon or scheme.lower() != "file":
        return location
    return path.removeprefix("//").removeprefix("localhost") if path.startswith("//") else path


def number_of(pointer: str | None) -> int:
    """Return the number of a metadata file by its name, -1 for none and for one that has another kind of name."""
    match = _NUMBER.fullmatch((pointer or "").rpartition("/")[2])
    return -1 if match is None else int(match[1])


def own_number(key: str) -> int:
    """Return the number of a metadata file that a commit wrote, by its key below the location; -1 for another file."""
    folder, _, name = key.rpartition("/")
    match = _OWN.fullmatch(name) if folder == FOLDER else None
    return -1 if match is None else int(match[1])


def is_iceberg(store: Store) -> bool:
    """Return whether the files of an Iceberg table are at a location, and none of a Lance table."""
    folders, _ = store.level()
    return FOLDER in folders and "_versions" not in folders and any(map(is_own, store.keys(FOLDER)))


def is_own(key: str) -> bool:
    """Return whether Iceberg's writers made the object of this key below a table's location."""
    folder, _, name = key.partition("/")
    if folder == FOLDER:
        return _METADATA_FILE.fullmatch(name) is not None
    return folder == "data" and _DATA_FILE.fullmatch(name) is not None


def remove_table(store: Store) -> None:
    """Delete the files of an Iceberg table at a location that a user chose, and the folders that those leave empty."""
    store.delete(*filter(is_own, store.keys()))
    remove_empty_folders(store)


def remove_empty_folders(store: Store) -> None:
    """Remove the local folders of a table that hold no file, and its location if that is empty then."""
    for name in (FOLDER, "data"):
        store.remove_empty_folders(name)
    if not any(store.level()):
        store.remove_empty_folders()


def _unpacked(pointer: str, data: bytes) -> bytes:
    try:
        unpacked = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise InvalidInputError(f"The metadata file {pointer} cannot be unpacked: {error}.") from error
    if len(unpacked) > LARGEST:
        raise _too_large(pointer)
    return unpacked


def _too_large(place: str) -> InvalidInputError:
    return InvalidInputError(
        f"The metadata at {place} has more than {LARGEST // 2**20} MiB. Expire snapshots, or remove properties."
    )


class _MetadataCache:
    """What was read last, by pointer, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._files: OrderedDict[object, bytes] = OrderedDict()

    def get(self, key: object) -> bytes | None:
        with self._lock:
            data = self._files.get(key)
            if data is not None:
                self._files.move_to_end(key)
            return data

    def put(self, key: object, data: bytes) -> None:
        if len(data) > self._most // 4:
            return
        with self._lock:
            self._size += len(data) - len(self._files.pop(key, b""))
            self._files[key] = data
            while self._size > self._most:
                _, oldest = self._files.popitem(last=False)
                self._size -= len(oldest)


_CACHE = _MetadataCache(_CACHED)
