"""Hive: Lance tables in a Hive Metastore of version 2, 3 or 4, as the Lance project maps them.

    [database, table]               version 2, or where the settings say so
    [catalog, database, table]      version 3 and later

`HiveCatalog` shows all that a metastore answers. `HiveClient` calls it over Thrift, `HiveMetastore` knows the requests
of each version, `HiveNamespaces` and `HiveTables` say which, and `ExternalTables` has what Hive shares with other
services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.hive import names
from lanceway.catalogs.hive.client import HiveClient
from lanceway.catalogs.hive.metastore import HiveMetastore
from lanceway.catalogs.hive.namespaces import HiveNamespaces
from lanceway.catalogs.hive.settings import CATALOGS, SETTINGS, HiveSettings
from lanceway.catalogs.hive.tables import HiveTables
from lanceway.catalogs.metastore.tables import ExternalTables
from lanceway.identifiers import ROOT, Identifier


class HiveCatalog(Catalog):
    """A Hive Metastore: `[catalog, database, table]`, and `[database, table]` where there are no catalogs."""

    TYPE = "hive"
    SETTINGS = SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = HiveSettings.read(self._owner(), self._settings)
        if settings.root is not None:
            self._complete(root=settings.root)
        self._hierarchy = settings.hierarchy
        self._metastore = HiveMetastore(HiveClient(settings))
        self._namespaces = HiveNamespaces(self._metastore, settings, self._owner())
        self._tables = HiveTables(self._metastore, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._metastore.close()

    def identifier_limits(self) -> IdentifierLimits:
        if self._hierarchy is None:  # only the metastore knows
            return IdentifierLimits(2, 3, folds_case=True)
        levels = 3 if self._hierarchy == CATALOGS else 2
        return IdentifierLimits(levels, levels, folds_case=True)

    def check_new_table(self, table: Identifier) -> None:
        names.check_new(names.folded(table))

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the claim that a table was made with, and when; of a namespace, when, where the metastore says so."""
        found = names.folded(Identifier(id_))
        if is_namespace:
            seconds = self._namespaces.created_at(found)
            return None if seconds is None else (None, seconds * 1000)
        row = self._tables.row(found)
        claim = self._tables.claim_of(row)
        return (claim, row.createTime * 1000 if row.createTime else None) if claim or row.createTime else None

    def ask_service(self) -> None:
        """Ask the metastore for the names in the root."""
        self._namespaces.children(ROOT)

    # -- namespaces ------------------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str]:
        return self._namespaces.properties(names.folded(namespace))

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        children = self._namespaces.children(names.folded(namespace))
        return sorted(name for name in children if after is None or name > after)[:limit]

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        return self._namespaces.create(names.folded(namespace), properties)

    def _keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str]:
        return self._namespaces.keep_or_replace(names.folded(namespace), properties, replace=replace)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str]:
        return self._namespaces.drop(names.folded(namespace), cascade)

    # -- tables ----------------------------------------------------------------------------------

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._tables.entry(self._tables.load(names.folded(table)))

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        namespace = names.folded(namespace)
        if namespace.is_root:
            return []
        listed = (
            str(row.tableName)
            for row in self._tables.lance_tables(namespace, after, limit)
            if include_declared or not self._is_declared_only(namespace.child(row.tableName), self._tables.entry(row))
        )
        return list(islice(listed, limit))

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._external.declare(table, location, properties)

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        return self._external.holds(names.folded(table), entry)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        self._external.withdraw(names.folded(table), entry)

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        self._external.clear_away(entry)

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        return self._external.register(table, location, properties, replace)

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._external.deregister(names.folded(table))

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._tables.drop(names.folded(table))

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._tables.rename(names.folded(table), target)
