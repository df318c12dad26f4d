"""Apache Gravitino: Lance tables in its `lakehouse-generic` catalogs, over its own API.

    [catalog, schema…, table]      the root lists the catalogs of the configured metalake

`GravitinoCatalog` shows all that Gravitino answers. `GravitinoClient` sends requests, `GravitinoNamespaces` and
`GravitinoTables` say which, and `ExternalTables` has what Gravitino shares with other services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectDetails, ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.gravitino import names
from lanceway.catalogs.gravitino.client import GravitinoClient
from lanceway.catalogs.gravitino.namespaces import GravitinoNamespaces
from lanceway.catalogs.gravitino.settings import SETTINGS, GravitinoSettings
from lanceway.catalogs.gravitino.tables import GravitinoTables
from lanceway.catalogs.metastore.tables import ExternalTables
from lanceway.identifiers import ROOT, Identifier


class GravitinoCatalog(Catalog):
    """The Lance tables of an Apache Gravitino server: `[catalog, schema, table]`, with nested schemas where it has
    them."""

    TYPE = "gravitino"
    SETTINGS = SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = GravitinoSettings.read(self._owner(), self._settings)
        self._complete(endpoint=settings.endpoint, root=settings.root)
        self._client = GravitinoClient(settings)
        self._namespaces = GravitinoNamespaces(self._client)
        self._tables = GravitinoTables(self._client, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._client.close()

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(names.TABLE_LEVEL, None)

    def check_new_table(self, table: Identifier) -> None:
        self._tables.check_new(table)

    def ask_service(self) -> None:
        """Ask Gravitino for the catalogs of the metalake."""
        self._namespaces.children(ROOT)

    # -- what Gravitino records ------------------------------------------------------------------

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the claim of a table, and when a schema or a table was made; Gravitino shows no ids."""
        identifier = Identifier(id_)
        row = self._namespaces.load(identifier) if is_namespace else self._tables.peek(identifier)
        identity = (None if is_namespace else self._tables.claim_of(row), row.created_at)
        return identity if any(identity) else None

    def object_details(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectDetails:
        """Return the properties and the comment of an object, who made it and changed it, and when."""
        owner = self._namespaces if is_namespace else self._tables
        return owner.details(Identifier(id_))

    def alter_table_properties(self, id_: Sequence[str], changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a table, None for one that is taken away, and return all it has then."""
        return self._tables.alter_properties(Identifier(id_), changes)

    # -- namespaces ------------------------------------------------------------------------------

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
        current = super()._keep_or_replace(namespace, properties, replace=False)
        return self._namespaces.replace(namespace, properties) if replace else current

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
        self._tables.refuse_managed(table, self._tables.load(table), "deregistered")
        return self._external.deregister(table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._external.drop(table)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._tables.rename(table, target)
