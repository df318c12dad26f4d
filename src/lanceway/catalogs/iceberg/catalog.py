"""Lance tables in any Iceberg REST catalog, as the specification of that mapping says.

    [warehouse, namespace…, table]      the root lists the configured warehouse

`IcebergCatalog` shows all that such a catalog answers. `IcebergClient` sends requests, `IcebergNamespaces` and
`IcebergTables` say which, and `ExternalTables` has what Iceberg shares with other services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableRequest, CreateTableResponse, DropNamespaceRequest, DropNamespaceResponse

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.iceberg.tables import IcebergTables
from lanceway.catalogs.metastore.iceberg import names
from lanceway.catalogs.metastore.iceberg.client import IcebergClient
from lanceway.catalogs.metastore.iceberg.namespaces import IcebergNamespaces
from lanceway.catalogs.metastore.iceberg.settings import SETTINGS, IcebergSettings
from lanceway.catalogs.metastore.tables import ExternalTables
from lanceway.errors import ConcurrentModificationError, LanceNamespaceError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    import pyarrow as pa


class IcebergCatalog(Catalog):
    """An Iceberg REST catalog that keeps Lance tables beside its own."""

    TYPE = "iceberg"
    SETTINGS = SETTINGS
    SHARES_NAMES = True

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = IcebergSettings.read(self._owner(), self._settings)
        self._complete(endpoint=settings.endpoint, root=settings.root)
        self._client_settings = settings
        self._client = IcebergClient(settings)
        self._namespaces = IcebergNamespaces(self._client, settings.warehouse, self._owner())
        self._tables = IcebergTables(self._client, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._client.close()

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(3, None)

    def client_properties(self) -> dict[str, Any]:
        """Return the properties with which pyiceberg's REST client opens the warehouse. They may hold secrets."""
        return self._client_settings.client_properties()

    def check_new_table(self, table: Identifier) -> None:
        names.check_table(table)

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the uuid of a table's metadata. Iceberg gives its namespaces nothing of the kind."""
        if is_namespace:
            return None
        uuid = self._tables.peek(Identifier(id_)).uuid
        return None if uuid is None else (uuid, None)

    def ask_service(self) -> None:
        """Ask the server for a namespace of the configured warehouse."""
        self._namespaces.ask_service()

    # -- namespaces ------------------------------------------------------------------------------

    def drop_namespace(self, request: DropNamespaceRequest | Mapping[str, Any]) -> DropNamespaceResponse:
        """Drop a namespace. One that is missing is fine, as the specification has it, unless the mode is `fail`."""
        request = accept(DropNamespaceRequest, request)
        return super().drop_namespace(request if request.mode else request.model_copy(update={"mode": "skip"}))

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str]:
        return self._namespaces.properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        children = self._namespaces.children(namespace)
        return sorted(name for name in children if after is None or name > after)[:limit]

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        return self._namespaces.create(namespace, properties)

    def _keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str] | None:
        if not replace:
            return super()._keep_or_replace(namespace, properties, replace=False)
        return self._namespaces.replace(namespace, properties)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> None:
        self._namespaces.drop(namespace, cascade)

    # -- tables ----------------------------------------------------------------------------------

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._tables.reach(self._tables.load(table))

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        return self._tables.children(namespace, after, limit, include_declared)

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._external.declare(table, location, properties)

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: CreateTableRequest, data: pa.RecordBatchReader
    ) -> CreateTableResponse:
        try:
            return super()._write_first(table, entry, request, data)
        except ConcurrentModificationError as error:
            if not self._holds(table, entry) or not self._has_data(table, entry):
                raise
            raise ConcurrentModificationError(
                f"{table} cannot be created: at {entry.location} is a Lance table already, which the catalog does not "
                "know. It was deregistered, or is being dropped. Register it, declare the new one elsewhere, or "
                "delete what is there."
            ) from error

    def _has_data(self, table: Identifier, entry: TableEntry) -> bool:
        try:
            return not self._is_declared_only(table, entry)
        except LanceNamespaceError:
            return False

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        return self._external.holds(table, entry)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        self._tables.withdraw(table, entry)

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        return self._external.register(table, location, properties, replace)

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._tables.deregister(table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._tables.drop(table)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._tables.rename(table, target)
