"""The tables of a lake's catalog: a row says where each is stored, and a rename moves nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from lance_namespace import (
    DescribeTableRequest,
    DescribeTableResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
)
from pydantic import BaseModel
from sqlalchemy import Connection

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.contract.requests import mode, table_id
from lanceway.catalogs.lake.connection import MANAGED, STORAGE, LakeConnection, location_of
from lanceway.catalogs.lake.managed_table import Manifests, stored_versions, take_over
from lanceway.catalogs.lake.refs.adoption import StoredRefs, stored_refs
from lanceway.catalogs.lake.refs.settling import RefSettling
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.versions import LakeVersions
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.store.schema import ICEBERG_TABLE, TABLE
from lanceway.lake.tree import catalogs, clones, locations, lookups, tables
from lanceway.lake.tree.lookups import NotLanceError, TableListEntry, TableRow
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import VersionClaim
from lanceway.tables import bases, dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import own_files
from lanceway.tables.versions import manager

# A property that is not kept: it says where a new table keeps its versions.
VERSIONING = "lanceway.versioning"
# What changes a table, its tags or its branches.
_WRITES = frozenset(
    {
        "insert_into_table",
        "merge_insert_into_table",
        "update_table",
        "delete_from_table",
        "create_table_index",
        "create_table_scalar_index",
        "drop_table_index",
        "alter_table_add_columns",
        "alter_table_alter_columns",
        "alter_table_drop_columns",
        "update_table_schema_metadata",
        "update_field_metadata",
        "create_table_tag",
        "update_table_tag",
        "delete_table_tag",
        "create_table_branch",
        "delete_table_branch",
        "create_table_version",
        "batch_delete_table_versions",
        "restore_table",
        "alter_transaction",
    }
)
_ATTEMPTS = 10
_FRESH = 1.0  # seconds for which a row that was read may answer


@dataclass(frozen=True, slots=True)
class Place:
    """A location that a user chose for a new table, and what is there."""

    location: str
    is_filled: bool
    is_table: bool
    is_foreign: bool  # another lake manages what is there


@dataclass(frozen=True, slots=True)
class LakeTables:
    """Tables, managed or not."""

    lake: LakeConnection

    @property
    def _removals(self) -> Removals:
        return Removals(self.lake)

    # -- finding ---------------------------------------------------------------------------------

    def row(self, table: Identifier) -> TableRow:
        """Return a table's row. Raises TableNotFoundError, NamespaceNotFoundError for its parent."""
        return self.lake.store.read(lookups.find, self.lake.catalog.id, table)

    def managed(self, id_: list[str] | None, operation: str) -> Manifests | None:
        """Return a managed table for an operation, None for one that keeps its versions in storage."""
        row = self.row(table_id(id_, operation))
        if not row.managed:
            return None
        table = self.lake.manifests(row)
        if operation in _WRITES:
            table.require_manager()
        return table

    def handle(self, id_: list[str] | None, operation: str) -> StoredTable:
        """Return a table for an operation, refused if that writes and another lake manages the table."""
        row = self.row(table_id(id_, operation))
        if operation in _WRITES:
            self.require_writable(row)
        table = self.lake.handle(row)
        return replace(table, client=_OpeningClient(self.lake, row)) if row.managed else table

    def require_managed(self, row: TableRow, reason: str) -> Manifests:
        """Return a managed table. Refuse one that keeps its versions in storage, for a reason."""
        if not row.managed:
            raise InvalidTableStateError(f"The table {row.identifier} keeps its versions in storage alone{reason}")
        return self.lake.manifests(row)

    def require_writable(self, row: TableRow) -> None:
        """Refuse to write to a table that another lake manages."""
        if row.managed:
            self.lake.manifests(row).require_manager()
        elif self._removals.is_foreign(location_of(row)):
            raise manager.read_only(str(row.identifier), location_of(row))

    def has_versions(self, entry: TableEntry) -> bool:
        """Return whether a managed table has any version yet."""
        return self.lake.store.read(versions.latest, int(entry.claim or 0)) is not None

    # -- listing ---------------------------------------------------------------------------------

    def names(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if not include_declared:
            return self._written_names(namespace, after, limit)
        return self.lake.store.read(lookups.children, self.lake.catalog.id, namespace, after=after, limit=limit)

    def _written_names(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return the names of tables that have data: pages are read until there are enough of them."""
        names: list[str] = []
        while limit is None or len(names) < limit:
            page = self.lake.store.read(lookups.entries, self.lake.catalog.id, namespace, after=after, limit=limit)
            names += [entry.name for entry in page if self._is_written(entry)]
            if limit is None or len(page) < limit:
                break
            after = page[-1].name
        return names[:limit]

    def written(
        self,
        namespace: Identifier,
        visible: Callable[[str | None, int | None], Sequence[str]],
        after: str | None,
        limit: int | None,
    ) -> Sequence[str]:
        """Return the names of visible tables that have data: pages are read until there are enough of them."""
        names: list[str] = []
        while limit is None or len(names) < limit:
            page = visible(after, limit)
            entries = self.lake.store.read(lookups.entries_of, self.lake.catalog.id, namespace, page)
            names += [entry.name for entry in entries if self._is_written(entry)]
            if limit is None or len(page) < limit:
                break
            after = page[-1]
        return names[:limit]

    def _is_written(self, entry: TableListEntry) -> bool:
        if entry.managed:
            return entry.has_versions
        return dataset.has_data(StoredTable(entry.name, entry.location, self.lake.options))

    # -- declaring -------------------------------------------------------------------------------

    def declare(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        place = self.look_at(table, location)
        return self.lake.entry(self.lake.store.transact(self.declare_row, table, place, properties))

    def look_at(self, table: Identifier, location: str | None, *, staged: bool = False) -> Place | None:
        """Return what storage has at a location that a user chose, before the transaction that claims it.

        What is written there in between is not lost: a drop deletes Lance's own files alone. With `staged`, those may
        be there already, for a first version that is claimed together with the declaration. Without, they may as long
        as they are no table: a writer left them whose table was dropped before its first version.
        """
        if location is None:
            return None
        placed = self.placed(location)
        table_there = StoredTable(str(table), placed, self.lake.options)
        store = table_there.store()
        is_table = dataset.has_data(table_there)
        is_filled = (staged or not is_table) and own_files.has_others(store)
        is_foreign = store.has_any() and self._removals.is_foreign(placed)
        return Place(placed, is_filled, is_table, is_foreign)

    def placed(self, location: str) -> str:
        """Return a chosen location in the lake's spelling. Refuse one that a table has in another spelling."""
        placed = locations.placed(location, self.lake.store.read(locations.roots))
        self.lake.store.read(locations.refuse_known, location, placed)
        return placed

    def declare_row(
        self, connection: Connection, table: Identifier, place: Place | None, properties: Mapping[str, str]
    ) -> TableRow:
        """Make a row for a table yet to be written. Refuse a place with data, which a managed table would not show."""
        managed, stored_properties = _versioning(properties)
        location = None if place is None else place.location
        row = self._create_row(connection, table, location, stored_properties, managed=managed)
        if place is not None and place.is_table:
            raise InvalidInputError(
                f"{table} cannot be declared at {place.location}: a Lance table is there. Register it, or choose "
                "another location."
            )
        if place is not None and row.managed and place.is_foreign:
            raise manager.refusal(f"{table} cannot be declared", place.location, "Choose another location.")
        if place is not None and place.is_filled:
            raise InvalidInputError(
                f"{table} cannot be declared at {place.location}: it is not empty, and what is there is not the "
                "table's. Choose another location, or leave it to the lake."
            )
        return row

    def _create_row(
        self,
        connection: Connection,
        table: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        *,
        managed: bool | None,
        event: str = "created",
    ) -> TableRow:
        return tables.create(
            connection,
            self.lake.catalog.id,
            table,
            by=self.lake.user,
            location=location,
            managed=managed,
            properties=properties,
            event=event,
        )

    def holds(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the declaration behind an entry still stands: the same row, not a new one of its name."""
        try:
            return str(self.row(table).id) == entry.claim
        except (NamespaceNotFoundError, TableNotFoundError, NotLanceError):
            return False

    def undeclare(self, table: Identifier, entry: TableEntry) -> None:
        """Take back a declaration whose first version could not be written, unless another writer has filled it."""
        with suppress(NamespaceNotFoundError, TableNotFoundError, NotLanceError):
            row = self.row(table)
            if not row.managed and dataset.has_data(self.lake.stored(row)):
                return
            if self.lake.store.transact(self._undeclare_row, table, entry):
                self._removals.remove(entry.location)

    def _undeclare_row(self, connection: Connection, table: Identifier, entry: TableEntry) -> bool:
        row = lookups.lock(connection, self.lake.catalog.id, table)
        if str(row.id) != entry.claim or (row.managed and versions.latest(connection, row.id) is not None):
            return False
        tables.drop(connection, self.lake.catalog.id, table, by=self.lake.user)
        return True

    # -- registering and renaming ----------------------------------------------------------------

    def register(self, table: Identifier, location: str, properties: Mapping[str, str], *, replace: bool) -> TableEntry:
        placed = self.placed(location)
        managed, stored_properties = _versioning(properties)
        if managed is None:
            managed = self.lake.store.read(catalogs.get, self.lake.catalog.id).managed
        replaced: list[TableRow] = []

        def register_row(connection: Connection) -> TableRow:
            row = self._create_row(connection, table, placed, stored_properties, managed=managed, event="registered")
            if found is None:
                raise ConcurrentModificationError(f"{placed} has just become free. Register {table} again.")
            versions.adopt(connection, row.id, found, by=self.lake.user)
            if managed:
                stored.adopt(connection, row, by=self.lake.user)
            return row

        def replace_row(connection: Connection, settled: Collection[str]) -> TableRow | None:
            replaced.clear()  # of an attempt that was rolled back
            with suppress(TableNotFoundError):
                row = self.release(connection, table, settled)
                if row is None:
                    return None
                replaced.append(row)
                locations.reuse(connection, [location_of(row)])  # it is still the same table's
            return register_row(connection)

        with self.marking_managed(location):
            # Before the transaction, which must not wait for storage. A version that is written there in between is
            # adopted when it is first met, as with every table that was registered.
            found = self._versions_to_adopt(table, placed, managed=managed, replace=replace)
            stored = stored_refs(self.lake.storage(placed)) if managed and found is not None else StoredRefs({}, {})
            row = self.after_reconcile(table, replace_row) if replace else self.lake.store.transact(register_row)
        for old in replaced:
            self._removals.unmark(location_of(old))
        return self.lake.entry(row)

    @contextmanager
    def marking_managed(self, location: str) -> Iterator[None]:
        """Surround a transaction that makes a table managed: if it fails, storage is not left saying that it is."""
        _ = self.lake.store.identity  # made now if there is none: inside the transaction it would be too late
        try:
            yield
        except LanceNamespaceError:
            with suppress(LanceNamespaceError):  # a location that cannot be used
                self._removals.unmark(locations.canonical(location))
            raise

    def _versions_to_adopt(
        self, table: Identifier, location: str, *, managed: bool, replace: bool
    ) -> Sequence[VersionClaim] | None:
        """Return the versions at a location that a managed table is to have; refuse a location without any.

        Return None where a table has the location already, which the transaction refuses; nothing is touched then.
        """
        taken = self.lake.store.read(locations.overlapping, location)
        if taken is not None and not (replace and self._is_at(table, location)):
            return None
        stored = StoredTable(str(table), location, self.lake.options)
        if not dataset.has_data(stored):
            raise InvalidInputError(
                f"{table} cannot be registered at {location}: there is no Lance table. Declare it to have one there."
            )
        if bases.is_confined():
            dataset.open_at(stored)  # which refuses base paths that are not allowed
        if not managed:
            return ()
        take_over(self.lake.store, stored)
        return stored_versions(stored.store())

    def _is_at(self, table: Identifier, location: str) -> bool:
        try:
            return self.row(table).location == location
        except (NamespaceNotFoundError, TableNotFoundError):
            return False

    def details(self, table: Identifier) -> ObjectDetails:
        """Return what is recorded of a table, and the state of one whose versions are rows."""

        def work(connection: Connection) -> ObjectDetails:
            row = lookups.find_among(connection, self.lake.catalog.id, table, (TABLE, ICEBERG_TABLE))
            number = versions.latest(connection, row.id) if row.managed else None
            claimed = None if number is None else versions.describe(connection, row, number).created_at
            state = None if number is None or claimed is None else (row.id, number, claimed)
            audit = row.audit
            changed = (audit.created_by, audit.created_at, audit.changed_by, audit.changed_at)
            is_iceberg = row.kind == ICEBERG_TABLE
            return ObjectDetails(row.properties, row.comment, *changed, row.location, number, state, is_iceberg)

        return self.lake.store.read(work)

    def alter_properties(self, table: Identifier, changes: Mapping[str, str | None]) -> Mapping[str, str]:
        """Change properties of a table, None for one that is taken away, and return all it has then."""
        catalog, user = self.lake.catalog.id, self.lake.user
        return self.lake.store.transact(tables.alter, catalog, table, by=user, properties=changes).properties

    def rename(self, table: Identifier, target: Identifier) -> None:
        self.lake.store.transact(tables.rename, self.lake.catalog.id, table, target, by=self.lake.user)

    # -- deregistering and dropping --------------------------------------------------------------

    def deregister(self, table: Identifier) -> TableEntry:
        row = self.after_reconcile(table, lambda connection, settled: self.release(connection, table, settled))
        self._removals.unmark(location_of(row))
        return self.lake.entry(row)

    def after_reconcile(
        self, table: Identifier, work: Callable[[Connection, Collection[str]], TableRow | None]
    ) -> TableRow:
        """Return what `work` returns once rows and storage agree; it returns None as long as they do not.

        It is called with what is settled in storage, as `reconcile_storage` returns it.

        Storage is reconciled outside of the transaction, and others may claim a version in between: then again.
        """
        for _ in range(_ATTEMPTS):
            row = self.lake.store.transact(work, self.reconcile_storage(table))
            if row is not None:
                return row
        raise ConcurrentModificationError(f"The table {table} is being written to all the time. Try again later.")

    def reconcile_storage(self, table: Identifier) -> Collection[str]:
        """Publish pending manifests and quarantine orphans: after that, storage alone shows the table's versions.

        Return the staging paths of versions that are settled though their rows do not say so.
        """
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            row = self.row(table)
            if row.managed:
                manifests = self.lake.manifests(row)
                manifests.reconcile()
                RefSettling(self.lake).settle(manifests)
                return manifests.settled()
        return ()

    def release(self, connection: Connection, table: Identifier, settled: Collection[str]) -> TableRow | None:
        """Deregister a table, unless a version of it is claimed and not `settled` in storage yet: then None."""
        row = lookups.lock(connection, self.lake.catalog.id, table)
        if row.managed and self.lake.manifests(row).has_pending(connection, settled):
            return None
        return tables.deregister(connection, self.lake.catalog.id, table, by=self.lake.user)

    def drop(self, table: Identifier) -> TableEntry:
        found, removals = self.row(table), self._removals
        location = location_of(found)
        if removals.is_known_foreign(location):
            raise manager.refusal(f"{table} cannot be dropped", location, "Deregister it here, or drop it there.")
        removals.refuse_others(f"The table {table}", location)
        self.lake.store.read(clones.refuse_source, found)  # at once; the transaction asks again
        holds = self.lake.store.read(clones.holds, found.id)
        row = self.lake.store.transact(tables.drop, self.lake.catalog.id, table, by=self.lake.user)
        removals.release(holds)
        removals.remove(location_of(row))
        return self.lake.entry(row)


class _OpeningClient(Wrapper):
    """The catalog as pylance's client while it opens a table whose row was just read.

    pylance first asks where the table is, and then for its latest version. Both are answered from that row, once each
    and for a moment only, instead of looking the same row up again; everything else the catalog answers.
    """

    def __init__(self, lake: LakeConnection, row: TableRow) -> None:
        super().__init__(lake.client)
        self._lake = lake
        self._row = row
        self._answers: dict[str, Callable[[Any], BaseModel | None]] = {
            "describe_table": self._describe,
            "list_table_versions": self._list_versions,
        }
        self._until = time.monotonic() + _FRESH

    def _forward(self, operation: str, request: Any, *data: Any) -> Any:
        from_row = self._answers.pop(operation, None)
        if from_row is not None and time.monotonic() < self._until and request.id == list(self._row.identifier):
            response = from_row(request)
            if response is not None:
                return response
        return super()._forward(operation, request, *data)

    def _describe(self, request: DescribeTableRequest) -> DescribeTableResponse | None:
        if any(request.model_dump(exclude={"id"}).values()):
            return None  # it asks for more than where the table is
        entry = self._lake.entry(self._row)
        return DescribeTableResponse(
            location=entry.location,
            storage_options=None if entry.storage_options is None else dict(entry.storage_options),
            properties=dict(entry.properties or {}),
            managed_versioning=entry.managed,
        )

    def _list_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        return LakeVersions(self._lake).list(self._lake.manifests(self._row), request)


def _versioning(properties: Mapping[str, str]) -> tuple[bool | None, dict[str, str]]:
    """Return whether a new table is to be managed, None as its catalog has it; and the properties to store."""
    stored = {key: value for key, value in properties.items() if key != VERSIONING}
    if VERSIONING not in properties:
        return None, stored
    return mode(f"The property {VERSIONING}", properties[VERSIONING], MANAGED, STORAGE) == MANAGED, stored
