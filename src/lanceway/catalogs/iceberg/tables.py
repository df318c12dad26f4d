"""The Lance tables of an Iceberg REST catalog: each has a companion there, an Iceberg table at the same location.

The companion has a schema that means nothing; its properties say that the table is a Lance table, and
its location where. Iceberg keeps its own files in the folder `metadata` there, which Lance does not look into.
Storage options of a table come from the catalog's settings, the table's properties, and what the server vends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.metastore.iceberg.client import IcebergClient
from lanceway.catalogs.metastore.iceberg.names import check_table, default_location
from lanceway.catalogs.metastore.iceberg.namespaces import IcebergNamespaces
from lanceway.catalogs.metastore.iceberg.settings import IcebergSettings
from lanceway.catalogs.metastore.iceberg.storage import options_of, own_options, public
from lanceway.catalogs.metastore.lists import tables_among
from lanceway.catalogs.metastore.tables import CLAIM, NewTable, data_left_behind, find_created, require_data
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
    table_not_found,
)
from lanceway.identifiers import Identifier, check_visible
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import options, own_files
from lanceway.tables.storage.store import local_path, open_store
from lanceway.wire import iceberg
from lanceway.wire.errors import Repeat
from lanceway.wire.iceberg import LoadedTable

# What Iceberg calls its folder.
_METADATA = "metadata"


class IcebergTables:
    """The tables of a server, found and declared by their companions."""

    name = "Iceberg"
    reserved = (CLAIM,)

    def __init__(self, client: IcebergClient, namespaces: IcebergNamespaces, settings: IcebergSettings) -> None:
        self._client = client
        self._namespaces = namespaces
        self._settings = settings

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> LoadedTable:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""
        check_table(table)
        try:
            loaded = self._load(table, with_credentials=True)
        except TableNotFoundError as error:
            self._namespaces.require(table.parent)
            raise table_not_found(f"There is no table {table}.") from error
        if not loaded.is_lance:
            raise InvalidInputError(
                f"{table} is not a Lance table: its property {iceberg.TABLE_TYPE!r} is not {iceberg.LANCE!r}. Use a "
                "client for Iceberg tables."
            )
        return loaded

    def peek(self, table: Identifier) -> LoadedTable:
        return self._load(table)

    def _load(self, table: Identifier, *, with_credentials: bool = False) -> LoadedTable:
        """Return what the server knows of a table, Lance or not. Raises TableNotFoundError."""
        warehouse, names = self._client.resolve(table.parent)
        response = self._client.ask_twice(
            warehouse,
            "load_table",
            f"Loading the table {table}",
            names,
            table.name,
            query=[("snapshots", "refs")],
            headers=self._delegation if with_credentials else {},
        )
        return iceberg.read_table(response)

    @property
    def _delegation(self) -> Mapping[str, str]:
        """Return headers that ask for credentials, if set so: some servers let fewer have a table with them."""
        return {iceberg.DELEGATION: iceberg.VENDED} if self._settings.vended_credentials else {}

    def _is_there(self, table: Identifier) -> bool:
        try:
            self._load(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return True

    def children(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """Return the first `limit` names of Lance tables after `after`, in code point order."""
        if namespace.is_root:
            self._namespaces.configured_warehouse()
            return []
        warehouse, levels = self._client.resolve(namespace)
        if not levels:
            return []  # a table needs a namespace
        pages = self._client.pages(warehouse, "list_tables", f"Listing the tables in {namespace}", levels)
        names = {name for page in pages for parent, name in iceberg.read_tables(page) if parent == levels}
        if not names:
            self._namespaces.require(namespace)  # some servers answer nothing for a namespace that is missing

        def is_listed(name: str) -> bool:
            table = namespace.child(name)
            try:
                loaded = self._load(table, with_credentials=not include_declared)
            except TableNotFoundError:  # dropped since it was listed
                return False
            return loaded.is_lance and (include_declared or dataset.has_data(_handle(table, self.entry(loaded))))

        return tables_among(names, after, limit, self._settings.concurrency, is_listed)

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, loaded: LoadedTable) -> str | None:
        return loaded.properties.get(CLAIM)

    def describe(self, loaded: LoadedTable) -> TableEntry:
        """Return the entry of a table without storage options."""
        properties = {key: value for key, value in public(loaded.properties).items() if key != CLAIM}
        return TableEntry(loaded.location, None, properties, claim=loaded.uuid)

    def entry(self, loaded: LoadedTable) -> TableEntry:
        """Return the entry of a table. Raises InvalidInputError for storage options that properties must not set."""
        settings = self._settings
        combined = options_of(loaded, settings.storage, vended=settings.vended_credentials)
        return replace(self.describe(loaded), storage_options=combined)

    reach = entry

    def has_data(self, table: Identifier, loaded: LoadedTable) -> bool | None:
        """Return whether there is data, None if storage does not say: it need not be within reach to tidy a catalog."""
        try:
            return dataset.has_data(_handle(table, self.entry(loaded)))
        except LanceNamespaceError:
            return None

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        check_table(table)
        check_visible(table.name)
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        return location or default_location(self._settings.root, table)

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Return the options. Raises InvalidInputError for those that properties must not set."""
        return options.for_table(location, self._settings.storage, own_options(properties))

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> None:
        """Raise InvalidInputError where no Lance table is."""
        self._namespaces.require(table.parent)
        require_data(table, location, self._settings.storage)

    def create(self, table: Identifier, new: NewTable) -> LoadedTable:
        """Make a table's companion. Its claim tells whether it is ours: not every server refuses a name that is taken,
        and after a response that was lost it is there already."""
        self._check_options(new)
        warehouse, names = self._client.resolve(table.parent)
        if not new.registered:  # else `inspect` has looked
            self._namespaces.require(table.parent)  # some servers make orphans
        properties = {**new.properties, CLAIM: new.claim}
        try:
            response = self._client.ask_twice(
                warehouse,
                "create_table",
                f"Declaring the table {table}",
                names,
                body=iceberg.create_table_body(table.name, new.location, properties),
                headers=self._delegation,
                repeat=Repeat.SAFE,
            )
            loaded = iceberg.read_table(response)
        except NamespaceNotFoundError as error:
            self._namespaces.require(table.parent)
            raise ConcurrentModificationError(
                f"{table} cannot be created: its namespace is there, but the server did not find what it had made. "
                "Another client may have dropped it at that moment; try again."
            ) from error
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            loaded = find_created(self, table, new.claim, error)
            if self._delegation:
                loaded = self._load(table, with_credentials=True)
        if self.claim_of(loaded) != new.claim:
            raise TableAlreadyExistsError(f"{table} cannot be created: a table has this name already.")
        if new.registered and not _is_at(loaded, new.location):
            self.withdraw(table, self.describe(loaded))
            raise _moved(table, new.location, loaded)
        return loaded

    def _check_options(self, new: NewTable) -> None:
        """Refuse storage options that properties must not set, before anything is made."""
        self.storage_options(new.location, new.properties)

    def replace(self, table: Identifier, new: NewTable) -> LoadedTable:
        """Point the companion that is there to another table, in one commit."""
        self._check_options(new)
        warehouse, names = self._client.resolve(table.parent)
        body = iceberg.replace_body(self.load(table), new.location, new.properties)
        self._client.ask(warehouse, "commit_table", f"Registering the table {table}", names, table.name, body=body)
        loaded = self.load(table)
        if not _is_at(loaded, new.location):
            raise _moved(table, new.location, loaded)
        return loaded

    # -- taking tables away ----------------------------------------------------------------------

    def delete(self, table: Identifier, loaded: LoadedTable) -> None:
        """Take a table that was there a moment ago out of the catalog; its data stays."""
        warehouse, names = self._client.resolve(table.parent)
        what = f"Deregistering the table {table}"
        try:
            if warehouse.config.has("unregister_table"):
                self._client.ask(warehouse, "unregister_table", what, names, table.name, body={})
            else:
                # Said although it is the default: there are servers where it is not.
                self._client.ask(warehouse, "drop_table", what, names, table.name, query=[(iceberg.PURGE, "false")])
        except ServiceUnavailableError:
            if self._is_there(table):  # or the response got lost, and the companion is gone
                raise

    def withdraw(self, table: Identifier, entry: TableEntry) -> None:
        """Take back a claim whose first write failed, with the files of the companion."""
        loaded = self._load(table)
        if loaded.uuid == entry.claim:
            self.delete(table, loaded)
            open_store(entry.location, entry.storage_options).delete(*_metadata_keys(loaded))

    def deregister(self, table: Identifier) -> TableEntry:
        """Forget a table and keep its data. Raises InternalError if the server deleted it all the same."""
        loaded = self.load(table)
        had_data = self.has_data(table, loaded)
        self.delete(table, loaded)
        if had_data and self.has_data(table, loaded) is False:
            raise InternalError(
                f"{table} is deregistered, but its data at {loaded.location} is gone: the server deleted it, although "
                "it was asked to keep it. Do not deregister tables there."
            )
        return self.describe(loaded)

    def drop(self, table: Identifier) -> TableEntry:
        """Forget a table, then delete its data and the files of its companion."""
        loaded = self.load(table)
        entry = self.entry(loaded)
        store = open_store(entry.location, entry.storage_options)
        before = list(own_files.own(store))
        self.delete(table, loaded)
        with data_left_behind(self.name, table, entry):
            # What came since is the table's too, unless another client has given its name to a new one.
            after = list(own_files.own(store))
            # A new companion's file is written before it has the name, so that of those only the old ones are deleted.
            store.delete(*(before if self._is_there(table) else (*after, *_metadata_keys(loaded))))
        return entry

    def rename(self, table: Identifier, target: Identifier) -> None:
        """Rename a table inside its warehouse."""
        check_table(target)
        self.load(table)
        if table[0] != target[0]:
            raise InvalidInputError(f"{table} cannot move to another warehouse, {target[0]!r}. Copy its data instead.")
        self._namespaces.require(target.parent)
        warehouse, _ = self._client.resolve(table.parent)
        body = iceberg.rename_body(Identifier(table[1:]), Identifier(target[1:]))
        self._client.ask(warehouse, "rename_table", f"Renaming the table {table} to {target}", body=body)


def _handle(table: Identifier, entry: TableEntry) -> StoredTable:
    return StoredTable(str(table), entry.location, entry.storage_options)


def _metadata_keys(loaded: LoadedTable) -> Iterator[str]:
    """Yield the keys of the files that the companion has at its location."""
    for file in loaded.metadata_files:
        folder, _, name = file.rpartition("/")
        if folder.endswith(f"/{_METADATA}"):
            yield f"{_METADATA}/{name}"
            if local_path(loaded.location):  # Hadoop keeps a checksum beside each file
                yield f"{_METADATA}/.{name}.crc"


def _is_at(loaded: LoadedTable, location: str) -> bool:
    return loaded.location.rstrip("/") == location.rstrip("/")


def _moved(table: Identifier, location: str, loaded: LoadedTable) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{table} cannot be registered at {location}: the server chooses where tables are, and chose "
        f"{loaded.location}. Create the table, and copy the data into it."
    )
