"""Creating a table with data: a name is claimed, its first version written, and both hold or neither."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableRequest, CreateTableResponse, DeclareTableRequest, LanceNamespace

from lanceway.catalogs.contract.hooks import TableEntry
from lanceway.catalogs.contract.metadata import MetadataOperations
from lanceway.catalogs.contract.requests import accept, mode, table_id
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.tables.read import ipc
from lanceway.tables.write import create, rows

if TYPE_CHECKING:
    import pyarrow as pa


class TableCreation(MetadataOperations):
    """The modes of creation, on any catalog that can declare a table and find it again."""

    def create_table(self, request: CreateTableRequest, request_data: bytes) -> CreateTableResponse:
        return self.create_table_stream(request, ipc.read(request_data))

    def create_table_stream(self, request: CreateTableRequest, data: pa.RecordBatchReader) -> CreateTableResponse:
        """Create a table from a reader: `create_table` without holding the data whole."""
        request = accept(CreateTableRequest, request)
        table = table_id(request.id, "create_table")
        chosen = mode("The mode of create_table", request.mode, "create", "exist_ok", "overwrite")
        try:
            entry, claimed = self._declare_first(table, request.properties or {}, data.schema), True
        except TableAlreadyExistsError as taken:
            entry, claimed = self._existing(table, taken), False
            if not self._is_declared_only(table, entry):
                return self._create_over(table, entry, request, chosen, data)
        try:
            with self._claim(table, entry) if claimed else nullcontext():
                return self._write_first(table, entry, request, data)
        except TableAlreadyExistsError:
            # Somebody else filled the declared name while our data was on its way.
            if chosen != "exist_ok":
                raise
            return self._create_over(table, entry, request, chosen, data)

    @contextmanager
    def _claim(self, table: Identifier, entry: TableEntry) -> Iterator[None]:
        """Hold a claimed name while its first version is written; take it back if that fails for any reason."""
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

    def _existing(self, table: Identifier, taken: TableAlreadyExistsError) -> TableEntry:
        """The table behind a name that is taken. What takes it may be a namespace, hidden, or gone again."""
        try:
            return self._find_table(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            raise taken from None

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> CreateTableResponse:
        """The table is there with data: refuse, keep it, or replace what it holds in one new version."""
        if chosen == "create":
            raise TableAlreadyExistsError(
                f"{table} cannot be created: it already exists at {entry.location}. "
                "Use mode exist_ok to keep it or overwrite to replace it."
            )
        handle = self._handle(table, entry)
        if chosen == "overwrite":
            version = rows.overwrite(_reached(handle, request), data, request.storage_options)
        else:
            version = dataset.open_at(handle).version
        return self._created(entry, version)

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: CreateTableRequest, data: pa.RecordBatchReader
    ) -> CreateTableResponse:
        claim = create.CreateClaim(entry.claim, lambda: self._holds(table, entry))
        try:
            handle = _reached(self._handle(table, entry), request)
            written = create.create(handle, data, request.storage_options, claim)
        except LanceNamespaceError:
            if not self._holds(table, entry):
                self._clear_away(table, entry)
            raise
        return self._created(entry, written.version)

    def _created(self, entry: TableEntry, version: int) -> CreateTableResponse:
        return CreateTableResponse(
            location=entry.location,
            version=version,
            storage_options=None if entry.storage_options is None else dict(entry.storage_options),
            properties=None if entry.properties is None else dict(entry.properties),
        )

    def create_empty_table(self, request: CreateTableRequest) -> CreateTableResponse:
        """Deprecated in the contract: `declare_table` under its old name."""
        request = accept(CreateTableRequest, request)
        declared = self.declare_table(DeclareTableRequest(id=request.id, properties=request.properties))
        return CreateTableResponse(
            location=declared.location,
            storage_options=declared.storage_options,
            properties=declared.properties,
        )


class _Reached(Wrapper):
    """The client of a managed table for a request with storage options of its own.

    pylance asks it for options, and lays what it answers over those that it was given.
    """

    def __init__(self, inner: LanceNamespace, options: Mapping[str, str]) -> None:
        super().__init__(inner)
        self._options = dict(options)

    def _forward(self, operation: str, request: Any, *data: Any) -> Any:
        answer = super()._forward(operation, request, *data)
        if operation == "describe_table":
            return answer.model_copy(update={"storage_options": dict(self._options)})
        return answer

    def namespace_id(self) -> str:
        # What pylance remembers for one set of options must not serve another.
        options = hashlib.sha256(json.dumps(self._options, sort_keys=True).encode()).hexdigest()[:32]
        return f"{super().namespace_id()}-{options}"


def _reached(table: Table, request: CreateTableRequest) -> Table:
    if table.client is None or not request.storage_options:
        return table
    options = create.with_options(table, request.storage_options).storage_options or {}
    return replace(table, client=_Reached(table.client, options))
