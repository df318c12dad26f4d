"""Metadata files that no Iceberg table or view has: what a crash leaves between the file of a commit and its row.

A file is written before the row that points to it, so that one of a commit that is under way looks the same. Only
what is older than a commit can take is an orphan; what is not sure to be one stays.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
from lanceway.catalogs.lake.connection import LakeConnection, location_of
from lanceway.catalogs.lake.iceberg import places
from lanceway.catalogs.lake.removals import Removals
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import ICEBERG_TABLE
from lanceway.lake.tree import locations
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks
from lanceway.lake.versions.checks import Finding, PointerHolder
from lanceway.tables.iceberg import files, metadata
from lanceway.tables.iceberg.files import MetadataFiles
from lanceway.tables.storage.store import Store, local_path, open_store

# A commit takes seconds; a day leaves room for clocks that differ.
GRACE = 24 * 3600.0  # seconds
# What is written at a location so that files of acknowledged commits are never taken for orphans.
_NOTES = ".lanceway"
_DROPPED, _REPLACED, _MOVED = f"{_NOTES}/dropped", f"{_NOTES}/replaced-", f"{_NOTES}/moved-"

Options = Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class OrphanMetadata:
    """A metadata file that no row points to and no log has."""

    location: str  # of its table, as the row has it or had it
    key: str  # below it
    modified_millis: int

    def is_older(self, seconds: float) -> bool:
        return self.modified_millis < (time.time() - seconds) * 1000


def check(store: LakeStore, options: Options, root: str | None) -> Iterator[Finding]:
    """Find tables and views whose metadata is lost, and files that no row points to; below one `root`."""
    only = None if root is None else str(local_path(root) or root).rstrip("/")
    for holder in _holders(store):
        if only is not None and not f"{holder.location}/".startswith(f"{only}/"):
            continue
        name = f"{holder.kind.replace('_', ' ')} {holder.identifier} of {holder.catalog}"
        try:
            orphans = [orphan for orphan in _orphans_of(store, holder, options) if orphan.is_older(GRACE)]
        except InvalidInputError as error:
            yield Finding("lost metadata", name, f"Its metadata cannot be read: {error}")
            continue
        if orphans:
            text = f"{len(orphans):,} metadata files of commits that never ended. `lanceway lake tidy` deletes them."
            yield Finding("orphan metadata", name, text, wrong=False)


def _holders(store: LakeStore, catalog: int | None = None) -> Iterator[PointerHolder]:
    page = store.read(checks.pointer_holders, catalog=catalog)
    while page:
        yield from page
        page = store.read(checks.pointer_holders, catalog=catalog, after=page[-1].id)


def _orphans_of(store: LakeStore, holder: PointerHolder, options: Options) -> list[OrphanMetadata]:
    """Return the files of a table that neither its metadata from before nor the one from after a look has."""
    reader = MetadataFiles(options)
    known = _tracked(reader, holder)
    former = _former_places(store, holder, known, options)
    found = [
        (place, file)
        for place in (holder.location, *former)
        for file in reader.untracked(places.uri_of(place), known)
        if place == holder.location or _is_of(reader, f"{place}/{file.key}", holder)
    ]
    if not found:
        return []
    # What was committed in between is tracked by now. A table that is gone has none.
    again = store.read(checks.pointer_holder, holder.id)
    if again is None:
        return []
    known |= _tracked(reader, again)
    for place in (holder.location, *former):
        known |= _replaced(reader, open_store(place, options))
    names = {pointer.rpartition("/")[2] for pointer in known}
    return [
        OrphanMetadata(place, file.key, file.modified_millis)
        for place, file in found
        if file.key.rpartition("/")[2] not in names
    ]


def _former_places(store: LakeStore, holder: PointerHolder, known: Iterable[str], options: Options) -> list[str]:
    """Return where a table was before it moved, as its log says, below a catalog's location, if nothing is there now.

    A log may be forged by who registers a metadata file. So only places count in which the lake itself has left a note.
    """
    roots = store.read(checks.roots)
    former = dict[str, None]()
    for pointer in known:
        base, folder, _ = files.unescaped(pointer).rpartition(f"/{files.FOLDER}/")
        with suppress(InvalidInputError):
            place = locations.canonical(base) if folder else holder.location
            if place != holder.location and any(place.startswith(f"{root}/") for root in roots):
                former[place] = None
    return [
        place
        for place in former
        if not store.read(checks.is_known, place)
        and store.read(locations.overlapping, place) is None
        and open_store(place, options).exists(_moved_note(store, holder.id))
    ]


def _moved_note(store: LakeStore, row: int) -> str:
    return f"{_MOVED}{store.identity}-{row}"


def _is_of(reader: MetadataFiles, pointer: str, holder: PointerHolder) -> bool:
    """Return whether a file is metadata of the same table."""
    try:
        uuids = {metadata.read(reader.read_stored(each)).table_uuid for each in (pointer, holder.pointer)}
    except InvalidInputError:
        return False
    return len(uuids) == 1


def _tracked(reader: MetadataFiles, holder: PointerHolder) -> set[str]:
    """Return the pointer of a row, and those in the log of its metadata; a view has no log, only its last file."""
    data = reader.read_stored(holder.pointer)
    if holder.kind != ICEBERG_TABLE:
        return {holder.pointer}
    log = metadata.read(data).metadata_log
    return {holder.pointer, *(entry.metadata_file for entry in log)}


def _replaced(reader: MetadataFiles, store: Store) -> set[str]:
    """Return the pointers that a registration has replaced, and those in their logs."""
    tracked: set[str] = set()
    for key in store.keys(_NOTES):
        if key.startswith(_REPLACED):
            pointer = (store.read(key) or b"").decode()
            tracked.add(pointer)
            with suppress(InvalidInputError):  # the file is gone
                tracked |= {entry.metadata_file for entry in metadata.read(reader.read_stored(pointer)).metadata_log}
    return tracked


@dataclass(frozen=True, slots=True)
class LakeOrphans:
    """Orphaned metadata files of a catalog."""

    lake: LakeConnection

    def clean(self, older_than: float) -> list[str]:
        """Delete orphans that are older than some seconds, and return where they were."""
        if older_than < 0:
            raise InvalidInputError("The age of orphans cannot be negative. Give a number of seconds.")
        gone: list[str] = []
        for holder in _holders(self.lake.store, self.lake.catalog.id):
            try:
                orphans = _orphans_of(self.lake.store, holder, self.lake.options)
            except InvalidInputError:
                continue  # its metadata is lost: `check` says so, and every file there may be needed
            for orphan in orphans:
                if orphan.is_older(older_than):
                    self.lake.storage(orphan.location).delete(orphan.key)
                    gone.append(f"{orphan.location}/{orphan.key}")
        return [*gone, *self._clean_unmade(older_than)]

    def _clean_unmade(self, older_than: float) -> Iterator[str]:
        """Delete what is left of tables and views whose creation was cut off before there was a row."""
        root = self.lake.catalog.location
        if root is None:
            return
        for name in sorted(self.lake.storage(root).names()):
            location = f"{root}/{name}"
            if not locations.is_chosen(location, (root,)) or self.lake.store.read(checks.is_known, location):
                continue
            first = _only_file(self.lake.storage(location), location)
            if first is not None and first.is_older(older_than):
                Removals(self.lake).remove_abandoned(location)
                yield f"{location}/{first.key}"

    def keep(self, location: str) -> None:
        """Write down that a table was dropped and its files are kept, where they look like those of none."""
        if locations.is_chosen(location, (self.lake.catalog.location,)):
            store = self.lake.storage(location)
            if _only_file(store, location) is not None:
                store.put(_DROPPED, b"")

    def note_move(self, row: TableRow, location: str) -> None:
        """Write down, where a table is now, that it is the one that moves elsewhere: its log has files there."""
        if location != row.location:
            self.lake.storage(location_of(row)).put(_moved_note(self.lake.store, row.id), b"")

    @contextmanager
    def keeping_replaced(self, row: TableRow) -> Iterator[None]:
        """Write down which metadata a table has while another file is registered over it, for good if that is done."""
        store, key = self.lake.storage(location_of(row)), f"{_REPLACED}{uuid.uuid4().hex}"
        store.put(key, (row.metadata_pointer or "").encode())
        try:
            yield
        except CommitStateUnknownError:
            raise
        except LanceNamespaceError:
            with suppress(LanceNamespaceError):
                store.delete(key)
            raise


def _only_file(store: Store, location: str) -> OrphanMetadata | None:
    """Return the first metadata file of a table, if there is nothing else at its location."""
    stored = [file for file, _ in zip(store.objects(), range(2), strict=False)]
    if len(stored) != 1 or files.own_number(stored[0].key) != 0:
        return None
    return OrphanMetadata(location, stored[0].key, stored[0].modified_millis)
