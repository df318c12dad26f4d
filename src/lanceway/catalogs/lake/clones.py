"""Shallow clones: tables that begin with the files of a version of another table, and copy none of them.

The lake makes them itself, so that it knows which base paths they may have: no client can bring a manifest with
others. A tag keeps the cloned version in the source, also from clean-ups that know nothing of the lake.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from lance_namespace import CreateTableTagRequest
from sqlalchemy import Connection

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.lake.connection import LakeConnection, location_of
from lanceway.catalogs.lake.managed_table import stored_versions
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.errors import ConcurrentModificationError, InvalidInputError, InvalidTableStateError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import catalogs, clones, locations, lookups, tables
from lanceway.lake.tree.clones import Hold, NewClone
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import refs, versions
from lanceway.lake.versions.refs import REMOVED
from lanceway.lake.versions.versions import MAIN, VersionClaim
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.versions import manager as managers
from lanceway.tables.versions import ref_files
from lanceway.tables.versions.manager import Manager

_TAG = "lanceway-clone-"


@dataclass(frozen=True, slots=True)
class LakeClones:
    """Clones of a catalog's tables, in the same catalog."""

    lake: LakeConnection

    def clone(
        self, source: Identifier, target: Identifier, version: int | None, tag: str | None, branch: str | None
    ) -> TableEntry:
        """Make a clone of a version, at a location that the lake chooses; the caller owns it."""
        lake, lake_tables = self.lake, LakeTables(self.lake)
        row = lake_tables.row(source)
        lake_tables.require_writable(row)  # the tag that keeps the version is written to it
        handle = lake_tables.handle(list(source), "clone_table")
        opened = dataset.open_at(handle, version=version, tag=tag, branch=branch)
        if not dataset.is_main(dataset.tag_branch(handle, tag) if tag is not None else branch):
            raise InvalidInputError(
                f"{source} can be cloned from its main branch alone: no tag keeps what a branch shares with the branch "
                "that it began from. Clone a version of the main branch."
            )
        catalog = lake.store.read(catalogs.get, lake.catalog.id)
        if catalog.location is None:
            raise InvalidInputError(f"{source} cannot be cloned: its catalog has no location to put clones under.")
        number, location = int(opened.version), locations.under(catalog.location)
        new = NewClone(row, MAIN, number, f"{_TAG}{uuid.uuid4().hex}", self._base_paths(row))
        with ExitStack() as undo:
            undo.callback(Removals(lake).release, [Hold(source, new.tag)])
            self._keep(row, new)
            undo.callback(Removals(lake).remove_abandoned, location)
            stored = StoredTable(str(target), location, lake.options)
            dataset.clone(lake.stored(row), number, stored)
            if catalog.managed:
                managers.take(stored.store(), Manager(lake.store.identity, from_first=True))
            found = stored_versions(stored.store())
            made = lake.store.transact(self._make, target, location, new, found if catalog.managed else ())
            undo.pop_all()  # it stands
        return lake.entry(made)

    def _base_paths(self, row: TableRow) -> Sequence[str]:
        """Return where a clone may read beside its own location: where its source is, and where that one may read."""
        location = location_of(row)
        return [location, *self.lake.store.read(clones.base_paths, location)]

    def _keep(self, row: TableRow, new: NewClone) -> None:
        """Tag the version, in storage too: clean-ups of other programs see nothing else."""
        request = CreateTableTagRequest(id=list(row.identifier), tag=new.tag, version=new.version)
        self.lake.client.create_table_tag(request)
        if ref_files.tag(self.lake.storage(location_of(row)), new.tag) is None:
            raise InvalidTableStateError(
                f"{row.identifier} cannot be cloned: its version {new.version} cannot be kept, since the file of a tag "
                "could not be written. Try again when storage can be written to."
            )

    def _make(
        self, connection: Connection, target: Identifier, location: str, new: NewClone, found: Sequence[VersionClaim]
    ) -> TableRow:
        catalog, user = self.lake.catalog.id, self.lake.user
        source = lookups.lock(connection, catalog, new.source.identifier)
        if source.id != new.source.id or source.managed != new.source.managed or not _is_kept(connection, source, new):
            raise ConcurrentModificationError(
                f"The table {source.identifier} was changed by others while it was cloned. Try again."
            )
        row = tables.create(
            connection, catalog, target, by=user, location=location, managed=bool(found), event="cloned"
        )
        versions.adopt(connection, row.id, found, by=user)
        clones.record(connection, row, new, by=user)
        return row


def _is_kept(connection: Connection, source: TableRow, new: NewClone) -> bool:
    if not source.managed:
        return True  # its tags are in storage alone
    there = (tag for tag in refs.tags_of(connection, source.id) if tag.state != REMOVED)
    return any((tag.name, tag.branch, tag.version) == (new.tag, new.branch, new.version) for tag in there)
