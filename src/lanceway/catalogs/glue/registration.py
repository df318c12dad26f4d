"""Names in Glue for tables that are there: given, changed, and carried over to another name."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.glue import columns as glue_columns
from lanceway.catalogs.glue import names
from lanceway.catalogs.glue.client import Answer
from lanceway.catalogs.glue.tables import CLAIM, GlueTables, absolute, new_row
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table

# How often a row is read again because somebody else was faster to change it.
_ATTEMPTS = 5


class GlueRegistration(GlueTables):
    """Registering and renaming tables, and changing their rows."""

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        table = self._new(table)
        made = new_row(table, absolute(table, location), properties, uuid.uuid4().hex)
        self._take_columns(table, made)
        try:
            return self._create(table, made)
        except TableAlreadyExistsError:
            if not replace:
                raise
        self._update(table, lambda row: made)
        return self._entry(made)

    def _take_columns(self, table: Identifier, made: dict[str, Any]) -> None:
        """Show what lies at a location as columns. Raises InvalidInputError where no Lance table lies."""
        entry = self._entry(made)
        handle = Table(str(table), entry.location, entry.storage_options)
        if not dataset.has_data(handle):
            raise InvalidInputError(
                f"{table} cannot be registered at {entry.location}: there is no Lance table. Declare it to have "
                "one there."
            )
        columns, rest = glue_columns.written(dataset.open_at(handle).schema)
        made["StorageDescriptor"]["Columns"] = columns
        made["Parameters"] |= rest

    def _update(self, table: Identifier, change: Callable[[Answer], dict[str, Any] | None]) -> None:
        """Change a table's row, unless somebody else has changed it since it was read; then it is read again."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            row = self._row(table)
            made = change(row)
            if made is None:
                return
            version = {"VersionId": row["VersionId"]} if row.get("VersionId") else {}
            try:
                self._glue.call(
                    "UpdateTable",
                    f"{table} cannot be changed",
                    missing=TableNotFoundError,
                    taken=TableAlreadyExistsError,
                    TableInput=made,
                    SkipArchive=True,
                    **version,
                    **self._inside(table),
                )
            except ConcurrentModificationError:
                if not attempts_left:
                    raise
            else:
                return

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        """Glue cannot rename. The new name is made first, so that the table has one at every moment."""
        table, target = names.folded(table), self._new(target)
        row = self._row(table)
        made = self._glue.writable(row)
        made |= {"Name": target.name, "Parameters": {**row["Parameters"], CLAIM: uuid.uuid4().hex}}
        self._create(target, made)
        try:
            self._delete(table)
        except TableNotFoundError:
            self._delete(target)
            raise
        except LanceNamespaceError:
            # The old name may be gone all the same. If it is, the new one is the only one there is.
            if self._is_there(table):
                self._delete(target)
                raise

    def _is_there(self, table: Identifier) -> bool:
        try:
            self._row(table)
        except TableNotFoundError:
            return False
        return True
