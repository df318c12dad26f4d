"""Names in Unity Catalog for tables that are there: given, changed, and carried over to another name.

Unity cannot change a table's row. A new one is made instead, with what follows if that fails half-way said here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from lanceway.catalogs.unity import columns as unity_columns
from lanceway.catalogs.unity.lookup import CLAIM, Columns, UnityEntry
from lanceway.catalogs.unity.names import absolute
from lanceway.catalogs.unity.tables import UnityTables, check_own
from lanceway.errors import InvalidInputError, LanceNamespaceError, TableAlreadyExistsError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.wire.unity import TableInfo


class UnityRegistration(UnityTables):
    """Registering and renaming tables."""

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> UnityEntry:
        self._check_new_table(table)
        check_own(table, properties)
        where = absolute(location)
        self._need_schema(table.parent)
        columns = self._columns_at(table, where)
        wanted = {**properties, CLAIM: uuid.uuid4().hex}
        try:
            return self._entry(self._created_row(table, where, wanted, columns))
        except TableAlreadyExistsError:
            if not replace:
                raise
        return self._replaced(table, where, wanted, columns)

    def _columns_at(self, table: Identifier, location: str) -> Columns:
        """What lies at a location, as columns. Raises InvalidInputError where no Lance table lies."""
        handle = Table(str(table), location, self._settings["storage"] or None)
        if not dataset.has_data(handle):
            raise InvalidInputError(
                f"{table} cannot be registered at {location}: there is no Lance table. Declare it to have one there."
            )
        return unity_columns.written(dataset.open_at(handle).schema)

    def _replaced(
        self, table: Identifier, location: str, properties: Mapping[str, str], columns: Columns
    ) -> UnityEntry:
        """Delete the row and make another; the old one is put back if that fails. For a moment there is neither."""
        old = self._found(table)
        self._forget(table, self._entry(old))
        try:
            return self._entry(self._created_row(table, location, properties, columns))
        except LanceNamespaceError:
            self._put_back(table, old)
            raise

    def _put_back(self, table: Identifier, old: TableInfo) -> None:
        claimed = {CLAIM: uuid.uuid4().hex, **old.properties}
        try:
            self._created_row(table, old.location, claimed, old.columns)
        except TableAlreadyExistsError:
            return  # somebody has taken the name meanwhile

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        """The new name is made first, so that the table has one at every moment."""
        self._check_new_table(target)
        old = self._found(table)
        self._created_row(target, old.location, {**old.properties, CLAIM: uuid.uuid4().hex}, old.columns)
        try:
            self._ask("delete_table", f"Renaming the table {table}", table)
        except TableNotFoundError:
            self._ask("delete_table", f"Renaming the table {table}", target)
            raise
        except LanceNamespaceError:
            # The old name may be gone all the same. If it is, the new one is the only one there is.
            if self._holds(table, self._entry(old)):
                self._ask("delete_table", f"Renaming the table {table}", target)
                raise
