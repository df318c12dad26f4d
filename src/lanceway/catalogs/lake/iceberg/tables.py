"""The Iceberg tables of a lake's catalog, and the companions of its Lance tables."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergTable
from lanceway.catalogs.lake.connection import STORAGE, location_of
from lanceway.catalogs.lake.iceberg import places
from lanceway.catalogs.lake.iceberg.orphans import LakeOrphans
from lanceway.catalogs.lake.iceberg.places import IcebergPlace
from lanceway.catalogs.lake.iceberg.pointers import MetadataChange, NamedIceberg, StalePointerError, stale
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import VERSIONING, LakeTables
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.store.schema import ICEBERG_TABLE, TABLE
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.tables.iceberg import companions, metadata, properties, updates
from lanceway.wire.iceberg import LANCE, TABLE_TYPE

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

KINDS = (ICEBERG_TABLE, TABLE)
_COLLECTS = "gc.enabled"
_CLEANS = "write.metadata.delete-after-commit.enabled"
_ATTEMPTS = 20
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5  # seconds


@dataclass(frozen=True, slots=True)
class LakeIcebergTables(NamedIceberg):
    """Iceberg tables: rows that point to metadata files. Lance tables beside them are shown as companions."""

    kinds = KINDS

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> LoadedIceberg:
        try:
            return self._loaded(self.row(table))
        except StalePointerError:
            return self._loaded(self.row(table))

    def _loaded(self, row: TableRow) -> LoadedIceberg:
        location = places.uri_of(location_of(row))
        if row.kind == TABLE:
            return self._companion(row, location)
        return self._opened(self._pointers.read(row), row.metadata_pointer, location)

    def _opened(self, data: bytes, pointer: str | None, location: str) -> LoadedIceberg:
        return LoadedIceberg(data, pointer, location, storage_options=self.lake.options)

    def _companion(self, row: TableRow, location: str) -> LoadedIceberg:
        document = companions.metadata(
            name=f"{self.lake.store.identity}/{row.id}",
            location=location,
            properties=row.properties,
            updated_at=row.audit.changed_at,
        )
        return LoadedIceberg(document, None, location, is_companion=True)

    # -- making ----------------------------------------------------------------------------------

    def create(self, table: Identifier, new: NewIcebergTable) -> LoadedIceberg:
        if companions.is_lance(new.properties):
            return self._declare(table, new)
        self._pointers.refuse_taken(table)
        place = places.new(self.lake, str(table)) if new.location is None else places.chosen(self.lake, new.location)
        built = metadata.build(
            new.schema,
            location=place.uri,
            partition_spec=new.partition_spec,
            sort_order=new.sort_order,
            properties=new.properties,
        )
        places.check_files(self.lake, place, built)
        data = metadata.write(built)
        change = MetadataChange(table, ICEBERG_TABLE, place, data)
        if new.staged:
            self._pointers.refuse_overlap(change)
            return self._opened(data, None, place.uri)
        (pointer,) = self._pointers.carry_out([change])
        return self._opened(data, pointer, place.uri)

    def _declare(self, table: Identifier, new: NewIcebergTable) -> LoadedIceberg:
        """Declare a Lance table, or register the one at the location that a client chose.

        It keeps its versions in storage: who writes it through Iceberg claims none.
        """
        if new.staged:
            raise UnsupportedOperationError(
                f"{table} cannot be staged: it is a Lance table ({TABLE_TYPE} is {LANCE}). Create it at once."
            )
        chosen = None if new.location is None else places.chosen(self.lake, new.location).location
        kept = {key: value for key, value in new.properties.items() if key not in (TABLE_TYPE, VERSIONING)}
        lance = LakeTables(self.lake)
        place = lance.look_at(table, chosen)
        stored = {**properties.checked(kept), VERSIONING: STORAGE}
        if place is not None and place.is_table:
            lance.register(table, place.location, stored, replace=False)
            return self._loaded(self.row(table))
        return self._loaded(self.lake.store.transact(lance.declare_row, table, place, stored))

    def register(self, table: Identifier, pointer: str, *, overwrite: bool) -> LoadedIceberg:
        row = self._registered_over(table) if overwrite else None
        if row is None:
            self._pointers.refuse_taken(table)
        own = None if row is None else row.location
        file, data = self._pointers.read_foreign(pointer, own)
        foreign = metadata.read(data)
        _refuse_lance(table, foreign.properties)
        place = places.chosen(self.lake, foreign.location, own=own)
        places.check_files(self.lake, place, foreign)
        if not file.location.startswith(f"{place.location}/"):
            raise InvalidInputError(
                f"{table} cannot be registered from {pointer}: the file says that its table is at {foreign.location}, "
                "and is not there itself. Register a metadata file below the location of its table."
            )
        change = MetadataChange(table, ICEBERG_TABLE, place, data, row, pointer=file.uri, event="registered")
        with nullcontext() if row is None else LakeOrphans(self.lake).keeping_replaced(row):
            self._pointers.carry_out([change])
        return self._opened(data, file.uri, place.uri)

    def _registered_over(self, table: Identifier) -> TableRow | None:
        try:
            row = self.row(table)
        except TableNotFoundError:
            return None  # or what has the name is no table, which the creation refuses
        if row.kind == TABLE:
            raise TableAlreadyExistsError(f"The Lance table {table} exists already, and is not overwritten. Drop it.")
        return row

    # -- commits ---------------------------------------------------------------------------------

    def commit(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        """Carry out all commits or none. Where others were faster, they are computed and checked again."""
        asked = [Identifier(commit.id) for commit in commits]
        if len({tuple(lookups.known(table)) for table in asked}) < len(asked):
            raise InvalidInputError("A transaction names a table twice. Put all updates of a table into one commit.")
        for attempt in range(_ATTEMPTS - 1):
            try:
                return self._commit(asked, commits)
            except StalePointerError:
                # Random and growing, so that writers that conflicted once do not meet again at the same moment.
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)))
        return self._commit(asked, commits)

    def _commit(self, asked: Sequence[Identifier], commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        plans = [self._plan(table, commit) for table, commit in zip(asked, commits, strict=True)]
        changes = [plan for plan in plans if isinstance(plan, MetadataChange)]
        for change in changes:
            if change.row is not None:
                LakeOrphans(self.lake).note_move(change.row, change.place.location)
        pointers = iter(self._pointers.carry_out(changes) if changes else ())
        loaded = [
            self._opened(plan.data, next(pointers), plan.place.uri) if isinstance(plan, MetadataChange) else plan
            for plan in plans
        ]
        # They do no harm, and the commit is made: it must not look as if it had failed.
        with suppress(LanceNamespaceError):
            self._pointers.files.remove(*(file for change in changes for file in change.obsolete))
        return loaded

    def _plan(self, table: Identifier, commit: IcebergCommit) -> MetadataChange | LoadedIceberg:
        """Return the change that a commit comes to, or the table as it is where it changes nothing."""
        requirements = metadata.parse_requirements(commit.requirements)
        try:
            row = self.row(table)
        except TableNotFoundError:
            if not commit.creates:
                raise
            metadata.require(requirements, None)
            return self._creation(table, commit)
        if commit.creates:
            raise TableAlreadyExistsError(f"The table {table} exists already. Use it, or choose another name.")
        if row.kind == TABLE:
            raise UnsupportedOperationError(
                f"{table} is a Lance table, which Iceberg clients see as an empty table and cannot change. Use a Lance "
                "client."
            )
        before = metadata.read(self._pointers.read(row))
        metadata.require(requirements, before)
        moved, place = places.after(self.lake, commit.updates, self._pointers.place_of(row, before.location))
        after = updates.change(before, moved, row.metadata_pointer)
        if after is before:
            return self._loaded(row)
        _refuse_lance(table, after.properties)
        places.check_files(self.lake, place, after, before)
        obsolete = _obsolete(before, after, place)
        return MetadataChange(table, ICEBERG_TABLE, place, metadata.write(after), row, obsolete=obsolete)

    def _creation(self, table: Identifier, commit: IcebergCommit) -> MetadataChange:
        self._pointers.refuse_taken(table)
        moved, place = places.after(self.lake, commit.updates, places.new(self.lake, str(table)))
        after = updates.create(moved, place.uri)
        _refuse_lance(table, after.properties)
        places.check_files(self.lake, place, after)
        return MetadataChange(table, ICEBERG_TABLE, place, metadata.write(after))

    # -- renaming and dropping -------------------------------------------------------------------

    def rename(self, table: Identifier, target: Identifier) -> None:
        kind = self.row(table).kind
        self.lake.store.transact(tables.rename, self.lake.catalog.id, table, target, by=self.lake.user, kind=kind)

    def drop(self, table: Identifier, *, purge: bool, expected: str | None = None) -> None:
        row = self.row(table)
        if row.kind == TABLE:
            lance = LakeTables(self.lake)
            (lance.drop if purge else lance.deregister)(table)
        elif purge:
            self._refuse_shared(row)
            dropped = self.lake.store.transact(self._forget, tables.drop, table, expected)
            Removals(self.lake).remove(location_of(dropped))
        else:
            LakeOrphans(self.lake).keep(location_of(row))
            self.lake.store.transact(self._forget, tables.deregister, table, expected)

    def _forget(
        self, connection: Connection, forget: Callable[..., TableRow], table: Identifier, expected: str | None
    ) -> TableRow:
        row = lookups.lock(connection, self.lake.catalog.id, table, kind=ICEBERG_TABLE)
        if expected not in (None, row.metadata_pointer):
            raise stale(table)
        return forget(connection, self.lake.catalog.id, table, by=self.lake.user, kind=ICEBERG_TABLE)

    def _refuse_shared(self, row: TableRow) -> None:
        """Refuse to delete files of a table that says that they may be others' too. What is lost says nothing."""
        try:
            current = metadata.read(self._pointers.read(row))
        except (InvalidInputError, InvalidTableStateError):
            return
        if current.properties.get(_COLLECTS, "true").lower() == "false":
            raise InvalidInputError(
                f"{row.identifier} cannot be purged: its property {_COLLECTS} is false, since other tables may have "
                "its files. Drop it without purge, or set the property to true."
            )


def _obsolete(before: TableMetadata, after: TableMetadata, place: IcebergPlace) -> list[str]:
    """Return the metadata files that a commit takes out of the table's log, where its properties ask for that."""
    if after.properties.get(_CLEANS, "false").lower() != "true":
        return []
    kept = {entry.metadata_file for entry in after.metadata_log}
    gone = (entry.metadata_file for entry in before.metadata_log)
    return [file for file in gone if file not in kept and places.is_within(file, place)]


def _refuse_lance(table: Identifier, of: Mapping[str, str]) -> None:
    if companions.is_lance(of):
        raise InvalidInputError(
            f"{table} cannot have the property {TABLE_TYPE}={LANCE}: that is how Lance tables are shown to Iceberg "
            "clients, and this is an Iceberg table."
        )
