"""Work on the data of a server's tables without the server: on their storage, in this process.

Some servers keep names alone. With the setting `data=storage`, operations on the data of a table are run here, and the
server is asked only where the table is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lance_namespace import DeclareTableRequest, DeregisterTableRequest, DescribeTableRequest
from pydantic import BaseModel

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.hooks import (
    BACKGROUND,
    MUST_OVERRIDE,
    OPERATIONS,
    REQUIRED_HOOKS,
    CatalogHooks,
    stream_twin,
)
from lanceway.catalogs.contract.jobs import JobQueue
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InternalError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.tables.dataset import StoredTable

SERVER, STORAGE = "server", "storage"

# Asked of the server first: it may keep a table's versions itself.
_VERSIONS = frozenset(
    {"batch_delete_table_versions", "create_table_version", "describe_table_version", "list_table_versions"}
)
# The operations that need no more than a table's location.
ON_STORAGE = {"create_table"} | ({*OPERATIONS} - {*REQUIRED_HOOKS} - MUST_OVERRIDE - BACKGROUND)


def is_on_storage(operation: str) -> bool:
    """Return whether an operation, or its twin that streams, can be run on a table's storage."""
    return operation.removesuffix(stream_twin("")) in ON_STORAGE


class StorageCatalog(Catalog):
    """The tables of a server, worked on in their storage: the server finds them and claims their names.

    `ask` sends a request to the server; `catalog` is the catalog of that server, as which pylance and jobs know it.
    """

    TYPE = "rest"

    def __init__(self, ask: Callable[[str, BaseModel], Any], catalog: CatalogHooks) -> None:
        super().__init__()
        self._ask = ask
        self._catalog = catalog

    def run(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Run an operation of ON_STORAGE, or its twin that streams."""
        if operation in _VERSIONS:
            try:
                return self._ask(operation, request)
            except UnsupportedOperationError:
                pass  # then the versions are in storage
        return carry_out(self, operation, request, *data)

    def _find_table(self, table: Identifier) -> TableEntry:
        return _entry(table, self._ask("describe_table", DescribeTableRequest(id=list(table))))

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        request = DeclareTableRequest(id=list(table), location=location, properties=dict(properties) or None)
        return _entry(table, self._ask("declare_table", request))

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return _entry(table, self._ask("deregister_table", DeregisterTableRequest(id=list(table))))

    def _handle(self, table: Identifier, entry: TableEntry) -> StoredTable:
        handle = super()._handle(table, entry)
        return handle if handle.client is None else replace(handle, client=self._catalog)

    def _desk(self) -> JobQueue | None:
        return self._catalog._desk()


def _entry(table: Identifier, response: Any) -> TableEntry:
    if not response.location:
        raise InternalError(f"The server does not say where {table} is.")
    options = getattr(response, "storage_options", None)
    managed = getattr(response, "managed_versioning", None)
    return TableEntry(response.location, options or None, response.properties, managed)
