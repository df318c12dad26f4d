"""The tables of a lake's catalog: a row says where each lies, and a rename moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sqlalchemy import Connection

from lanceway.catalogs.base import TableEntry
from lanceway.catalogs.lake_connection import MANAGED, STORAGE
from lanceway.catalogs.lake_manifests import Manifests
from lanceway.catalogs.lake_namespaces import LakeNamespaces
from lanceway.catalogs.requests import mode, table_id
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake import locations, lookups, removals, tables, versions
from lanceway.lake.lookups import Entry
from lanceway.lake.lookups import Table as Row
from lanceway.tables import dataset
from lanceway.tables.dataset import Table

# A property that is not kept: it says where a new table keeps its versions.
VERSIONING = "lanceway.versioning"
_ATTEMPTS = 10


class LakeTables(LakeNamespaces):
    """Tables, managed or not."""

    # -- finding ---------------------------------------------------------------------------------

    def _row(self, table: Identifier) -> Row:
        return self._lake.read(lambda connection: lookups.find(connection, self._catalog.id, table))

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._entry(self._row(table))

    def _manifests(self, row: Row) -> Manifests:
        handle = self._handle(row.identifier, self._entry(row))
        return Manifests(self._lake, self._catalog.id, row, handle)

    def _managed(self, id_: list[str] | None, operation: str) -> Manifests | None:
        """A managed table, None for one that keeps its versions in storage."""
        row = self._row(table_id(id_, operation))
        return self._manifests(row) if row.managed else None

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        if not entry.managed:
            return super()._is_declared_only(table, entry)
        return self._lake.read(lambda connection: versions.latest(connection, int(entry.claim or 0))) is None

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

    def _is_written(self, entry: Entry) -> bool:
        if entry.managed:
            return entry.has_versions
        return dataset.has_data(Table(entry.name, entry.location, self._options))

    # -- claiming --------------------------------------------------------------------------------

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._entry(self._lake.run(lambda connection: self._declared(connection, table, location, properties)))

    def _declared(
        self, connection: Connection, table: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> Row:
        """A new row. What is declared is yet to be written: a managed table would never show what lies there."""
        row = self._named(connection, table, location, properties)
        if location is not None and dataset.has_data(self._stored(row)):
            raise InvalidInputError(
                f"{table} cannot be declared at {location}: a Lance table lies there. Register it, or choose another "
                "location."
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
                removals.record(connection, [entry.location], by=self._user)
            return abandoned

        if self._lake.run(recorded):
            self._remove(entry.location)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        def withdrawn(connection: Connection) -> bool:
            row = lookups.lock(connection, self._catalog.id, table)
            if str(row.id) != entry.claim or self._is_filled(connection, row):
                return False
            tables.drop(connection, self._catalog.id, table, by=self._user)
            return True

        with suppress(NamespaceNotFoundError, TableNotFoundError):
            if self._lake.run(withdrawn):
                self._remove(entry.location)

    def _is_filled(self, connection: Connection, row: Row) -> bool:
        if row.managed:
            return versions.latest(connection, row.id) is not None
        return dataset.has_data(self._stored(row))

    # -- names for what is there -----------------------------------------------------------------

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        def registered(connection: Connection) -> Row:
            row = self._named(connection, table, location, properties)
            self._take_over(connection, row)
            return row

        def replaced(connection: Connection) -> Row | None:
            with suppress(TableNotFoundError):
                if self._let_go(connection, table) is None:
                    return None
            return registered(connection)

        return self._entry(self._settling(table, replaced) if replace else self._lake.run(registered))

    def _take_over(self, connection: Connection, row: Row) -> None:
        """Make the versions that lie at a registered location the table's."""
        if not dataset.has_data(self._stored(row)):
            raise InvalidInputError(
                f"{row.identifier} cannot be registered at {row.location}: there is no Lance table. Declare it to "
                "have one there."
            )
        if row.managed:
            self._manifests(row).adopt(connection, by=self._user)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._lake.run(lambda connection: tables.rename(connection, self._catalog.id, table, target, by=self._user))

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._entry(self._settling(table, lambda connection: self._let_go(connection, table)))

    def _settling(self, table: Identifier, work: Callable[[Connection], Row | None]) -> Row:
        """What `work` answers once storage says the same as the rows; None from it means that it does not yet."""
        for _ in range(_ATTEMPTS):
            self._settle_storage(table)
            done = self._lake.run(work)
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
        dropped = self._lake.run(lambda connection: tables.drop(connection, self._catalog.id, table, by=self._user))
        entry = self._entry(dropped)
        self._remove(entry.location)
        return entry


def _versioning(properties: Mapping[str, str]) -> tuple[bool | None, dict[str, str]]:
    """Whether a new table is to be managed, None as its catalog has it; and the properties that are kept."""
    kept = {key: value for key, value in properties.items() if key != VERSIONING}
    if VERSIONING not in properties:
        return None, kept
    return mode(f"The property {VERSIONING}", properties[VERSIONING], MANAGED, STORAGE) == MANAGED, kept
