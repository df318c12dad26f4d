"""Where Iceberg tables are: in a lake beside its Lance tables, or in any Iceberg REST catalog. pyiceberg opens both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lance_namespace import LanceNamespace
from pyiceberg import exceptions as foreign
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, CreateTableTransaction, StagedTable, Table
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import TableRequirement, TableUpdate
from requests import RequestException

from lanceway.catalogs.contract import limits
from lanceway.catalogs.contract.iceberg import (
    CommitStateUnknownError,
    IcebergCommit,
    KeepsIceberg,
    LoadedIceberg,
    NewIcebergTable,
)
from lanceway.catalogs.iceberg.catalog import IcebergCatalog
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from lanceway.identifiers import ROOT, Identifier
from lanceway.jobs.iceberg import projection
from lanceway.tables.iceberg.storage import storage_properties

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyicebergCatalog

_LONGEST = 400  # characters of a foreign message


class IcebergTableCatalog(Protocol):
    """A catalog that has Iceberg tables. Every method raises errors of the tree alone."""

    def load(self, table: Identifier) -> Table:
        """Return a table at its current metadata."""

    def stage(self, table: Identifier, schema: Schema, properties: Mapping[str, str]) -> CreateTableTransaction:
        """Return a transaction that makes a table once it is committed. Nothing is made yet."""

    def commit(self, table: Identifier, transaction: CreateTableTransaction) -> None:
        """Carry out a transaction. Raises CommitStateUnknownError where it cannot be told whether that was done."""

    def drop(self, table: Identifier) -> None:
        """Drop a table, and its files."""


def find(catalog: LanceNamespace, iceberg: LanceNamespace | None = None) -> IcebergTableCatalog:
    """Return where Iceberg tables are: in the catalog `iceberg`, or beside the Lance tables of `catalog`.

    Raises InvalidInputError where the one named is no Iceberg catalog, or none is named and the other keeps none.
    """
    projection.keep_nulls()
    inner, above = limits.unwrap(catalog if iceberg is None else iceberg)
    if isinstance(inner, KeepsIceberg):
        return KeptIcebergTables(inner, above)
    type_ = getattr(inner, "TYPE", type(inner).__name__)
    if iceberg is None:
        raise InvalidInputError(
            f"A catalog of type {type_} keeps no Iceberg tables beside its Lance tables, as a lake does. Name the "
            "Iceberg catalog; for a Lanceway server that is its address with /iceberg."
        )
    if not isinstance(inner, IcebergCatalog):
        raise InvalidInputError(
            f"A catalog of type {type_} has no Iceberg tables. Name one of type iceberg, or the address of an Iceberg "
            "REST catalog."
        )
    return RestIcebergTables(inner.client_properties(), above)


@dataclass(frozen=True)
class KeptIcebergTables:
    """The Iceberg tables of a lake, or of another catalog of the tree that keeps them."""

    catalog: KeepsIceberg
    above: Identifier

    def _id(self, table: Identifier) -> tuple[str, ...]:
        return (*self.above, *table)

    def load(self, table: Identifier) -> Table:
        loaded = self.catalog.load_iceberg_table(self._id(table))
        if loaded.is_companion:
            raise InvalidInputError(f"{table} is a Lance table already, and no Iceberg table.")
        return Table(*self._opened(table, loaded))

    def stage(self, table: Identifier, schema: Schema, properties: Mapping[str, str]) -> CreateTableTransaction:
        new = NewIcebergTable(schema.model_dump(by_alias=True), properties=dict(properties), staged=True)
        loaded = self.catalog.create_iceberg_table(self._id(table), new)
        return CreateTableTransaction(StagedTable(*self._opened(table, loaded)))

    def commit(self, table: Identifier, transaction: CreateTableTransaction) -> None:
        transaction.commit_transaction()

    def drop(self, table: Identifier) -> None:
        self.catalog.drop_iceberg_table(self._id(table), purge=True)

    def _opened(self, table: Identifier, loaded: LoadedIceberg) -> tuple[Any, ...]:
        metadata = TableMetadataUtil.parse_raw(loaded.metadata.decode())
        storage = load_file_io(storage_properties(loaded.storage_options), loaded.location)
        confined = ConfinedFiles(storage, loaded.location)
        return self._id(table), metadata, loaded.metadata_location or "", confined, _LakeCommits(self.catalog)


class _LakeCommits(NoopCatalog):
    """What pyiceberg's transactions commit through: the lake's own commit."""

    def __init__(self, catalog: KeepsIceberg) -> None:
        super().__init__("lake")
        self._catalog = catalog

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        commit = IcebergCommit(
            table.name(),
            [row.model_dump(mode="json", by_alias=True) for row in requirements],
            [row.model_dump(mode="json", by_alias=True, exclude_none=True) for row in updates],
        )
        (committed,) = self._catalog.commit_iceberg_tables([commit])
        pointer = committed.metadata_location or ""
        return CommitTableResponse.model_validate(
            {"metadata": json.loads(committed.metadata), "metadata-location": pointer}
        )


@dataclass(frozen=True)
class RestIcebergTables:
    """The Iceberg tables of one warehouse of an Iceberg REST catalog."""

    properties: Mapping[str, Any] = field(repr=False)  # may hold secrets
    above: Identifier = ROOT

    def load(self, table: Identifier) -> Table:
        with translated(f"Loading {table}", table):
            return self._catalog().load_table(self._id(table))

    def stage(self, table: Identifier, schema: Schema, properties: Mapping[str, str]) -> CreateTableTransaction:
        with translated(f"Creating {table}", table):
            catalog, id_ = self._catalog(), self._id(table)
            if not catalog.namespace_exists(id_[:-1]):  # which a server need not look at before the commit
                raise NamespaceNotFoundError(f"Creating {table} failed: its namespace does not exist. Create it first.")
            return catalog.create_table_transaction(id_, schema, properties=dict(properties))

    def commit(self, table: Identifier, transaction: CreateTableTransaction) -> None:
        try:
            with translated(f"Creating {table}", table):
                transaction.commit_transaction()
        except (InternalError, ServiceUnavailableError) as error:
            raise CommitStateUnknownError(f"{error} Whether the table was made is not known.") from error

    def drop(self, table: Identifier) -> None:
        with translated(f"Dropping {table}", table):
            self._catalog().purge_table(self._id(table))

    def _id(self, table: Identifier) -> tuple[str, ...]:
        return (*self.above, *table)

    def _catalog(self) -> PyicebergCatalog:
        from pyiceberg.catalog.rest import RestCatalog

        return RestCatalog("iceberg", **self.properties)


@contextmanager
def translated(what: str, table: Sequence[str]) -> Iterator[None]:
    """Raise what pyiceberg and its HTTP client raise as errors of the tree."""
    try:
        yield
    except foreign.NoSuchTableError as error:
        raise TableNotFoundError(f"{what} failed: there is no Iceberg table {table}.") from error
    except foreign.NoSuchNamespaceError as error:
        raise NamespaceNotFoundError(f"{what} failed: its namespace does not exist. Create it first.") from error
    except foreign.TableAlreadyExistsError as error:
        raise TableAlreadyExistsError(f"{what} failed: the name is taken. Choose another name.") from error
    except foreign.CommitFailedException as error:
        raise ConcurrentModificationError(f"{what} failed: {_said(error)}.") from error
    except (foreign.UnauthorizedError, foreign.AuthorizationExpiredError, foreign.OAuthError) as error:
        raise UnauthenticatedError(f"{what} failed: {_said(error)}. Check the token or credential.") from error
    except foreign.ForbiddenError as error:
        raise PermissionDeniedError(f"{what} failed: {_said(error)}.") from error
    except (foreign.BadRequestError, foreign.ValidationException, foreign.ValidationError) as error:
        raise InvalidInputError(f"{what} failed: {_said(error)}.") from error
    except NotImplementedError as error:
        raise UnsupportedOperationError(f"{what} failed: {_said(error)}.") from error
    except (foreign.ServiceUnavailableError, foreign.TooManyRequestsError, RequestException) as error:
        raise ServiceUnavailableError(f"{what} failed: {_said(error)}. Try again later.") from error
    except (foreign.ServerError, foreign.CommitStateUnknownException, OSError, ValueError) as error:
        raise InternalError(f"{what} failed: {_said(error)}.") from error
    except foreign.RESTError as error:  # another answer that begins with 4: the request was refused
        raise InvalidInputError(f"{what} failed: {_said(error)}.") from error


def _said(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__).rstrip(".")[:_LONGEST]


class ConfinedFiles(FileIO):
    """A table's storage below its own location.

    Manifests name the files of a table, and anyone who may write to it writes them. Read with the keys of the whole
    lake, they could lead to files of other tables.
    """

    def __init__(self, storage: FileIO, location: str) -> None:
        super().__init__(storage.properties)
        self._storage = storage
        self._folder = f"{_path(location)}/"

    def new_input(self, location: str) -> Any:
        return self._storage.new_input(self._checked(location))

    def new_output(self, location: str) -> Any:
        return self._storage.new_output(self._checked(location))

    def delete(self, location: Any) -> None:
        self._storage.delete(self._checked(location if isinstance(location, str) else location.location))

    def _checked(self, location: str) -> str:
        path = _path(location)
        if not path.startswith(self._folder) or ".." in path.split("/"):
            raise InvalidInputError(
                f"The table names a file outside its location: {location[:_LONGEST]!r}. With the keys of the lake, "
                "only files below the location are opened. Name the server as the Iceberg catalog (--from, its address "
                "with /iceberg), so that your own rights decide."
            )
        return location


def _path(location: str) -> str:
    """Return a location without the ways to write the scheme of a local file."""
    path = location.rstrip("/")
    return f"/{path.removeprefix('file:').lstrip('/')}" if path.startswith("file:") else path


class RecordedFiles(FileIO):
    """A table's storage that remembers what was written, so that a failure can be cleaned up."""

    def __init__(self, storage: FileIO) -> None:
        super().__init__(storage.properties)
        self._storage = storage
        self.written: list[str] = []

    def new_input(self, location: str) -> Any:
        return self._storage.new_input(location)

    def new_output(self, location: str) -> Any:
        self.written.append(location)
        return self._storage.new_output(location)

    def delete(self, location: Any) -> None:
        self._storage.delete(location)

    def remove_written(self) -> None:
        """Delete what was written. One that is not there, or cannot be deleted, is left."""
        for location in self.written:
            try:
                self._storage.delete(location)
            except (OSError, ValueError):
                continue
        self.written.clear()
