"""Lance tables in a Hive Metastore: external tables whose parameters say that they are Lance."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from hive_metastore import ttypes

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.hive import folders, names
from lanceway.catalogs.hive.metastore import HiveMetastore, HiveTable
from lanceway.catalogs.hive.namespaces import HiveNamespaces, explained
from lanceway.catalogs.hive.settings import HiveSettings
from lanceway.catalogs.metastore.tables import (
    CLAIM,
    LANCE,
    TABLE_TYPE,
    NewTable,
    data_left_behind,
    find_created,
    is_own_folder,
    own_folder,
    refuse_everything,
    require_data,
)
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    namespace_not_found,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store

if TYPE_CHECKING:
    from lanceway.catalogs.hive.names import HivePlace
    from lanceway.tables.storage.store import Store

_LOG = logging.getLogger(__name__)

EXTERNAL_TABLE = "EXTERNAL_TABLE"
# By this parameter, and not by the type, Hive tells the tables whose data it must not delete.
EXTERNAL, MANAGED_BY, STORAGE = "EXTERNAL", "managed_by", "storage"
# With it, Hive deletes the data of an external table too.
_PURGE = "external.table.purge"
INPUT_FORMAT, OUTPUT_FORMAT = "org.lance.mapred.LanceInputFormat", "org.lance.mapred.LanceOutputFormat"
# How many tables the metastore is asked for at once.
_BATCH = 500


class HiveTables:
    """The tables of one metastore. Identifiers have been folded to lower case."""

    name = "Hive"
    reserved = (CLAIM,)

    def __init__(self, metastore: HiveMetastore, namespaces: HiveNamespaces, settings: HiveSettings) -> None:
        self._metastore = metastore
        self._namespaces = namespaces
        self._settings = settings

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> HiveTable:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""
        try:
            row = self.row(table)
        except TableNotFoundError as error:
            self._namespaces.database(table.parent)  # older and newer versions say the same of a missing database
            raise table_not_found(f"There is no table {table}.") from error
        if not is_lance(row):
            raise InvalidInputError(
                f"{table} is not a Lance table: in Hive it is a table of another kind. A Lance table has the type "
                f"{EXTERNAL_TABLE}, the parameter {TABLE_TYPE}={LANCE} and a location."
            )
        return row

    peek = load

    def row(self, table: Identifier) -> HiveTable:
        """Return a table, Lance or not. Raises TableNotFoundError, also if its database is missing."""
        return self._metastore.table(self._place(table), table.name)

    def _place(self, table: Identifier) -> HivePlace:
        levels = self._namespaces.levels
        if table.depth <= levels:
            example = ["hive", "sales", "orders"][-(levels + 1) :]
            raise InvalidInputError(
                f"{list(table)!r} is not the identifier of a table here, which has {levels + 1} names: {example!r}."
            )
        return self._namespaces.place(table.parent)

    def lance_tables(self, namespace: Identifier, after: str | None, limit: int | None) -> Iterator[HiveTable]:
        """Yield the Lance tables of a database after `after`, in order; a catalog holds databases alone.

        The metastore gives all names at once, and the tables are read as they are needed, in batches.
        """
        if not self._namespaces.is_database(namespace):
            self._namespaces.properties(namespace)
            return
        self._namespaces.database(namespace)  # the tables of a missing one are none
        place = self._namespaces.place(namespace)
        following = sorted(name for name in self._metastore.table_names(place) if after is None or name > after)
        size = _BATCH if limit is None else min(_BATCH, max(limit, 20))
        for start in range(0, len(following), size):
            rows = self._metastore.tables(place, following[start : start + size])
            yield from sorted(filter(is_lance, rows), key=lambda row: str(row.tableName))

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, row: HiveTable) -> str | None:
        return (row.parameters or {}).get(CLAIM)

    def describe(self, row: HiveTable) -> TableEntry:
        """Return the entry of a table without storage options."""
        properties = {name: text for name, text in (row.parameters or {}).items() if name != CLAIM}
        return TableEntry(names.normal(row.sd.location), None, properties, claim=self.claim_of(row))

    def entry(self, row: HiveTable) -> TableEntry:
        return replace(self.describe(row), storage_options=dict(self._settings.storage) or None)

    reach = entry

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str]:
        return self._settings.storage

    def _store(self, location: str) -> Store:
        return open_store(location, self._settings.storage)

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        """Return the identifier of a new table as Hive has it, if a table may have it."""
        table = names.folded(table)
        self._place(table)
        names.check_new(table)
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the given location as a URI, or `{root}/{database}.db/{table}`.

        Without a root that is below the location of the database. Where data is left there already, of a table that was
        deregistered, renamed or is being dropped, a folder that no other table ever has is taken instead.
        """
        if location:
            return names.absolute(location)
        database = self._namespaces.database(table.parent)
        root = self._settings.root
        base = names.database_location(root, self._place(table)) if root else names.normal(database.locationUri or "")
        if not base:
            raise InvalidInputError(
                f"{table} needs a location: its database has none. Give the table a location, or connect with root."
            )
        first = f"{base.rstrip('/')}/{table.name}"
        return f"{base.rstrip('/')}/{own_folder(table.name, claim)}" if self._is_taken(table, first) else first

    def _is_taken(self, table: Identifier, location: str) -> bool:
        try:
            return dataset.has_data(StoredTable(str(table), location, self._settings.storage or None))
        except LanceNamespaceError as error:
            _LOG.info("%s is made without a look at its location: %s", table, error)
            return False

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> None:
        """Raise InvalidInputError where no Lance table is, NamespaceNotFoundError for a missing database."""
        self._namespaces.database(table.parent)
        require_data(table, location, self._settings.storage)

    def create(self, table: Identifier, new: NewTable) -> HiveTable:
        row = self._new_row(table, new)
        with self._kept_folder(new), explained(table, new.properties):
            try:
                self._metastore.create_table(row)
            except InvalidInputError as error:
                self._require_database(table, error)
                raise
            except (
                ConcurrentModificationError,
                InternalError,
                ServiceUnavailableError,
                TableAlreadyExistsError,
            ) as error:
                return find_created(self, table, new.claim, error)
        return row

    def _require_database(self, table: Identifier, error: LanceNamespaceError) -> None:
        try:
            self._namespaces.database(table.parent)
        except NamespaceNotFoundError:
            raise namespace_not_found(f"There is no namespace {table.parent}. Create it first.") from error

    def _kept_folder(self, new: NewTable) -> AbstractContextManager[None]:
        """Keep a folder that several clients may choose, while the metastore creates a table there."""
        if new.registered or is_own_folder(new.location, new.claim):
            return nullcontext()
        return folders.kept(new.location, self._settings.storage)

    def _new_row(self, table: Identifier, new: NewTable) -> HiveTable:
        place = self._place(table)
        return ttypes.Table(
            tableName=table.name,
            dbName=place.database,
            catName=place.catalog,
            owner=self._settings.user,
            tableType=EXTERNAL_TABLE,
            parameters=_parameters(table, new),
            partitionKeys=[],
            sd=ttypes.StorageDescriptor(
                cols=[],
                location=new.location,
                inputFormat=INPUT_FORMAT,
                outputFormat=OUTPUT_FORMAT,
                compressed=False,
                numBuckets=0,
                serdeInfo=ttypes.SerDeInfo(parameters={}),
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
        )

    def replace(self, table: Identifier, new: NewTable) -> HiveTable:
        """Point the row that is there to another table, in one step."""
        old = self.load(table)
        row = copy(old)
        row.sd = copy(old.sd)
        row.sd.location, row.parameters = new.location, _parameters(table, new)
        with explained(table, new.properties):
            self._metastore.alter_table(self._place(table), table.name, row, self.claim_of(old))
        return row

    # -- taking tables away ----------------------------------------------------------------------

    def delete(self, table: Identifier, row: HiveTable) -> None:
        """Take a table that was there a moment ago out of the metastore; its data stays."""
        try:
            self._metastore.drop_table(self._place(table), table.name)
        except NamespaceNotFoundError as error:
            raise table_not_found(f"There is no table {table}.") from error
        except ServiceUnavailableError:
            if self._is_there(table, row):  # or the response got lost, and the row is deleted
                raise

    def _is_there(self, table: Identifier, row: HiveTable) -> bool:
        try:
            current = self.describe(self.load(table))
        except (InvalidInputError, NamespaceNotFoundError, TableNotFoundError):
            return False
        former = self.describe(row)
        return (current.claim, current.location) == (former.claim, former.location)

    def drop(self, table: Identifier) -> TableEntry:
        """Forget a table, then delete its data, which Hive is never asked to do.

        A failure leaves files that no name leads to, and says where.
        """
        row = self.load(table)
        entry = self.entry(row)
        refuse_everything(table, entry)
        store = self._store(entry.location)
        before = list(own_files.own(store))
        self.delete(table, row)
        with data_left_behind(self.name, table, entry):
            # What came since is the table's too, unless another client has given its name to a new one.
            after = list(own_files.own(store))
            store.delete(*(before if self._exists(table) else after))
            own_files.remove_empty_folders(store)
        return entry

    def _exists(self, table: Identifier) -> bool:
        try:
            self.row(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return True

    def rename(self, table: Identifier, target: Identifier) -> None:
        """Rename a table in one step, inside its catalog. Its data stays where it is."""
        target = self.check_new(target)
        row = self.load(table)
        source, place = self._place(table), self._place(target)
        if source.catalog != place.catalog:
            raise InvalidInputError(f"{table} cannot move to another catalog, {place.catalog!r}. Register it there.")
        self._namespaces.database(target.parent)
        renamed = copy(row)
        renamed.dbName, renamed.tableName = place.database, target.name
        if self._exists(target):
            raise TableAlreadyExistsError(f"{table} cannot be renamed: a table has the name {target} already.")
        try:
            self._metastore.alter_table(source, table.name, renamed, self.claim_of(row))
        except InvalidInputError as error:  # the metastore has one word for all that it does not do
            self.load(table)
            if self._exists(target):
                raise TableAlreadyExistsError(f"{table} cannot be renamed: another client took {target}.") from error
            raise


def is_lance(row: HiveTable) -> bool:
    """Return whether a row is a Lance table. Views and other tools' tables may lack any field."""
    kind = (row.parameters or {}).get(TABLE_TYPE) or ""
    location = row.sd.location if row.sd is not None else None
    return row.tableType == EXTERNAL_TABLE and kind.lower() == LANCE and bool(location)


def _parameters(table: Identifier, new: NewTable) -> dict[str, str]:
    """Return the parameters of a new row. Raises InvalidInputError where Hive would delete the data, or misread it."""
    properties = {name: text for name, text in new.properties.items() if text is not None}
    for name, needed in ((EXTERNAL, "TRUE"), (MANAGED_BY, STORAGE)):
        if properties.get(name, needed).lower() != needed.lower():
            raise InvalidInputError(f"{table} cannot have the property {name}={properties[name]}: it must be {needed}.")
    if properties.get(_PURGE, "").lower() == "true":
        raise InvalidInputError(
            f"{table} cannot have the property {_PURGE}=true: Hive's own DROP TABLE would delete its data."
        )
    return {**properties, EXTERNAL: "TRUE", TABLE_TYPE: LANCE, MANAGED_BY: STORAGE, CLAIM: new.claim}
