"""What an older version of the lake kept in storage alone: made rows, once, when a table is first used.

Migrations cannot read storage. A table that was there before has no rows of its tags, branches and definitions, and
its own row says so until they are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.refs.settling import new_branch
from lanceway.errors import InvalidTableStateError, TableBranchNotFoundError, TableVersionNotFoundError
from lanceway.lake.tree import definitions, lookups, tables
from lanceway.lake.tree.definitions import NewDefinition
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import refs, versions
from lanceway.lake.versions.refs import NewTag
from lanceway.lake.versions.versions import MAIN
from lanceway.tables.dataset import open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import computed, views
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import ref_files
from lanceway.tables.versions.ref_files import BranchFile, TagFile

if TYPE_CHECKING:
    import pyarrow as pa

# A table without data, or a branch of which only the name is left, has no definitions.
_NOTHING_THERE = (InvalidTableStateError, TableBranchNotFoundError, TableVersionNotFoundError)


@dataclass(frozen=True, slots=True)
class StoredRefs:
    """What storage has of a table's tags and branches."""

    tags: Mapping[str, TagFile]
    branches: Mapping[str, BranchFile]

    def adopt(self, connection: Connection, row: TableRow, *, by: str) -> None:
        """Make rows of those whose versions the lake has. The table must be locked."""
        known, lines = refs.versions_of(connection, row.id), set(versions.branches(connection, row.id))
        branches = [new_branch(file) for file in self.branches.values() if file.name in lines]
        tags = [
            NewTag(file.name, file.branch, file.version, file.size, file.metadata)
            for file in self.tags.values()
            if (file.branch, file.version) in known
        ]
        refs.adopt_branches(connection, row.id, branches, by=by)
        refs.adopt_tags(connection, row.id, tags, by=by)


def stored_refs(store: Store) -> StoredRefs:
    """Return the tags and branches in a table's storage."""
    return StoredRefs(ref_files.tags(store), ref_files.branches(store))


@dataclass(frozen=True, slots=True)
class Adoption:
    """Making rows of what storage has."""

    lake: LakeConnection

    def adopt(self, row: TableRow) -> bool:
        """Adopt what a table has in storage, unless that was done; return whether it was not done before.

        Storage is read before the transaction. Of two processes that come at once, the second finds it done.
        """
        if row.adopted:
            return False
        stored = stored_refs(self.lake.stored(row).store()) if row.managed else StoredRefs({}, {})
        found = self.stored_definitions(row, list(stored.branches))
        self.lake.store.transact(self._adopt_rows, row, stored, found)
        return True

    def _adopt_rows(
        self, connection: Connection, row: TableRow, stored: StoredRefs, found: Sequence[NewDefinition]
    ) -> None:
        current = lookups.lock(connection, self.lake.catalog.id, row.identifier)
        if current.adopted or current.id != row.id:
            return
        # Of what was made before rows said who made it, only the table's owner is known.
        owner = row.owner or row.audit.created_by
        if current.managed:
            stored.adopt(connection, current, by=owner)
        definitions.adopt(connection, row.id, found, by=owner)
        tables.mark_adopted(connection, current)

    def stored_definitions(self, row: TableRow, branches: Sequence[str] = ()) -> list[NewDefinition]:
        """Return the definitions in the metadata of a table, on its main branch and on others."""
        table = self.lake.handle(row)
        found: list[NewDefinition] = []
        with suppress(*_NOTHING_THERE):
            main = open_at(table)
            found += in_schema(main.schema)
            for branch in branches:
                with suppress(*_NOTHING_THERE), translated(table, f"Opening the branch {branch!r}"):
                    found += in_schema(main.checkout_version((branch, None)).schema, branch)
        return found


def in_schema(schema: pa.Schema, branch: str = MAIN) -> Iterator[NewDefinition]:
    """Yield the definitions in the metadata of a schema; a branch is no view, whatever it has from its parent."""
    view = views.in_metadata(schema)
    if view is not None and branch == MAIN:
        yield NewDefinition(definitions.VIEW, "", view.record())
    for field in schema:
        column = computed.in_metadata(field)
        if column is not None:
            yield NewDefinition(definitions.COLUMN, field.name, computed.record(column), branch)
