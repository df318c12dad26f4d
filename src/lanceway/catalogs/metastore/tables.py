"""The operations on tables that an external service keeps by name, such as Glue, Unity and Iceberg.

A service creates, loads and deletes rows (`TableService`). `ExternalTables` makes the operations of a catalog of
these, each of which leaves nothing half-done: a name is claimed and withdrawn, registered or replaced, dropped with its
data, or moved by a new row and the deletion of the old one.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from lanceway.catalogs.contract.base import TableEntry
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)

# The property that tells one claim of a name from the next, and ours after a response that was lost.
CLAIM = "lanceway.claim"
# The property by which every service marks a Lance table.
TABLE_TYPE, LANCE = "table_type", "lance"
# As much of a claim as the name of a table's folder ends with.
_MARK = 8

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class NewTable:
    """A row that is to be made."""

    location: str  # empty where the service chooses
    properties: Mapping[str, str]
    claim: str = field(default_factory=lambda: uuid.uuid4().hex)
    schema: pa.Schema | None = None
    registered: bool = False  # whether the data is there already, so that the service must keep the location


class TableService(Protocol[Row]):
    """A service that keeps rows, each of which is one table."""

    @property
    def name(self) -> str:
        """Return what people call the service."""

    @property
    def reserved(self) -> tuple[str, ...]:
        """Return the properties that the catalog sets itself and a client may not."""

    def check_new(self, table: Identifier) -> Identifier:
        """Return the identifier as the service has it. Raises InvalidInputError where no table may have it."""

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the location of a new table: the given one as a URI, or a new one; empty where the service chooses."""

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return the storage options of a table that is yet to be made, without those that the service would vend."""

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> pa.Schema | None:
        """Check that a Lance table is there to be registered, and return its schema if the service shows columns."""

    def load(self, table: Identifier) -> Row:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""

    def peek(self, table: Identifier) -> Row:
        """Return what has the name, in the cheapest way: it is only compared. Raises as `load`."""

    def create(self, table: Identifier, new: NewTable) -> Row:
        """Make a row. Raises TableAlreadyExistsError, but not for a row of the same claim."""

    def replace(self, table: Identifier, new: NewTable) -> Row:
        """Put another row in the place of the one that has the name."""

    def delete(self, table: Identifier, row: Row) -> None:
        """Delete a row that was there a moment ago; the data stays."""

    def claim_of(self, row: Row) -> str | None:
        """Return the claim that the row was made with, None for a row that another tool made."""

    def describe(self, row: Row) -> TableEntry:
        """Return the entry of a row without storage options, which may be such that they are refused."""

    def entry(self, row: Row) -> TableEntry:
        """Return the entry of a row with the storage options of the catalog and the table."""

    def reach(self, row: Row) -> TableEntry:
        """Return the entry of a row with all that is needed to read it, vended credentials included."""


class CopyingService(TableService[Row], Protocol[Row]):
    """A service that cannot rename."""

    def copy(self, row: Row, target: Identifier) -> Row:
        """Make a row of the same table under another name, with a claim of its own."""


class ExternalTables(Generic[Row]):
    """The operations of a catalog on the tables of a service."""

    def __init__(self, service: TableService[Row]) -> None:
        self._service = service

    # -- claims ----------------------------------------------------------------------------------

    def declare(
        self, table: Identifier, location: str | None, properties: Mapping[str, str], schema: pa.Schema | None = None
    ) -> TableEntry:
        """Claim a name, but not over a Lance table that is there, which a drop would delete.

        A table that cannot be reached is not left behind.
        """
        service = self._service
        table = service.check_new(table)
        self._refuse_reserved(table, properties)
        claim = uuid.uuid4().hex
        where = service.locate(table, location, claim)
        options = service.storage_options(where, properties) or None
        has_data = False if is_own_folder(where, claim) else _has_data_at(table, where, options)
        if has_data:
            self._refuse_taken(table)
            raise _filled(table, where, is_chosen=location is not None)
        row = service.create(table, NewTable(where, properties, claim, schema))
        try:
            entry = service.reach(row)
            # Looked at once more with what the service vends, or where it has put the table.
            if (has_data is None or not _is_same(entry.location, where)) and _has_data(_handle(table, entry)):
                raise _filled(table, entry.location, is_chosen=location is not None)
        except LanceNamespaceError:
            service.delete(table, row)
            raise
        return entry

    def _refuse_taken(self, table: Identifier) -> None:
        """Raise TableAlreadyExistsError if a table has the name, NamespaceNotFoundError for a missing parent."""
        try:
            self._service.load(table)
        except TableNotFoundError:
            return
        except InvalidInputError:
            pass  # a table of another kind
        raise TableAlreadyExistsError(f"{table} cannot be created: a table has this name already.")

    def _refuse_reserved(self, table: Identifier, properties: Mapping[str, str]) -> None:
        reserved = [name for name in self._service.reserved if name in properties]
        if properties.get(TABLE_TYPE, LANCE).lower() != LANCE:
            reserved.append(TABLE_TYPE)
        if reserved:
            raise InvalidInputError(
                f"{table} cannot have the property {reserved[0]} with a value of its own: it is how Lance tables are "
                f"recognized in {self._service.name}. Leave it out."
            )

    def holds(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the claim behind an entry still stands."""
        return self._claimed_row(table, entry) is not None

    def _claimed_row(self, table: Identifier, entry: TableEntry) -> Row | None:
        try:
            row = self._service.peek(table)
        except (InvalidInputError, NamespaceNotFoundError, TableNotFoundError):
            return None
        current = self._service.describe(row)
        return row if (current.claim, current.location) == (entry.claim, entry.location) else None

    def withdraw(self, table: Identifier, entry: TableEntry) -> None:
        """Take back a claim whose first write failed, unless another writer has filled the table since."""
        row = self._claimed_row(table, entry)
        if row is not None and not dataset.has_data(_handle(table, entry)):
            with suppress(NamespaceNotFoundError, TableNotFoundError):
                self._service.delete(table, row)

    def clear_away(self, entry: TableEntry) -> None:
        """Remove what a failed first write left in a folder that was made for this claim alone."""
        if is_own_folder(entry.location, entry.claim):
            remove_data(entry)

    # -- names of tables that are there ----------------------------------------------------------

    def register(self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool) -> TableEntry:
        """Give a name to a table that is there; `replace` the row that has the name."""
        service = self._service
        table = service.check_new(table)
        self._refuse_reserved(table, properties)
        claim = uuid.uuid4().hex
        where = service.locate(table, location, claim)
        new = NewTable(where, properties, claim, service.inspect(table, where, properties), registered=True)
        try:
            return service.entry(service.create(table, new))
        except TableAlreadyExistsError:
            if not replace:
                raise
        return service.entry(service.replace(table, new))

    def deregister(self, table: Identifier) -> TableEntry:
        """Forget a table and keep its data."""
        row = self._service.load(table)
        self._service.delete(table, row)
        return self._service.describe(row)

    def drop(self, table: Identifier) -> TableEntry:
        """Forget a table, then delete its data: a failure leaves files that no name leads to, and says where."""
        row = self._service.load(table)
        entry = self._service.reach(row)
        refuse_everything(table, entry)
        self._service.delete(table, row)
        with data_left_behind(self._service.name, table, entry):
            remove_data(entry)
        return entry


def rename_by_copy(service: CopyingService[Row], table: Identifier, target: Identifier) -> None:
    """Rename where the service cannot. The new name is made first, so that the table has one at every moment."""
    target = service.check_new(target)
    row = service.load(table)
    copy = service.copy(row, target)
    try:
        service.delete(table, row)
    except TableNotFoundError:
        service.delete(target, copy)
        raise
    except LanceNamespaceError:
        # The old name may be gone all the same. If it is, the new one is the only one there is.
        if _is_there(service, table, row):
            service.delete(target, copy)
            raise


def _is_there(service: TableService[Row], table: Identifier, row: Row) -> bool:
    try:
        return service.claim_of(service.peek(table)) == service.claim_of(row)
    except (InvalidInputError, NamespaceNotFoundError, TableNotFoundError):
        return False


def find_created(service: TableService[Row], table: Identifier, claim: str, error: LanceNamespaceError) -> Row:
    """Return the row that was made although its response did not arrive, or raise the error that came instead."""
    try:
        row = service.peek(table)
    except (InvalidInputError, NamespaceNotFoundError, ServiceUnavailableError, TableNotFoundError):
        raise error from None
    if service.claim_of(row) == claim:
        return row
    if isinstance(error, TableAlreadyExistsError):
        raise error
    raise TableAlreadyExistsError(f"{table} cannot be created: a table has this name already.") from error


# -- data ----------------------------------------------------------------------------------------


def require_data(table: Identifier, location: str, options: Mapping[str, str] | None) -> StoredTable:
    """Return the table at a location. Raises InvalidInputError where no Lance table is."""
    handle = StoredTable(str(table), location, options or None)
    if not dataset.has_data(handle):
        raise InvalidInputError(
            f"{table} cannot be registered at {location}: there is no Lance table. Declare it to have one there."
        )
    return handle


def _has_data_at(table: Identifier, where: str, options: Mapping[str, str] | None) -> bool | None:
    """Return whether a Lance table is at a location, None where that is not known yet, or storage does not say."""
    return _has_data(StoredTable(str(table), where, options)) if where else None


def _has_data(table: StoredTable) -> bool | None:
    """Return whether a Lance table is at a location, None if storage does not say: a catalog may have no access."""
    try:
        return dataset.has_data(table)
    except LanceNamespaceError as error:
        _LOG.info("%s is declared without a look at its location: %s", table.name, error)
        return None


def _filled(table: Identifier, location: str, *, is_chosen: bool) -> LanceNamespaceError:
    """Return why no table is declared where one is. One at a location of its name may be on its way out."""
    where = f"{table} cannot be declared at {location}: there is a Lance table already"
    if is_chosen:
        return InvalidInputError(f"{where}, which a drop would delete. Register it, or choose another location.")
    return ConcurrentModificationError(
        f"{where}, which the catalog does not know. It was deregistered, or is being dropped. Register it, declare the "
        "new one elsewhere, or delete what is there."
    )


def _is_same(location: str, other: str) -> bool:
    return location.rstrip("/") == other.rstrip("/")


def refuse_everything(table: Identifier, entry: TableEntry) -> None:
    """Refuse to drop a table whose location is a whole bucket or file system."""
    if not urlsplit(entry.location).path.strip("/"):
        raise InvalidInputError(
            f"{table} cannot be dropped: its location is {entry.location}, which would be deleted as a whole. "
            "Deregister it, and delete its data by hand."
        )


def remove_data(entry: TableEntry) -> None:
    """Delete what Lance has made. Anyone may choose a location, and other things may be there."""
    own_files.remove(open_store(entry.location, entry.storage_options))


@contextmanager
def data_left_behind(service: str, table: Identifier, entry: TableEntry) -> Iterator[None]:
    """Say of a failure to delete data that the name is gone already."""
    try:
        yield
    except LanceNamespaceError as error:
        raise type(error)(
            f"{table} is gone from {service}, but its data is still at {entry.location}: {error} Delete it there once "
            "the cause is removed."
        ) from error


def own_folder(name: str, claim: str) -> str:
    """Return the name of a folder that no other table ever has, not even the next one of this name."""
    return f"{name}-{claim[:_MARK]}.lance"


def is_own_folder(location: str, claim: str | None) -> bool:
    """Return whether a folder was made for this claim of a name, and belongs to no other table."""
    return claim is not None and claim != "" and location.rstrip("/").endswith(f"-{claim[:_MARK]}.lance")


def _handle(table: Identifier, entry: TableEntry) -> StoredTable:
    return StoredTable(str(table), entry.location, entry.storage_options)
