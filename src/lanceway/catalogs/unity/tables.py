"""Lance tables in Unity Catalog: external tables whose properties say that they are Lance."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.unity import columns as unity_columns
from lanceway.catalogs.unity.lookup import CLAIM, Columns, UnityEntry, UnityLookup, check_table, claim_of, no_schema
from lanceway.catalogs.unity.names import absolute, check_new, is_own_place, place
from lanceway.catalogs.unity.namespaces import check_properties
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store
from lanceway.wire import unity
from lanceway.wire.retries import Repeat
from lanceway.wire.unity import TableInfo

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)


class UnityTables(UnityLookup):
    """Declaring and forgetting tables."""

    # -- claiming --------------------------------------------------------------------------------

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> UnityEntry:
        return self._claimed(table, location, properties, ())

    def _declare_first(self, table: Identifier, properties: Mapping[str, str], schema: pa.Schema) -> UnityEntry:
        return self._claimed(table, None, properties, unity_columns.written(schema))

    def _claimed(
        self, table: Identifier, location: str | None, properties: Mapping[str, str], columns: Columns
    ) -> UnityEntry:
        self._check_new_table(table)
        check_own(table, properties)
        claim = uuid.uuid4().hex
        where = absolute(location) if location else place(self._settings["root"], table, claim)
        made = self._created_row(table, where, {**properties, CLAIM: claim}, columns)
        try:
            return self._reachable(made)
        except LanceNamespaceError:  # a table that cannot be reached is not left behind
            self._forget(table, self._entry(made))
            raise

    def _check_new_table(self, table: Identifier) -> None:
        check_table(table)
        check_new(table)
        self._check_known(table.parent)

    def _created_row(
        self, table: Identifier, location: str, properties: Mapping[str, str], columns: Columns
    ) -> TableInfo:
        """Make a table's row. Columns are there to be looked at: they never keep a table from being made."""
        try:
            return self._posted(table, location, properties, columns)
        except (InvalidInputError, InternalError) as error:
            if not columns:
                raise
            _LOG.warning("Unity does not take the columns of %s: %s", table, error)
            return self._posted(table, location, properties, ())

    def _posted(self, table: Identifier, location: str, properties: Mapping[str, str], columns: Columns) -> TableInfo:
        body = unity.create_table_body(table, location, properties, columns)
        try:
            # Safe to send again: the claim tells whether what is there then is ours.
            answer = self._ask("create_table", f"Declaring the table {table}", body=body, repeat=Repeat.SAFE)
            return unity.read_table(answer)
        except NamespaceNotFoundError as error:
            raise no_schema(table.parent) from error
        except InternalError as error:
            check_properties(table, properties, error)
            raise
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            return self._lost_and_found(table, properties[CLAIM], error)

    def _lost_and_found(self, table: Identifier, claim: str, error: LanceNamespaceError) -> TableInfo:
        """The row that was made although its answer did not arrive."""
        try:
            info = self._found(table)
        except (InvalidInputError, NamespaceNotFoundError, ServiceUnavailableError, TableNotFoundError):
            raise error from None
        if claim_of(info) == claim:
            return info
        if isinstance(error, TableAlreadyExistsError):
            raise error
        raise TableAlreadyExistsError(f"{table} cannot be created: a table has this name already.") from error

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        try:
            found = self._entry(self._found(table))
        except (InvalidInputError, NamespaceNotFoundError, TableNotFoundError):
            return False
        return (found.claim, found.location) == (entry.claim, entry.location)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            if self._holds(table, entry) and self._is_declared_only(table, entry):
                self._forget(table, entry)

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        if is_own_place(entry.location, entry.claim):
            self._remove(entry)

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> UnityEntry:
        entry = self._entry(self._found(table))
        self._forget(table, entry)
        return entry

    def _forget(self, table: Identifier, entry: TableEntry) -> None:
        """Take a table that was there a moment ago out of the catalog. Unity keeps an external table's data."""
        try:
            self._ask("delete_table", f"Deregistering the table {table}", table)
        except ServiceUnavailableError:
            if self._holds(table, entry):
                raise

    def _drop_table(self, table: Identifier) -> UnityEntry:
        entry = self._find_table(table)
        self._forget(table, entry)
        try:
            self._remove(entry)
        except LanceNamespaceError as error:
            raise type(error)(
                f"{table} is gone from Unity, but its data is still at {entry.location}: {error} Delete it there once "
                "the cause is mended."
            ) from error
        return entry

    def _remove(self, entry: TableEntry) -> None:
        """Delete what Lance has made. Anybody may choose a location, and other things may lie there."""
        own_files.remove(open_store(entry.location, entry.storage_options))


def check_own(table: Identifier, properties: Mapping[str, str]) -> None:
    """Refuse properties by which Lance tables are told."""
    if properties.get(unity.TABLE_TYPE, unity.LANCE).lower() != unity.LANCE or CLAIM in properties:
        name = CLAIM if CLAIM in properties else unity.TABLE_TYPE
        raise InvalidInputError(
            f"{table} cannot have the property {name} with a value of its own: it is how Lance tables are told in "
            "Unity. Leave it out."
        )
