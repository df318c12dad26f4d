"""Definitions of views and columns: rows of the lake with an owner, by which alone jobs run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lance_namespace import AlterTableAlterColumnsRequest
from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.refs.adoption import Adoption
from lanceway.catalogs.lake.versions import branch_of
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import definitions, lookups
from lanceway.lake.tree.definitions import COLUMN, VIEW, Definition, NewDefinition
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import MAIN
from lanceway.tables.schema import computed, fields, views
from lanceway.tables.schema.views import View


@dataclass(frozen=True, slots=True)
class LakeDefinitions:
    """How views and columns of a catalog's tables come about, whatever the tables' metadata says."""

    lake: LakeConnection

    # -- reading ---------------------------------------------------------------------------------

    def view(self, table: Identifier) -> View:
        """Return the view of a table. Raises InvalidTableStateError for a table that is not a view."""
        found = self._of_kind(table, VIEW, MAIN)
        if not found:
            raise views.not_a_view(str(table))
        return View.from_record(found[0].definition)

    def columns(self, table: Identifier, branch: str | None) -> Mapping[str, computed.Definition]:
        """Return the definitions of columns on a branch, by the names of the columns."""
        found = self._of_kind(table, COLUMN, branch_of(branch))
        return {row.name: computed.from_record(row.definition) for row in found}

    def _of_kind(self, table: Identifier, kind: str, branch: str) -> Sequence[Definition]:
        row, found = self.lake.store.read(definitions.of_kind, self.lake.catalog.id, table, kind, branch)
        if Adoption(self.lake).adopt(row):
            row, found = self.lake.store.read(definitions.of_kind, self.lake.catalog.id, table, kind, branch)
        return found

    def all(self, table: Identifier) -> Sequence[Definition]:
        """Return all definitions of a table, on every branch; a view's comes first."""
        return self.lake.store.read(definitions.of_table, self._adopted(table).id)

    def _adopted(self, table: Identifier) -> TableRow:
        row = self.lake.store.read(lookups.find, self.lake.catalog.id, table)
        Adoption(self.lake).adopt(row)
        return row

    # -- writing ---------------------------------------------------------------------------------

    def record(self, table: Identifier, new: Sequence[NewDefinition]) -> None:
        """Record definitions as the user's, in the place of those that there are."""

        def record(connection: Connection) -> None:
            row = lookups.hold(connection, self.lake.catalog.id, table)
            definitions.record(connection, row.id, new, by=self.lake.user)

        self.lake.store.transact(record)

    def record_view(self, table: Identifier, view: View) -> None:
        self.record(table, [NewDefinition(VIEW, "", view.record())])

    def record_columns(self, table: Identifier, branch: str | None, new: Mapping[str, computed.Definition]) -> None:
        of_branch = branch_of(branch)
        rows = [NewDefinition(COLUMN, name, computed.record(column), of_branch) for name, column in new.items()]
        self.record(table, rows)

    def rename(self, table: Identifier, request: AlterTableAlterColumnsRequest) -> None:
        """Follow columns to their new names."""
        paths = {fields.parse(entry.path): entry.rename for entry in request.alterations if entry.rename}
        names = {path[0]: str(name) for path, name in paths.items() if len(path) == 1}
        branch = branch_of(request.branch)

        def rename(connection: Connection) -> None:
            row = lookups.lock(connection, self.lake.catalog.id, table)
            definitions.rename(connection, row.id, branch, names, by=self.lake.user)

        if names:
            self.lake.store.transact(rename)

    def remove(self, table: Identifier, branch: str | None, columns: Sequence[str] | None = None) -> None:
        """Delete the definitions of columns that are gone; without any, all of a branch, the view's too."""
        of_branch = branch_of(branch)
        row = self.lake.store.read(lookups.find, self.lake.catalog.id, table)
        self.lake.store.transact(definitions.remove, row.id, of_branch, columns, by=self.lake.user)

    # -- on demand -------------------------------------------------------------------------------

    def adopt(self, table: Identifier) -> Sequence[Definition]:
        """Make the definitions in a table's metadata that have no row the user's own, and return them."""
        row = self._adopted(table)
        before = {_key(each) for each in self.lake.store.read(definitions.of_table, row.id)}
        branches = [branch for branch in self.lake.store.read(versions.branches, row.id) if branch != MAIN]
        found = Adoption(self.lake).stored_definitions(row, branches)
        self.lake.store.transact(definitions.adopt, row.id, found, by=self.lake.user)
        after = self.lake.store.read(definitions.of_table, row.id)
        return [each for each in after if _key(each) not in before]

    def drop(self, table: Identifier, column: str | None, branch: str | None) -> None:
        """Delete the definition of a column, or without one that of the view. Raises InvalidInputError."""
        key = (branch_of(branch), VIEW if column is None else COLUMN, column or "")
        row = self._adopted(table)
        if key not in {_key(each) for each in self.lake.store.read(definitions.of_table, row.id)}:
            what = f"The column {column!r} of {table}" if column is not None else f"The table {table}"
            raise InvalidInputError(f"{what} has no definition. Those there are: lanceway tables definitions list")
        self.lake.store.transact(definitions.drop, row.id, *key, by=self.lake.user)


def _key(each: Definition) -> tuple[str, str, str]:
    return each.branch, each.kind, each.name
