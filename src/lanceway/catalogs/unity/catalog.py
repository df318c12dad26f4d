"""Unity Catalog: Lance tables among its external tables, as the specification of that mapping says.

    [catalog, schema, table]      the catalog is the configured one, and the root lists it

`UnityCatalog` shows all that Unity answers. `UnityClient` sends requests, `UnityNamespaces` and `UnityTables` say
which, and `ExternalTables` has what Unity shares with other services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.metastore.tables import ExternalTables, rename_by_copy
from lanceway.catalogs.unity import columns, names
from lanceway.catalogs.unity.client import SETTINGS, UnityClient, UnitySettings
from lanceway.catalogs.unity.namespaces import UnityNamespaces
from lanceway.catalogs.unity.tables import UnityEntry, UnityTables
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema


class UnityCatalog(Catalog):
    """A catalog of a Unity Catalog server, open source or Databricks: `[catalog, schema, table]`."""

    TYPE = "unity"
    SETTINGS = SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = UnitySettings.read(self._owner(), self._settings)
        self._complete(root=settings.root)
        self._name = settings.catalog
        self._client = UnityClient(settings)
        self._namespaces = UnityNamespaces(self._client, settings.catalog)
        self._tables = UnityTables(self._client, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._client.close()

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(3, 3, folds_case=True)

    def check_new_table(self, table: Identifier) -> None:
        names.check_new(table)
        if table[0] != self._name:
            raise InvalidInputError(
                f"{table} cannot be a table here: the first name must be {self._name!r}, the catalog in Unity."
            )

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the id of a schema or a table in Unity, and when it was made."""
        found = Identifier(id_)
        return self._namespaces.identity(found) if is_namespace else self._tables.identity(found)

    def ask_service(self) -> None:
        """Ask Unity for the configured catalog."""
        self._namespaces.properties(Identifier((self._name,)))

    # -- namespaces ------------------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str]:
        return self._namespaces.properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        children = self._namespaces.children(namespace)
        return sorted(name for name in children if after is None or name > after)[:limit]

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        return self._namespaces.create(namespace, properties)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> None:
        self._namespaces.drop(namespace, cascade)

    # -- tables ----------------------------------------------------------------------------------

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._tables.reach(self._tables.load(table))

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        return columns.to_schema(entry.columns) if isinstance(entry, UnityEntry) else None

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if namespace.is_root:
            return []
        entries = {info.name: partial(self._tables.reach, info) for info in self._tables.lance_tables(namespace)}
        return self._wanted_names(namespace, entries, after, limit, include_declared)

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._external.declare(table, location, properties)

    def _declare_first(self, table: Identifier, properties: Mapping[str, str], schema: pa.Schema) -> TableEntry:
        return self._external.declare(table, None, properties, schema)

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
        rename_by_copy(self._tables, table, target)
