"""Tables of a server that keeps names alone: what it does not do with their data is done here, on their storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_namespace import DeclareTableRequest, DeregisterTableRequest, DescribeTableRequest
from pydantic import BaseModel

from lanceway.catalogs.contract.base import ON_THEIR_OWN, Catalog, TableEntry
from lanceway.catalogs.contract.operations import OPERATIONS, stream_twin
from lanceway.catalogs.contract.tables import TableOperations
from lanceway.errors import InternalError, UnsupportedOperationError
from lanceway.identifiers import Identifier

SERVER, STORAGE = "server", "storage"

# Asked of the server first: a table's versions may be the server's own.
_VERSIONS = frozenset(
    {"batch_delete_table_versions", "create_table_version", "describe_table_version", "list_table_versions"}
)
ON_STORAGE = (
    frozenset({*OPERATIONS} & {*vars(TableOperations), "create_table", "describe_table", "table_exists"}) - ON_THEIR_OWN
)


class RestStorage(Catalog):
    """The questions that are left where data is reached without the server: where a table lies, and claiming a name."""

    @property
    def _reaches_storage(self) -> bool:
        return bool(self._settings["data"] == STORAGE)

    def _ask(self, operation: str, request: BaseModel, data: Any = None) -> Any:
        """Ask the server."""
        raise NotImplementedError

    def _on_storage(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """An operation of ON_STORAGE, or a twin of one that streams."""
        if operation in _VERSIONS:
            try:
                return self._ask(operation, request)
            except UnsupportedOperationError:
                pass  # then they are in storage
        return getattr(Catalog, operation)(self, request, *data)

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._entry(table, self._ask("describe_table", DescribeTableRequest(id=list(table))))

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        given = dict(properties) or None
        request = DeclareTableRequest(id=list(table), location=location, properties=given)
        return self._entry(table, self._ask("declare_table", request))

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._entry(table, self._ask("deregister_table", DeregisterTableRequest(id=list(table))))

    def _entry(self, table: Identifier, answer: Any) -> TableEntry:
        if not answer.location:
            raise InternalError(f"The server does not say where {table} lies.")
        options = getattr(answer, "storage_options", None)
        return TableEntry(
            answer.location, options or None, answer.properties, getattr(answer, "managed_versioning", None)
        )


def is_on_storage(operation: str) -> bool:
    return operation.removesuffix(stream_twin("")) in ON_STORAGE
