"""Lance tables among the generic tables of Apache Polaris or Lakekeeper.

    [warehouse, namespace…, table]      the root lists the configured warehouse, which Polaris calls a catalog

Namespaces are those of Iceberg REST, which both services speak; tables are generic tables of the format lance. What
differs between the two is a `GenericDialect`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_namespace import DropNamespaceRequest, DropNamespaceResponse

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.metastore.iceberg.client import IcebergClient
from lanceway.catalogs.metastore.iceberg.namespaces import IcebergNamespaces
from lanceway.catalogs.metastore.tables import ExternalTables
from lanceway.catalogs.polaris import names
from lanceway.catalogs.polaris.client import GenericTablesClient
from lanceway.catalogs.polaris.settings import SETTINGS, PolarisSettings
from lanceway.catalogs.polaris.tables import PolarisTables
from lanceway.errors import namespace_not_empty
from lanceway.identifiers import Identifier


class PolarisCatalog(Catalog):
    """The Lance tables of an Apache Polaris or a Lakekeeper server: its generic tables of the format lance."""

    TYPE = "polaris"
    SETTINGS = SETTINGS
    SHARES_NAMES = True

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = PolarisSettings.read(self._owner(), self._settings)
        self._complete(root=settings.root)
        self._dialect = settings.dialect
        self._warehouses = IcebergClient(settings.iceberg)
        self._client = GenericTablesClient(settings, self._warehouses)
        self._namespaces = IcebergNamespaces(self._warehouses, settings.iceberg.warehouse, self._owner())
        self._tables = PolarisTables(self._client, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._client.close()
        self._warehouses.close()

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(3, None)

    def check_new_table(self, table: Identifier) -> None:
        self._tables.check_new(table)

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the claim of a table, which generic tables keep among their properties; namespaces have nothing."""
        claim = None if is_namespace else self._tables.claim_of(self._tables.peek(Identifier(id_)))
        return None if claim is None else (claim, None)

    def ask_service(self) -> None:
        """Ask the server for a namespace of the configured warehouse."""
        self._namespaces.ask_service()

    # -- namespaces ------------------------------------------------------------------------------

    def drop_namespace(self, request: DropNamespaceRequest | Mapping[str, object]) -> DropNamespaceResponse:
        """Drop a namespace. One that is missing is fine, as in Iceberg REST catalogs, unless the mode is `fail`."""
        request = accept(DropNamespaceRequest, request)
        return super().drop_namespace(request if request.mode else request.model_copy(update={"mode": "skip"}))

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str]:
        return self._namespaces.properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        children = self._namespaces.children(namespace)
        return sorted(name for name in children if after is None or name > after)[:limit]

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        names.check_new(namespace, self._dialect)
        return self._namespaces.create(namespace, properties)

    def _keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str] | None:
        if not replace:
            return super()._keep_or_replace(namespace, properties, replace=False)
        inside = self._tables.any_in(namespace) if namespace.depth > 1 else None
        if inside is not None:
            raise namespace_not_empty(
                f"{namespace} cannot be overwritten: it holds {inside!r}. Drop what is inside first."
            )
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

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        return self._external.holds(table, entry)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        self._external.withdraw(table, entry)

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        self._external.clear_away(entry)

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        return self._external.register(table, location, properties, replace)

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._external.deregister(table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._external.drop(table)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._tables.rename(table, target)
