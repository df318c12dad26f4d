"""The tables of a lake's catalog: a row says where each lies, and a rename moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import CreateTableRequest, CreateTableResponse
from sqlalchemy import Connection

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.requests import mode, table_id
from lanceway.catalogs.lake.connection import MANAGED, STORAGE
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.namespaces import LakeNamespaces
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.tree import locations, lookups, tables
from lanceway.lake.tree.lookups import TableListEntry
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.versions import versions
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store
from lanceway.tables.versions import manager

if TYPE_CHECKING:
    import pyarrow as pa

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


@dataclass(frozen=True, slots=True)
class Place:
    """A location that somebody chose for a new table, and what is there."""

    location: str
    is_filled: bool
    is_table: bool
    is_foreign: bool  # another lake manages what is there


class LakeTables(LakeNamespaces):
    """Tables, managed or not."""

    # -- finding ---------------------------------------------------------------------------------

    def _row(self, table: Identifier) -> Row:
        return self._lake.read(lookups.find, self._catalog.id, table)

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._entry(self._row(table))

    def _manifests(self, row: Row) -> Manifests:
        handle = self._handle(row.identifier, self._entry(row))
        return Manifests(self._lake, self._catalog.id, row, handle)

    def _managed(self, id_: list[str] | None, operation: str) -> Manifests | None:
        """A managed table, None for one that keeps its versions in storage."""
        row = self._row(table_id(id_, operation))
        if not row.managed:
            return None
        found = self._manifests(row)
        if operation in _WRITES:
            found.require_manager()
        return found

    def _table(self, id_: list[str] | None, operation: str) -> Table:
        row = self._row(table_id(id_, operation))
        if operation in _WRITES:
            self._require_writable(row)
        return self._handle(row.identifier, self._entry(row))

    def _require_writable(self, row: Row) -> None:
        """Refuse to write to a table that another lake manages."""
        if row.managed:
            self._manifests(row).require_manager()
        elif self._is_foreign(self._entry(row).location):
            raise manager.read_only(str(row.identifier), self._entry(row).location)

    def _is_known_foreign(self, location: str) -> bool:
        """The same, False where storage does not answer: it is asked again before anything is deleted."""
        try:
            return self._is_foreign(location)
        except LanceNamespaceError:
            return False

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> CreateTableResponse:
        if chosen == "overwrite":
            self._require_writable(self._row(table))
        return super()._create_over(table, entry, request, chosen, data)

    def _leave(self, location: str) -> None:
        """Say in storage that this lake does not manage a table any more, unless another row of it does."""
        if not self._lake.read(locations.is_managed, location):
            with suppress(LanceNamespaceError):  # then it is said until somebody deletes it, as the refusal explains
                manager.leave(open_store(location, self._options), self._lake.identity)

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        if not entry.managed:
            return super()._is_declared_only(table, entry)
        return self._lake.read(versions.latest, int(entry.claim or 0)) is None

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        def page(connection: Connection) -> Sequence[str]:
            return lookups.children(connection, self._catalog.id, namespace, after=after, limit=limit)

        return self._lake.read(page) if include_declared else self._written_tables(namespace, after, limit)

    def _written_tables(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Tables that have data: pages are asked for until there are enough of them."""
        written: list[str] = []
        while limit is None or len(written) < limit:
            page = self._lake.read(
                lambda connection, start=after: lookups.entries(  # type: ignore[misc]
                    connection, self._catalog.id, namespace, after=start, limit=limit
                )
            )
            written += [entry.name for entry in page if self._is_written(entry)]
            if limit is None or len(page) < limit:
                break
            after = page[-1].name
        return written[:limit]

    def _is_written(self, entry: TableListEntry) -> bool:
        if entry.managed:
            return entry.has_versions
        return dataset.has_data(Table(entry.name, entry.location, self._options))

    # -- claiming --------------------------------------------------------------------------------

    def _know_identity(self) -> None:
        """Have the lake's own id at hand, for a transaction in which it can no longer be made."""
        _ = self._lake.identity

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        place = self._looked_at(table, location)
        return self._entry(self._lake.transact(self._declared, table, place, properties))

    def _placed(self, location: str) -> str:
        """A location that somebody chose, in the lake's spelling. Refuses one that a table has in another spelling."""
        placed = locations.placed(location, self._lake.read(locations.roots))
        self._lake.read(locations.refuse_known, location, placed)
        return placed

    def _looked_at(self, table: Identifier, location: str | None, *, staged: bool = False) -> Place | None:
        """What storage has at a location that somebody chose, looked at before the transaction that claims it.

        What comes there in between is not lost: a drop deletes Lance's own files alone. With `staged`, those may be
        there already, for a first version that is claimed together with the declaration.
        """
        if location is None:
            return None
        placed = self._placed(location)
        stored = Table(str(table), placed, self._options)
        store = stored.store()
        is_filled = own_files.has_others(store) if staged else store.has_any()
        return Place(placed, is_filled, dataset.has_data(stored), is_filled and self._is_foreign(placed))

    def _declared(
        self, connection: Connection, table: Identifier, place: Place | None, properties: Mapping[str, str]
    ) -> Row:
        """A new row. What is declared is yet to be written: a managed table would never show what lies there."""
        row = self._named(connection, table, None if place is None else place.location, properties)
        if place is not None and place.is_table:
            raise InvalidInputError(
                f"{table} cannot be declared at {place.location}: a Lance table lies there. Register it, or choose "
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

    def _named(
        self, connection: Connection, table: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> Row:
        managed, kept = _versioning(properties)
        return tables.create(
            connection, self._catalog.id, table, by=self._user, location=location, managed=managed, properties=kept
        )

    def _stored(self, row: Row) -> Table:
        """A table as storage has it, whoever owns its versions."""
        return Table(str(row.identifier), self._entry(row).location, self._options)

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        try:
            return self._find_table(table).claim == entry.claim
        except (NamespaceNotFoundError, TableNotFoundError):
            return False

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        def recorded(connection: Connection) -> bool:
            abandoned = locations.is_abandoned(connection, entry.location)
            if abandoned:
                locations.record(connection, [entry.location], by=self._user)
            return abandoned

        if self._lake.transact(recorded):
            self._remove(entry.location)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        def withdrawn(connection: Connection) -> bool:
            row = lookups.lock(connection, self._catalog.id, table)
            if str(row.id) != entry.claim or self._is_filled(connection, row):
                return False
            tables.drop(connection, self._catalog.id, table, by=self._user)
            return True

        with suppress(NamespaceNotFoundError, TableNotFoundError):
            if self._lake.transact(withdrawn):
                self._remove(entry.location)

    def _is_filled(self, connection: Connection, row: Row) -> bool:
        if row.managed:
            return versions.latest(connection, row.id) is not None
        return dataset.has_data(self._stored(row))

    # -- names for what is there -----------------------------------------------------------------

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        left: list[Row] = []
        placed = self._placed(location)

        def registered(connection: Connection) -> Row:
            row = self._named(connection, table, placed, properties)
            self._take_over(connection, row)
            return row

        def replaced(connection: Connection) -> Row | None:
            left.clear()
            with suppress(TableNotFoundError):
                gone = self._let_go(connection, table)
                if gone is None:
                    return None
                left.append(gone)
            return registered(connection)

        with self._taking_over(location):
            row = self._settling(table, replaced) if replace else self._lake.transact(registered)
        for gone in left:
            self._leave(self._entry(gone).location)
        return self._entry(row)

    @contextmanager
    def _taking_over(self, location: str) -> Iterator[None]:
        """Around a transaction that makes a table managed: if it fails, storage does not say so either."""
        self._know_identity()
        try:
            yield
        except LanceNamespaceError:
            with suppress(LanceNamespaceError):  # a location that cannot be used
                self._leave(locations.canonical(location))
            raise

    def _take_over(self, connection: Connection, row: Row) -> None:
        """Make the versions that lie at a registered location the table's."""
        if not dataset.has_data(self._stored(row)):
            raise InvalidInputError(
                f"{row.identifier} cannot be registered at {row.location}: there is no Lance table. Declare it to "
                "have one there."
            )
        if row.managed:
            self._manifests(row).take_over()
            self._manifests(row).adopt(connection, by=self._user)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._lake.transact(tables.rename, self._catalog.id, table, target, by=self._user)

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> TableEntry:
        entry = self._entry(self._settling(table, lambda connection: self._let_go(connection, table)))
        self._leave(entry.location)
        return entry

    def _settling(self, table: Identifier, work: Callable[[Connection], Row | None]) -> Row:
        """What `work` answers once storage says the same as the rows; None from it means that it does not yet."""
        for _ in range(_ATTEMPTS):
            self._settle_storage(table)
            done = self._lake.transact(work)
            if done is not None:
                return done
        raise ConcurrentModificationError(f"The table {table} is being written to all the time. Try again later.")

    def _settle_storage(self, table: Identifier) -> None:
        """Copy what is to be copied and move strays aside: after that, storage alone tells the table's versions."""
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            row = self._row(table)
            if row.managed:
                self._manifests(row).agree()

    def _let_go(self, connection: Connection, table: Identifier) -> Row | None:
        """Forget a table, unless a version of it is claimed and not copied yet."""
        row = lookups.lock(connection, self._catalog.id, table)
        if row.managed and self._manifests(row).is_unsettled(connection):
            return None
        return tables.deregister(connection, self._catalog.id, table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        location = self._entry(self._row(table)).location
        if self._is_known_foreign(location):
            raise manager.refusal(f"{table} cannot be dropped", location, "Deregister it here, or drop it there.")
        self._refuse_others(f"The table {table}", location)
        dropped = self._lake.transact(tables.drop, self._catalog.id, table, by=self._user)
        entry = self._entry(dropped)
        self._remove(entry.location)
        return entry


def _versioning(properties: Mapping[str, str]) -> tuple[bool | None, dict[str, str]]:
    """Whether a new table is to be managed, None as its catalog has it; and the properties that are kept."""
    kept = {key: value for key, value in properties.items() if key != VERSIONING}
    if VERSIONING not in properties:
        return None, kept
    return mode(f"The property {VERSIONING}", properties[VERSIONING], MANAGED, STORAGE) == MANAGED, kept
