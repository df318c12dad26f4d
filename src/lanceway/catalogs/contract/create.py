"""Creating a table with data: its name is claimed and its first version written, both or neither."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lance_namespace as ln

from lanceway.catalogs.contract.hooks import CatalogHooks, TableEntry
from lanceway.catalogs.contract.limits import unwrap
from lanceway.catalogs.contract.requests import accept, mode, table_id
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import LanceNamespaceError, NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.read import ipc
from lanceway.tables.schema import reserved
from lanceway.tables.write import create, rows
from lanceway.tables.write.data import for_new_table

if TYPE_CHECKING:
    import pyarrow as pa


class TableCreation(CatalogHooks):
    """CreateTable with its modes, on any catalog that can declare a table and find it again."""

    def create_table(
        self, request: ln.CreateTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.CreateTableResponse:
        return self.create_table_stream(request, ipc.read(request_data))

    def create_table_stream(
        self, request: ln.CreateTableRequest | Mapping[str, Any], data: Any
    ) -> ln.CreateTableResponse:
        """Create a table from a reader, batch by batch: `create_table` for data of any size."""
        request = accept(ln.CreateTableRequest, request)
        data = reserved.without(for_new_table(data))
        return self._create_stream(request, data)

    def _create_stream(self, request: ln.CreateTableRequest, data: pa.RecordBatchReader) -> ln.CreateTableResponse:
        """Create a table from data whose metadata may hold keys that are reserved for the catalog itself."""
        table = table_id(request.id, "create_table")
        chosen = mode("The mode of create_table", request.mode, "create", "exist_ok", "overwrite")
        try:
            entry, claimed = self._declare_first(table, request.properties or {}, data.schema), True
        except TableAlreadyExistsError as refusal:
            entry, claimed = self._existing(table, refusal), False
            if not self._is_declared_only(table, entry):
                return self._create_over(table, entry, request, chosen, data)
        try:
            with self._claim(table, entry) if claimed else nullcontext():
                return self._write_first(table, entry, request, data)
        except TableAlreadyExistsError:
            # Another writer filled the declared name while our data was on its way.
            if chosen != "exist_ok":
                raise
            return self._create_over(table, entry, request, chosen, data)

    @contextmanager
    def _claim(self, table: Identifier, entry: TableEntry) -> Iterator[None]:
        """Keep a claimed name while its first version is written; undo the claim if that fails for any reason."""
        filled = False
        try:
            yield
            filled = True
        except TableAlreadyExistsError:
            filled = True
            raise
        finally:
            if not filled:
                self._withdraw(table, entry)

    def _existing(self, table: Identifier, refusal: TableAlreadyExistsError) -> TableEntry:
        """Return the table that has the name. Raises `refusal` where a namespace has it, or none can be seen."""
        try:
            return self._find_table(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            raise refusal from None

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: ln.CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> ln.CreateTableResponse:
        """Answer for a table that exists with data: refuse, keep it, or replace its rows in one new version."""
        if chosen == "create":
            raise TableAlreadyExistsError(
                f"{table} cannot be created: it already exists at {entry.location}. "
                "Use mode exist_ok to keep it or overwrite to replace it."
            )
        handle = self._handle(table, entry)
        if chosen == "overwrite":
            version = rows.overwrite(_with_options(handle, request), data, request.storage_options)
        else:
            version = dataset.open_at(handle).version
        return self._created(entry, version)

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: ln.CreateTableRequest, data: pa.RecordBatchReader
    ) -> ln.CreateTableResponse:
        claim = create.CreateClaim(entry.claim, lambda: self._holds(table, entry))
        try:
            handle = _with_options(self._handle(table, entry), request)
            written = create.create(handle, data, request.storage_options, claim)
        except LanceNamespaceError:
            if not self._holds(table, entry):
                self._clear_away(table, entry)
            raise
        return self._created(entry, written.version)

    def _created(self, entry: TableEntry, version: int) -> ln.CreateTableResponse:
        return ln.CreateTableResponse(
            location=entry.location,
            version=version,
            storage_options=None if entry.storage_options is None else dict(entry.storage_options),
            properties=None if entry.properties is None else dict(entry.properties),
        )

    def create_empty_table(self, request: ln.CreateTableRequest | Mapping[str, Any]) -> ln.CreateTableResponse:
        """Declare a table, under the operation's old name, which the contract has deprecated."""
        return create_empty_table(self, request)


def create_empty_table(
    catalog: ln.LanceNamespace, request: ln.CreateTableRequest | Mapping[str, Any]
) -> ln.CreateTableResponse:
    """Answer the deprecated `create_empty_table` by `declare_table`."""
    request = accept(ln.CreateTableRequest, request)
    declared = catalog.declare_table(ln.DeclareTableRequest(id=request.id, properties=request.properties))
    return ln.CreateTableResponse(
        location=declared.location,
        storage_options=declared.storage_options,
        properties=declared.properties,
    )


class _ClientWithOptions(Wrapper):
    """The client of a managed table for a request with storage options of its own.

    pylance asks its client for options, and lets the response win over those that it was called with.
    """

    def __init__(self, inner: ln.LanceNamespace, options: Mapping[str, str]) -> None:
        super().__init__(inner)
        self._options = dict(options)

    def _forward(self, operation: str, request: Any, *data: Any) -> Any:
        response = super()._forward(operation, request, *data)
        if operation == "describe_table":
            return response.model_copy(update={"storage_options": dict(self._options)})
        return response

    def namespace_id(self) -> str:
        # What pylance remembers for one set of options must not serve another.
        options = hashlib.sha256(json.dumps(self._options, sort_keys=True).encode()).hexdigest()[:32]
        return f"{super().namespace_id()}-{options}"


def _with_options(table: StoredTable, request: ln.CreateTableRequest) -> StoredTable:
    if table.client is None or not request.storage_options:
        return table
    options = create.with_options(table, request.storage_options).storage_options or {}
    return replace(table, client=_ClientWithOptions(table.client, options))


def claim_of(catalog: ln.LanceNamespace, id_: Sequence[str]) -> str | None:
    """Return what tells a declaration from any other of the same name; None where a server keeps it."""
    inner, table = _inside(catalog, id_)
    return inner._find_table(table).claim if isinstance(inner, CatalogHooks) else None


def undeclare(catalog: ln.LanceNamespace, id_: Sequence[str], location: str, claim: str | None) -> None:
    """Undo a declaration, unless the name was filled, dropped or declared again since."""
    inner, table = _inside(catalog, id_)
    with suppress(NamespaceNotFoundError, TableNotFoundError):
        if isinstance(inner, CatalogHooks) and claim is not None:
            entry = inner._find_table(table)
            if (entry.claim, entry.location) == (claim, location):
                inner._withdraw(table, entry)  # which checks the claim again, in the same step
            return
        # The contract has no operation that does both at once: another client may come between the two.
        response = catalog.describe_table(ln.DescribeTableRequest(id=list(id_), check_declared=True))
        if response.is_only_declared and response.location == location:
            catalog.drop_table(ln.DropTableRequest(id=list(id_)))


def _inside(catalog: ln.LanceNamespace, id_: Sequence[str]) -> tuple[ln.LanceNamespace, Identifier]:
    inner, at = unwrap(catalog)
    return inner, Identifier((*at, *id_))
