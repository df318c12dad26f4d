"""Pointers of Iceberg tables and views: metadata files written, and the rows that follow them.

Files are written before the transaction, which must not wait for storage, and found by no one until a row points to
them. A row is changed only if it still points to the metadata that the change was computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sqlalchemy import Connection

from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
from lanceway.catalogs.lake.connection import LakeConnection, location_of
from lanceway.catalogs.lake.iceberg import places
from lanceway.catalogs.lake.iceberg.places import IcebergPlace
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.store.errors import BrokenCommitError
from lanceway.lake.store.schema import ICEBERG_TABLE
from lanceway.lake.tree import locations, lookups, names, namespaces, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.tables.iceberg import metadata
from lanceway.tables.iceberg.files import MetadataFiles, remove_empty_folders, unescaped
from lanceway.tables.storage.store import open_store


class StalePointerError(ConcurrentModificationError):
    """A table points to other metadata than a change was computed from: it is to be computed again."""


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """New metadata of a table or a view. With a `pointer` the file exists already; without a `row` it is made."""

    identifier: Identifier
    kind: str
    place: IcebergPlace
    data: bytes
    row: TableRow | None = None
    pointer: str | None = None
    event: str = "created"
    obsolete: Sequence[str] = ()  # files that no one needs once the change is made


@dataclass(frozen=True, slots=True)
class NamedIceberg:
    """What a catalog has of some kinds, by name."""

    lake: LakeConnection
    kinds: ClassVar[Sequence[str]]

    @property
    def _pointers(self) -> MetadataPointers:
        return MetadataPointers(self.lake)

    def names(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return a page of names, in order."""
        return self.lake.store.read(
            lookups.children_among, self.lake.catalog.id, namespace, self.kinds, after=after, limit=limit
        )

    def row(self, name: Identifier) -> TableRow:
        """Return what has a name. Raises TableNotFoundError, NamespaceNotFoundError."""
        return self.lake.store.read(lookups.find_among, self.lake.catalog.id, name, self.kinds)

    def exists(self, name: Identifier) -> bool:
        try:
            self.row(name)
        except TableNotFoundError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class MetadataPointers:
    """The metadata files that the rows of a catalog point to."""

    lake: LakeConnection

    @property
    def files(self) -> MetadataFiles:
        return MetadataFiles(self.lake.options)

    def read(self, row: TableRow) -> bytes:
        """Return the metadata of a row.

        Raises InvalidTableStateError if its file is missing or was written over, StalePointerError if the row points
        to another one by now: who commits may delete what is out of the log.
        """
        assert row.metadata_pointer is not None, "an Iceberg table or a view has metadata"
        try:
            check = partial(check_written, row.identifier, location_of(row))
            return self.files.read(row.metadata_pointer, (self.lake.store.uri, row.id), check)
        except InvalidInputError as error:
            self._refuse_moved(row)
            raise InvalidTableStateError(
                f"The metadata of {row.identifier} cannot be read: {error} Restore the file, or drop {row.identifier}."
            ) from error

    def refuse_taken(self, name: Identifier) -> None:
        """Refuse a name that is taken, or that none may have; the transaction that makes the row asks again."""
        self.lake.store.read(self._refuse_taken, name)

    def _refuse_taken(self, connection: Connection, name: Identifier) -> None:
        path = names.new(lookups.known(name))
        tables.refuse_taken(connection, namespaces.find(connection, self.lake.catalog.id, path.parent), path)

    def place_of(self, row: TableRow, uri: str) -> IcebergPlace:
        """Return where a row is, in the spelling that its metadata has."""
        return IcebergPlace(uri, location_of(row), is_chosen=True)

    def read_foreign(self, pointer: str, own: str | None) -> tuple[IcebergPlace, bytes]:
        """Return a metadata file that is to be registered, by the table or the view at its `own` location if it is one.

        Raises InvalidInputError for one that is another's, or that clients could not be given.
        """
        file = places.chosen(self.lake, pointer, own=own)
        places.refuse_file_of_another(self.lake, file, own)
        data = self.files.read_stored(file.uri)
        metadata.checked_json("The metadata file cannot be registered", metadata.checked_file(data))
        return file, data

    def carry_out(self, changes: Sequence[MetadataChange]) -> list[str]:
        """Make all of some changes or none, and return the pointers.

        Raises StalePointerError where one was computed from metadata that is no longer current, TableAlreadyExistsError
        for a new name that is taken, and CommitStateUnknownError where the database cannot say how it ended. A failure
        leaves no file behind, unless a row may point to it, now or later.
        """
        pointers: list[str] = []
        for change in changes:
            self.refuse_overlap(change)
        try:
            for change in changes:
                before = None if change.row is None else change.row.metadata_pointer
                pointers.append(change.pointer or self.files.write(change.place.uri, change.data, after=before))
            self.lake.store.transact(self._change_rows, changes, pointers)
        except BrokenCommitError as error:
            self._require_done(changes, pointers, error)
        except LanceNamespaceError:
            self._discard(changes, pointers)
            if len(pointers) < len(changes):
                # A purge takes the folder from under a write.
                for change in changes:
                    self._refuse_moved(change.row)
            raise
        return pointers

    def _refuse_moved(self, row: TableRow | None) -> None:
        """Raise what is so if a table was dropped or changed since its row was read."""
        if row is None:
            return
        now = self.lake.store.read(lookups.find, self.lake.catalog.id, row.identifier, kind=row.kind)
        if now.metadata_pointer != row.metadata_pointer:
            raise stale(row.identifier)

    def refuse_overlap(self, change: MetadataChange) -> None:
        """Refuse a location that another table has, before a file is written there; the transaction asks again."""
        place, row = change.place, change.row
        own = None if row is None else row.location
        if place.is_chosen and place.location != own:
            other = self.lake.store.read(locations.overlapping, place.location)
            if other not in (None, own):
                raise InvalidInputError(
                    f"The location {place.uri} cannot be used: it overlaps the location of another table. Choose "
                    "another one."
                )

    def _change_rows(self, connection: Connection, changes: Sequence[MetadataChange], pointers: Sequence[str]) -> None:
        # In one order, so that two transactions never wait for each other.
        for change, pointer in sorted(
            zip(changes, pointers, strict=True), key=lambda pair: (pair[0].row is None, pair[0].row and pair[0].row.id)
        ):
            place = change.place
            if change.row is None:
                tables.create(
                    connection,
                    self.lake.catalog.id,
                    change.identifier,
                    by=self.lake.user,
                    kind=change.kind,
                    location=place.location,
                    metadata_pointer=pointer,
                    event=change.event,
                    is_chosen=place.is_chosen,
                )
            elif tables.point(connection, change.row, pointer, by=self.lake.user, location=place.location) is None:
                raise stale(change.identifier)

    def _require_done(
        self, changes: Sequence[MetadataChange], pointers: Sequence[str], error: BrokenCommitError
    ) -> None:
        """Raise an error unless a transaction was carried out whose COMMIT was not answered.

        All of it was or nothing, so that one row tells. The files stay in any case: the COMMIT may be on its way.
        """
        for change, pointer in zip(changes, pointers, strict=True):
            try:
                is_done = self._is_done(change, pointer)
            except LanceNamespaceError:  # it was renamed or dropped since, or cannot be asked for
                continue
            if is_done:
                return
            if is_done is False:
                raise ServiceUnavailableError(
                    f"{change.identifier} was not changed: the connection to the lake's database broke. Try again."
                ) from error
        raise CommitStateUnknownError(
            f"Whether {changes[0].identifier} was changed is not known: {error} Load it, and look."
        ) from error

    def _is_done(self, change: MetadataChange, pointer: str) -> bool | None:
        """Return whether a change was made, by a row that points to its file or to one that came after; None: unknown.

        The row is locked: a transaction that has changed it holds it to its end, whoever still hears of it.
        """
        row = self.lake.store.transact(lookups.lock, self.lake.catalog.id, change.identifier, kind=change.kind)
        if row.metadata_pointer == pointer:
            return True
        if change.row is not None and row.metadata_pointer == change.row.metadata_pointer:
            return False
        if change.kind != ICEBERG_TABLE:
            return None
        log = metadata.read(self.read(row)).metadata_log
        return True if pointer in {entry.metadata_file for entry in log} else None

    def _discard(self, changes: Sequence[MetadataChange], pointers: Sequence[str]) -> None:
        """Delete the files that were written for nothing. One that cannot be deleted now is an orphan."""
        for change, pointer in zip(changes, pointers, strict=False):
            if change.pointer is None:
                with suppress(LanceNamespaceError):
                    self.files.remove(pointer)
                    remove_empty_folders(open_store(unescaped(change.place.uri), self.lake.options))


def check_written(name: Identifier, location: str, data: bytes) -> None:
    """Refuse metadata that is not what a commit has written: the file is where all who may write the table can write.

    The lake writes and deletes with rights of its own at the location that it names, and clients follow its properties.
    """
    uri = metadata.checked_file(data).get("location")
    if not isinstance(uri, str) or not _is_same(unescaped(uri), location):
        raise InvalidInputError(
            f"It says that {name} is at {str(uri)[:200]!r}, which it is not: the file was written over."
        )


def _is_same(uri: str, location: str) -> bool:
    try:
        return locations.is_same(uri, location)
    except InvalidInputError:  # it is no location at all
        return False


def stale(name: Identifier) -> StalePointerError:
    return StalePointerError(
        f"Requirement failed: {name} was changed by others at the same time. Load it again, and repeat."
    )
