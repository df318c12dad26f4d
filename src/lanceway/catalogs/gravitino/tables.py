"""The Lance tables of a Gravitino server: rows of the format lance, which are external so that their data is ours."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.gravitino import messages
from lanceway.catalogs.gravitino.belongings import BelongingsKeeper
from lanceway.catalogs.gravitino.client import GravitinoClient
from lanceway.catalogs.gravitino.messages import GravitinoObject
from lanceway.catalogs.gravitino.names import CATALOG_LEVEL, check, check_new, check_table, default_location
from lanceway.catalogs.gravitino.namespaces import GravitinoNamespaces
from lanceway.catalogs.gravitino.settings import GravitinoSettings
from lanceway.catalogs.metastore.http import absolute_path
from lanceway.catalogs.metastore.lists import tables_among
from lanceway.catalogs.metastore.tables import CLAIM, NewTable, find_created, rename_by_copy, require_data
from lanceway.errors import (
    InternalError,
    InvalidInputError,
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
from lanceway.wire.errors import Repeat

# Jobs may ask for versions in storage, as this catalog always does, so that such a property is not refused.
_HIDDEN = (CLAIM, messages.VERSIONING, *messages.OWN)


class GravitinoTables:
    """The tables of a metalake."""

    name = "Gravitino"
    reserved = (CLAIM, *messages.OWN)

    def __init__(self, client: GravitinoClient, namespaces: GravitinoNamespaces, settings: GravitinoSettings) -> None:
        self._client = client
        self._namespaces = namespaces
        self._settings = settings
        self._belongings = BelongingsKeeper(client)

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> GravitinoObject:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""
        row = self.peek(table)
        if not row.is_lance:
            raise InvalidInputError(
                f"{table} is not a Lance table: in Gravitino its property {messages.FORMAT!r} is not "
                f"{messages.LANCE!r}, or it has no location. Use a client for tables of its format."
            )
        return row

    def peek(self, table: Identifier) -> GravitinoObject:
        """Return a table, Lance or not. Raises TableNotFoundError, NamespaceNotFoundError."""
        check_table(table)
        try:
            answer = self._client.ask("load_table", f"Looking for the table {table}", table)
        except TableNotFoundError as error:
            self._namespaces.require(table.parent)  # servers say the same of a schema that is missing
            raise table_not_found(f"There is no table {table}.") from error
        except NamespaceNotFoundError as error:
            self._namespaces.require(table.parent)
            raise table_not_found(f"There is no table {table}.") from error
        return _read(answer, table)

    def children(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """Return the first `limit` names of Lance tables after `after`, in code point order."""
        check(namespace)
        if namespace.depth <= CATALOG_LEVEL:
            if namespace:
                self._namespaces.require(namespace)
            return []  # a table needs a schema

        def is_listed(name: str) -> bool:
            table = namespace.child(name)
            try:
                row = self.peek(table)
            except (NamespaceNotFoundError, TableNotFoundError):  # dropped since it was listed
                return False
            return row.is_lance and (include_declared or self._has_data(table, row))

        return tables_among(self._namespaces.tables(namespace), after, limit, self._settings.concurrency, is_listed)

    def _has_data(self, table: Identifier, row: GravitinoObject) -> bool:
        entry = self.reach(row)
        return dataset.has_data(StoredTable(str(table), entry.location, entry.storage_options))

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, row: GravitinoObject) -> str | None:
        return row.properties.get(CLAIM)

    def describe(self, row: GravitinoObject) -> TableEntry:
        """Return the entry of a table without storage options."""
        return TableEntry(row.location, None, row.public(_HIDDEN), claim=self.claim_of(row))

    def entry(self, row: GravitinoObject) -> TableEntry:
        """Return the entry of a table. Raises InvalidInputError for storage options that properties must not set."""
        combined = options.for_table(row.location, self._settings.storage, row.storage)
        return replace(self.describe(row), storage_options=combined or None)

    def reach(self, row: GravitinoObject) -> TableEntry:
        """Return the entry of a table with what Gravitino keeps for its catalog, if the settings ask for it."""
        combined = options.for_table(row.location, self._catalog_storage(row.catalog), row.storage)
        return replace(self.describe(row), storage_options=combined or None)

    def _catalog_storage(self, catalog: str) -> Mapping[str, str]:
        """Return the storage options of a catalog: what the settings say comes before what Gravitino keeps."""
        kept = self._namespaces.storage(catalog) if self._settings.vended_credentials else {}
        return {**kept, **self._settings.storage}

    def details(self, table: Identifier) -> ObjectDetails:
        """Return what Gravitino records of a table."""
        row = self.load(table)
        return ObjectDetails(
            {key: value for key, value in row.public(_HIDDEN).items() if key != messages.COMMENT},
            row.comment,
            row.created_by,
            row.created_at,
            row.changed_by,
            row.changed_at,
            row.location,
        )

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        check_table(table)
        check_new(table)
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the given location as a URI, or a new folder below the root; empty where Gravitino chooses."""
        if location:
            return dataset.uri(absolute_path(location))
        return default_location(self._settings.root, table, claim) if self._settings.root else ""

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Return the options. Raises InvalidInputError for those that properties must not set."""
        own = GravitinoObject("", properties).storage
        return options.for_table(location, self._settings.storage, own)

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> None:
        """Raise InvalidInputError where no Lance table is."""
        self._namespaces.require(table.parent)
        require_data(table, location, self._catalog_storage(table[0]))

    def create(self, table: Identifier, new: NewTable) -> GravitinoObject:
        """Make a row. Its claim shows whether it is ours after a response that was lost."""
        try:
            return self._post(table, new)
        except NamespaceNotFoundError:
            self._namespaces.require(table.parent)
            raise
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            return find_created(self, table, new.claim, error)

    def _post(self, table: Identifier, new: NewTable, mode: str = "") -> GravitinoObject:
        flag = messages.REGISTER if new.registered else messages.DECLARED
        properties = {**new.properties, CLAIM: new.claim}
        body = messages.table_body(table.name, new.location, properties, flag, mode)
        what = f"{'Registering' if new.registered else 'Declaring'} the table {table}"
        repeat = None if mode else Repeat.SAFE
        return _read(self._client.ask("create_table", what, table.parent, body=body, repeat=repeat), table)

    def replace(self, table: Identifier, new: NewTable) -> GravitinoObject:
        """Put another row in the place of the one that has the name, with its owner and its tags."""
        self.refuse_managed(table, self.load(table), "replaced")
        before = self._belongings.look(table)
        row = self._post(table, new, "OVERWRITE")
        self._belongings.give(table, before)
        return row

    def refuse_managed(self, table: Identifier, row: GravitinoObject, verb: str) -> None:
        """Raise UnsupportedOperationError for a table whose data Gravitino deletes with its row."""
        if not row.is_external:
            raise UnsupportedOperationError(
                f"{table} cannot be {verb} and keep its data: in Gravitino it is not external, so that its data is "
                "deleted with its row. Drop it, or copy its data into a new table."
            )

    # -- changes ---------------------------------------------------------------------------------

    def alter_properties(self, table: Identifier, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a table, None for one that is taken away, and return all it has then."""
        self.load(table)
        own = next((key for key in _HIDDEN if key in changes), None)
        if own is not None:
            raise InvalidInputError(f"The property {own!r} of {table} cannot be changed. Leave it out.")
        what, body = f"Changing the properties of {table}", messages.changes_body(changes)
        answer = self._client.ask("alter_table", what, table, body=body)
        return _read(answer, table).public(_HIDDEN)

    def rename(self, table: Identifier, target: Identifier) -> None:
        """Rename a table. Where the server cannot, a new row takes its place, with its owner and its tags."""
        target = self.check_new(target)
        row = self.load(table)
        self._namespaces.require(target.parent)
        if table[0] == target[0]:
            schema = None if table.parent == target.parent else self._client.logical(target.parent)
            body = messages.rename_body(target.name, schema)
            try:
                self._client.ask("alter_table", f"Renaming the table {table} to {target}", table, body=body)
                return
            except (InternalError, InvalidInputError, UnsupportedOperationError):
                if self._is_elsewhere(table, target, row):
                    return
        self.refuse_managed(table, row, "renamed")
        before = self._belongings.look(table)
        rename_by_copy(self, table, target)
        self._belongings.give(target, before)

    def _is_elsewhere(self, table: Identifier, target: Identifier, row: GravitinoObject) -> bool:
        """Return whether a rename that failed was carried out all the same."""
        try:
            return self.claim_of(self.peek(target)) == self.claim_of(row) is not None
        except (NamespaceNotFoundError, TableNotFoundError):
            return False

    def copy(self, row: GravitinoObject, target: Identifier) -> GravitinoObject:
        properties = {**row.public(_HIDDEN), **_prefixed(row.storage)}
        return self.create(target, NewTable(row.location, properties, uuid.uuid4().hex, registered=True))

    def delete(self, table: Identifier, row: GravitinoObject) -> None:
        """Take a table that was there a moment ago out of the catalog."""
        try:
            answer = self._client.ask(
                "drop_table", f"Deregistering the table {table}", table, query=[("purge", "false")]
            )
        except ServiceUnavailableError:
            if self._is_there(table, row):  # or the response got lost, and the row is deleted
                raise
            return
        if not messages.read_dropped(answer):
            raise table_not_found(f"There is no table {table}.")

    def _is_there(self, table: Identifier, row: GravitinoObject) -> bool:
        try:
            current = self.peek(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return (self.claim_of(current), current.location) == (self.claim_of(row), row.location)


def _read(answer: object, table: Identifier) -> GravitinoObject:
    return replace(messages.read_object(answer, "table"), catalog=table[0])


def _prefixed(storage: Mapping[str, str]) -> dict[str, str]:
    return {f"{messages.STORAGE}{key}": value for key, value in storage.items()}
