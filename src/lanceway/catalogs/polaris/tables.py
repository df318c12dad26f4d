"""The Lance tables of Polaris or Lakekeeper: generic tables of the format lance.

A generic table cannot be changed. A new row is made instead, and the old one put back if that fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.metastore.http import absolute_path
from lanceway.catalogs.metastore.iceberg.names import check_table
from lanceway.catalogs.metastore.iceberg.namespaces import IcebergNamespaces
from lanceway.catalogs.metastore.iceberg.storage import options_of, own_options, public
from lanceway.catalogs.metastore.lists import tables_among
from lanceway.catalogs.metastore.tables import CLAIM, NewTable, find_created, rename_by_copy, require_data
from lanceway.catalogs.polaris import names
from lanceway.catalogs.polaris.client import GenericTablesClient
from lanceway.catalogs.polaris.settings import PolarisSettings
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import options
from lanceway.wire import generic_tables, iceberg
from lanceway.wire.errors import Repeat
from lanceway.wire.generic_tables import COMMENT, GenericTable

_LOCATION = "location"  # of a namespace, among its properties


class PolarisTables:
    """The Lance tables of a server."""

    reserved = (CLAIM,)

    def __init__(self, client: GenericTablesClient, namespaces: IcebergNamespaces, settings: PolarisSettings) -> None:
        self._client = client
        self._namespaces = namespaces
        self._settings = settings
        self._dialect = settings.dialect

    @property
    def name(self) -> str:
        return self._dialect.name.capitalize()

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> GenericTable:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""
        row = self._load(table, self._delegation)
        if not row.is_lance:
            raise InvalidInputError(
                f"{table} is not a Lance table: it is a generic table of the format {row.format!r}, or has no "
                "location. Use a client for its format."
            )
        return row

    def peek(self, table: Identifier) -> GenericTable:
        return self._load(table)

    def _load(self, table: Identifier, headers: Mapping[str, str] | None = None) -> GenericTable:
        check_table(table)
        try:
            answer = self._client.ask(
                "load_generic_table", f"Loading the table {table}", table.parent, table.name, headers=headers
            )
        except (NamespaceNotFoundError, TableNotFoundError) as error:
            self._namespaces.require(table.parent)  # servers say the same of a namespace that is missing
            raise table_not_found(f"There is no table {table}.") from error
        return generic_tables.read_table(answer)

    @property
    def _delegation(self) -> Mapping[str, str]:
        """Return headers that ask for credentials, if set so: some servers let fewer have a table with them."""
        return {iceberg.DELEGATION: iceberg.VENDED} if self._settings.iceberg.vended_credentials else {}

    def children(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """Return the first `limit` names of Lance tables after `after`, in code point order."""
        if namespace.is_root:
            self._namespaces.configured_warehouse()
            return []
        if namespace.depth == 1:
            self._namespaces.properties(namespace)
            return []  # a table needs a namespace
        formats = self._client.names(namespace)
        if not formats:
            self._namespaces.require(namespace)  # some servers answer nothing for a namespace that is missing

        def is_listed(name: str) -> bool:
            format_ = formats[name]
            if format_ is not None and (include_declared or format_.lower() != generic_tables.LANCE):
                return format_.lower() == generic_tables.LANCE
            return self._is_listed(namespace.child(name), include_declared)

        return tables_among(formats, after, limit, self._settings.iceberg.concurrency, is_listed)

    def _is_listed(self, table: Identifier, include_declared: bool) -> bool:
        try:
            row = self._load(table, None if include_declared else self._delegation)
        except (NamespaceNotFoundError, TableNotFoundError):  # dropped since it was listed
            return False
        return row.is_lance and (include_declared or dataset.has_data(self._handle(table, row)))

    def _handle(self, table: Identifier, row: GenericTable) -> StoredTable:
        entry = self.entry(row)
        return StoredTable(str(table), entry.location, entry.storage_options)

    def any_in(self, namespace: Identifier) -> str | None:
        """Return the name of a generic table in a namespace, of whatever format, None if there is none."""
        return next(iter(sorted(self._client.names(namespace))), None)

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, row: GenericTable) -> str | None:
        return row.loaded.properties.get(CLAIM)

    def describe(self, row: GenericTable) -> TableEntry:
        """Return the entry of a table without storage options."""
        properties = {key: value for key, value in public(row.loaded.properties).items() if key != CLAIM}
        if row.comment is not None:
            properties[COMMENT] = row.comment
        return TableEntry(row.loaded.location, None, properties, claim=self.claim_of(row))

    def entry(self, row: GenericTable) -> TableEntry:
        """Return the entry of a table. Raises InvalidInputError for storage options that properties must not set."""
        settings = self._settings.iceberg
        combined = options_of(row.loaded, settings.storage, vended=settings.vended_credentials)
        return replace(self.describe(row), storage_options=combined)

    reach = entry

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        check_table(table)
        names.check_new(table, self._dialect)
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the given location as a URI, or a new folder; empty where the service chooses."""
        if location:
            return dataset.uri(absolute_path(location))
        if self._settings.root:
            return names.new_location(self._settings.root, table, claim)
        if self._dialect.chooses_location:
            return ""
        above = self._namespaces.properties(table.parent).get(_LOCATION)
        if not above:
            raise InvalidInputError(
                f"{table} has no location by default: its namespace has none either. Set root, or declare the table "
                "with a location."
            )
        return names.location_inside(above, table, claim)

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Return the options. Raises InvalidInputError for those that properties must not set."""
        return options.for_table(location, self._settings.iceberg.storage, own_options(properties))

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> None:
        """Raise InvalidInputError where no Lance table is."""
        self._namespaces.require(table.parent)
        require_data(table, location, self._settings.iceberg.storage)

    def create(self, table: Identifier, new: NewTable) -> GenericTable:
        """Make a row. Its claim shows whether it is ours after a response that was lost."""
        return self._create(table, new.location, {**new.properties, CLAIM: new.claim})

    def _create(self, table: Identifier, location: str, properties: Mapping[str, str]) -> GenericTable:
        body = generic_tables.create_body(table.name, location, properties)
        what, headers = f"Declaring the table {table}", self._delegation
        try:
            answer = self._client.ask(
                "create_generic_table", what, table.parent, body=body, headers=headers, repeat=Repeat.SAFE
            )
            row = generic_tables.read_table(answer)
        except NamespaceNotFoundError:
            self._namespaces.require(table.parent)
            raise
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            row = find_created(self, table, properties[CLAIM], error)
        # The answer to a creation brings no credentials.
        return self._load(table, headers) if headers and not row.loaded.credentials else row

    def replace(self, table: Identifier, new: NewTable) -> GenericTable:
        """Delete the row and make another; the old one is put back if that fails. For a moment there is neither."""
        old = self.load(table)
        if not self._dialect.takes_data:  # and so would not take the old one back
            raise UnsupportedOperationError(
                f"{table} cannot be replaced: {self.name} takes empty locations alone, so that no table that is there "
                "can be registered. Make a new table, and copy the data into it."
            )
        self.delete(table, old)
        try:
            return self.create(table, new)
        except LanceNamespaceError:
            with suppress(TableAlreadyExistsError):  # another client has taken the name in between
                self._create(table, old.loaded.location, {CLAIM: uuid.uuid4().hex, **_given(old)})
            raise

    # -- changes ---------------------------------------------------------------------------------

    def rename(self, table: Identifier, target: Identifier) -> None:
        """Rename a table inside its warehouse; where the service cannot, by a new row."""
        target = self.check_new(target)
        if table[0] != target[0]:
            raise InvalidInputError(f"{table} cannot move to another warehouse, {target[0]!r}. Copy its data instead.")
        self.load(table)
        self._namespaces.require(target.parent)
        if not self._dialect.renames:
            rename_by_copy(self, table, target)
            return
        body = generic_tables.rename_body(table.parent[1:], table.name, target.parent[1:], target.name)
        self._client.ask("rename_generic_table", f"Renaming the table {table} to {target}", table.parent, body=body)

    def copy(self, row: GenericTable, target: Identifier) -> GenericTable:
        return self._create(target, row.loaded.location, {**_given(row), CLAIM: uuid.uuid4().hex})

    def delete(self, table: Identifier, row: GenericTable) -> None:
        """Take a table that was there a moment ago out of the catalog; its data stays."""
        what = f"Deregistering the table {table}"
        try:
            self._client.ask("drop_generic_table", what, table.parent, table.name, query=self._dialect.drop_query)
        except ServiceUnavailableError:
            if self._is_there(table, row):  # or the response got lost, and the row is deleted
                raise

    def _is_there(self, table: Identifier, row: GenericTable) -> bool:
        try:
            current = self.peek(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return (self.claim_of(current), current.loaded.location) == (self.claim_of(row), row.loaded.location)


def _given(row: GenericTable) -> dict[str, str]:
    """Return the properties that a table was made with."""
    return {**row.loaded.properties, **({} if row.comment is None else {COMMENT: row.comment})}
