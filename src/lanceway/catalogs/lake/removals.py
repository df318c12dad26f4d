"""The data of dropped tables: what may be deleted, and deleting it. The lake remembers a location until it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from lance_namespace import DeleteTableTagRequest
from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import locations, nesting
from lanceway.lake.tree.clones import Hold
from lanceway.tables.iceberg import files
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import manager as managers


@dataclass(frozen=True, slots=True)
class Removals:
    """The locations of a catalog's tables, when they are dropped or leave the lake."""

    lake: LakeConnection

    # -- who owns a location ---------------------------------------------------------------------

    def is_foreign(self, location: str) -> bool:
        """Return whether another lake manages the table at a location, whose data that lake alone may change."""
        manager = managers.find(self.lake.storage(location))
        return manager is not None and manager.lake != self.lake.store.identity

    def is_known_foreign(self, location: str) -> bool:
        """Return whether another lake manages the table at a location; False where storage does not answer.

        `remove` asks again before anything is deleted.
        """
        try:
            return self.is_foreign(location)
        except LanceNamespaceError:
            return False

    def unmark(self, location: str) -> None:
        """Delete the statement in storage that this lake manages a table, unless another row of it still does."""
        if not self.lake.store.read(locations.is_managed, location):
            with suppress(LanceNamespaceError):  # it stays until a user deletes it, as the refusal explains
                managers.leave(self.lake.storage(location), self.lake.store.identity)

    # -- before a drop ---------------------------------------------------------------------------

    def refuse_shared(self, namespace: Identifier) -> None:
        """Refuse to drop a namespace with a table at whose location there are files that are not the table's."""
        what = f"The namespace {namespace}" if namespace else "The catalog"
        for location in self.lake.store.read(nesting.locations, self.lake.catalog.id, namespace):
            self.refuse_others(what, location)

    def refuse_others(self, what: str, location: str) -> None:
        """Refuse to drop a table at a location that a user chose and that holds files of others."""
        if self._is_generated(location) or not _has_others(self.lake.storage(location)):
            return
        raise InvalidInputError(
            f"{what} cannot be dropped: at {location}, a location that was chosen for a table, are also files that are "
            "not Lance's or Iceberg's. Move them away first, or deregister the table, which keeps all that is there."
        )

    def _is_generated(self, location: str, roots: Sequence[str] = ()) -> bool:
        """Return whether the lake itself made up a location, so that everything there is the table's."""
        return locations.is_chosen(location, (self.lake.catalog.location, *roots))

    # -- after a drop ----------------------------------------------------------------------------

    def remove(self, location: str, roots: Sequence[str] = ()) -> None:
        """Delete a dropped table's data. Until it is gone, the lake remembers the location."""
        store = self.lake.storage(location)
        try:
            if self.is_foreign(location):
                pass  # another lake manages what is there
            elif self._is_generated(location, roots):
                store.delete(*store.keys())
                store.remove_empty_folders()
            else:
                if files.is_iceberg(store):
                    files.remove_table(store)
                own_files.remove(store)
        except LanceNamespaceError as error:
            raise type(error)(
                f"What was dropped is gone from the catalog, but its data is still at {location}: {error} Once the "
                "cause is repaired, finish_removals() deletes it."
            ) from error
        self.lake.store.transact(locations.done, location)

    def release(self, holds: Sequence[Hold]) -> None:
        """Delete the tags by which clones that are gone kept versions of their sources.

        One that cannot be deleted now stays until a user deletes it, which is no longer refused.
        """
        for hold in holds:
            with suppress(LanceNamespaceError):
                self.lake.client.delete_table_tag(DeleteTableTagRequest(id=list(hold.source), tag=hold.tag))

    def remove_abandoned(self, location: str) -> None:
        """Delete data at a location that no table has any more, recorded first so that a crash does not lose it."""
        if self.lake.store.transact(self._record_abandoned, location):
            self.remove(location)

    def _record_abandoned(self, connection: Connection, location: str) -> bool:
        is_abandoned = locations.is_abandoned(connection, location)
        if is_abandoned:
            locations.record(connection, [location], by=self.lake.user)
        return is_abandoned

    def finish(self) -> list[str]:
        """Delete what a crash or an unreachable storage left of dropped tables, and return where it was."""
        pending = [removal.location for removal in self.lake.store.read(locations.pending)]
        roots = self.lake.store.read(locations.roots) if pending else ()  # of all catalogs, as the removals are
        for location in pending:
            self.remove(location, roots)
        return pending


def _has_others(store: Store) -> bool:
    """Return whether a location holds anything that is not of its table, be it a Lance table or an Iceberg table."""
    if not own_files.has_others(store):
        return False
    return not files.is_iceberg(store) or not all(map(_is_known, store.keys()))


def _is_known(key: str) -> bool:
    return files.is_own(key) or own_files.is_own(key)
