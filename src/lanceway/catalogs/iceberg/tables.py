"""The Lance tables of an Iceberg REST catalog: each has a companion there, an Iceberg table at the same location.

The companion has a schema that means nothing; its properties say that the table is a Lance table, and
its location where. Iceberg keeps its own files in the folder `metadata` there, which Lance does not look into.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lance_namespace import CreateTableRequest, CreateTableResponse

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.iceberg.lookup import CLAIM, IcebergLookup, check_table
from lanceway.catalogs.iceberg.names import default_location
from lanceway.catalogs.iceberg.storage import own_options
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.storage import options, own_files
from lanceway.tables.storage.store import local_path, open_store
from lanceway.wire import iceberg
from lanceway.wire.iceberg import LoadedTable
from lanceway.wire.retries import Repeat

if TYPE_CHECKING:
    import pyarrow as pa

# What Iceberg calls its folder.
_METADATA = "metadata"


class IcebergTables(IcebergLookup):
    """Tables, declared by their companions."""

    # -- claiming --------------------------------------------------------------------------------

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        check_table(table)
        place = location or default_location(self._settings["root"], table)
        return self._entry(self._companion(table, place, properties))

    def _companion(self, table: Identifier, location: str, properties: Mapping[str, str]) -> LoadedTable:
        """Make a table's companion. Its claim tells whether it is ours: not every server refuses a name that is taken,
        and after an answer that was lost it is there already."""
        options.for_table(location, self._settings["storage"], own_options(properties))
        warehouse, names = self._inside(table.parent)
        claim = uuid.uuid4().hex
        body = iceberg.create_table_body(table.name, location, {**properties, CLAIM: claim})
        what = f"Declaring the table {table}"
        try:
            answer = self._ask_twice(
                warehouse, "create_table", what, names, body=body, headers=self._delegation, repeat=Repeat.SAFE
            )
            made = iceberg.read_table(answer)
        except NamespaceNotFoundError as error:
            self._need_namespace(table.parent)
            raise ConcurrentModificationError(
                f"{table} cannot be created: its namespace is there, but the server did not find what it had made. "
                "Somebody may have dropped it at that moment; try again."
            ) from error
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            made = self._lost_and_found(table, error)
        if made.properties.get(CLAIM) != claim:
            raise TableAlreadyExistsError(f"{table} cannot be created: a table has this name already.")
        return made

    def _lost_and_found(self, table: Identifier, error: Exception) -> LoadedTable:
        try:
            return self._load(table, to_read=True)
        except (ServiceUnavailableError, TableNotFoundError):
            raise error from None

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: CreateTableRequest, data: pa.RecordBatchReader
    ) -> CreateTableResponse:
        try:
            return super()._write_first(table, entry, request, data)
        except ConcurrentModificationError as error:
            if not self._holds(table, entry) or not self._has_data(table, entry):
                raise
            raise ConcurrentModificationError(
                f"{table} cannot be created: at {entry.location} lies a Lance table already, of which the catalog does "
                "not know. It was deregistered, or is being dropped. Register it, declare the new one elsewhere, or "
                "delete what is there."
            ) from error

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        try:
            return self._load(table).uuid == entry.claim
        except (NamespaceNotFoundError, TableNotFoundError):
            return False

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        loaded = self._load(table)
        if loaded.uuid == entry.claim:
            self._forget(table)
            open_store(entry.location, entry.storage_options).delete(*_metadata_keys(loaded))

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        check_table(table)
        self._need_namespace(table.parent)
        if not dataset.has_data(dataset.Table(str(table), location, self._settings["storage"] or None)):
            raise InvalidInputError(f"{table} cannot be registered at {location}: there is no Lance table.")
        try:
            entry = self._entry(self._companion(table, location, properties))
        except TableAlreadyExistsError:
            if not replace:
                raise
            return self._replaced(table, location, properties)
        if not _is_at(entry, location):
            self._withdraw(table, entry)
            raise _moved(table, location, entry)
        return entry

    def _replaced(self, table: Identifier, location: str, properties: Mapping[str, str]) -> TableEntry:
        """Point the companion that is there to another table, in one commit."""
        options.for_table(location, self._settings["storage"], own_options(properties))
        warehouse, names = self._inside(table.parent)
        body = iceberg.replace_body(self._found(table), location, properties)
        self._ask(warehouse, "commit_table", f"Registering the table {table}", names, table.name, body=body)
        entry = self._find_table(table)
        if not _is_at(entry, location):
            raise _moved(table, location, entry)
        return entry

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> TableEntry:
        loaded = self._found(table)
        had_data = self._has_data_at(table, loaded)
        self._forget(table)
        if had_data and self._has_data_at(table, loaded) is False:
            raise InternalError(
                f"{table} is deregistered, but its data at {loaded.location} is gone: the server deleted it, although "
                "it was told to keep it. Do not deregister tables there."
            )
        return self._without_storage(loaded)

    def _has_data_at(self, table: Identifier, loaded: LoadedTable) -> bool | None:
        try:
            return self._has_data(table, self._entry(loaded))
        except InvalidInputError:  # the table's own storage options are such that nobody may follow them
            return None

    def _has_data(self, table: Identifier, entry: TableEntry) -> bool | None:
        """Whether there is data; None if storage does not say: one may tidy up a catalog without access to it."""
        try:
            return dataset.has_data(self._handle(table, entry))
        except LanceNamespaceError:
            return None

    def _forget(self, table: Identifier) -> None:
        """Take a table that was there a moment ago out of the catalog; its data stays."""
        warehouse, names = self._inside(table.parent)
        what = f"Deregistering the table {table}"
        try:
            if warehouse.config.has("unregister_table"):
                self._ask(warehouse, "unregister_table", what, names, table.name, body={})
            else:
                # Said although it is the default: there are servers where it is not.
                self._ask(warehouse, "drop_table", what, names, table.name, query=[(iceberg.PURGE, "false")])
        except ServiceUnavailableError:
            if self._is_there(table):
                raise

    def _drop_table(self, table: Identifier) -> TableEntry:
        loaded = self._found(table)
        entry = self._entry(loaded)
        store = open_store(entry.location, entry.storage_options)
        before = list(own_files.own(store))
        self._forget(table)
        # What came since is the table's too, unless somebody has given its name to a new one.
        after = list(own_files.own(store))
        # A new companion's file is written before it has the name, so that of those only the old ones are deleted.
        store.delete(*(before if self._is_there(table) else (*after, *_metadata_keys(loaded))))
        return entry

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        check_table(target)
        self._found(table)
        if table[0] != target[0]:
            raise InvalidInputError(f"{table} cannot move to another warehouse, {target[0]!r}. Copy its data instead.")
        self._need_namespace(target.parent)
        warehouse, _ = self._inside(table.parent)
        body = iceberg.rename_body(Identifier(table[1:]), Identifier(target[1:]))
        self._ask(warehouse, "rename_table", f"Renaming the table {table} to {target}", body=body)


def _metadata_keys(loaded: LoadedTable) -> Iterator[str]:
    """The files that the companion has at its location."""
    for file in loaded.metadata_files:
        folder, _, name = file.rpartition("/")
        if folder.endswith(f"/{_METADATA}"):
            yield f"{_METADATA}/{name}"
            if local_path(loaded.location):  # Hadoop keeps a checksum beside each file
                yield f"{_METADATA}/.{name}.crc"


def _is_at(entry: TableEntry, location: str) -> bool:
    return entry.location.rstrip("/") == location.rstrip("/")


def _moved(table: Identifier, location: str, entry: TableEntry) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{table} cannot be registered at {location}: the server chooses where tables lie, and chose {entry.location}. "
        "Create the table, and copy the data into it."
    )
