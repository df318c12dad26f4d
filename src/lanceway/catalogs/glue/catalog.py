"""AWS Glue: Lance tables in its Data Catalog, and in any service that speaks its API.

`GlueCatalog` shows all that Glue answers. `GlueClient` calls Glue, `GlueNamespaces` and `GlueTables` say what with,
and `ExternalTables` has what Glue shares with other services.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import lance_namespace as ln

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.glue import columns, names
from lanceway.catalogs.glue.client import GlueClient
from lanceway.catalogs.glue.errors import FederationError, GlueForbiddenError
from lanceway.catalogs.glue.namespaces import GlueKind, GlueNamespaces
from lanceway.catalogs.glue.settings import SETTINGS, GlueSettings
from lanceway.catalogs.glue.tables import GlueEntry, GlueTables
from lanceway.catalogs.metastore.tables import ExternalTables, rename_by_copy
from lanceway.errors import InvalidInputError
from lanceway.identifiers import ROOT, Identifier
from lanceway.tables import dataset

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

__all__ = ["GlueCatalog", "GlueForbiddenError"]

log = logging.getLogger(__name__)

Altering = TypeVar(
    "Altering",
    ln.AlterTableAddColumnsRequest,
    ln.AlterTableAlterColumnsRequest,
    ln.AlterTableDropColumnsRequest,
    ln.RestoreTableRequest,
)
Response = TypeVar("Response")


class GlueCatalog(Catalog):
    """A Glue Data Catalog: `[database, table]`, and `[catalog…, database, table]` where there are child catalogs."""

    TYPE = "glue"
    SETTINGS = SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = GlueSettings.read(self._owner(), self._settings)
        self._makes_databases = settings.makes_databases
        self._client = GlueClient(settings)
        self._namespaces = GlueNamespaces(self._client, settings, self._owner())
        self._tables = GlueTables(self._client, self._namespaces, settings)
        self._external = ExternalTables(self._tables)

    def close(self) -> None:
        super().close()
        self._client.close()

    def _identity(self) -> Mapping[str, str]:
        return {**super()._identity(), "environment": self._client.environment}

    def identifier_limits(self) -> IdentifierLimits:
        return IdentifierLimits(2, None, folds_case=True)

    def check_new_table(self, table: Identifier) -> None:
        names.check_new_database(table.parent)
        names.check_new_table(names.folded(table))

    def check_new_namespace(self, namespace: Identifier) -> None:
        """Raise InvalidInputError where creating this namespace would not make room for a table."""
        if namespace.depth == 1 and not self._makes_databases:
            raise InvalidInputError(
                f"There is no database {namespace} in Glue, and a namespace of one name would be made as a catalog, "
                'which holds no tables. Set hierarchy = "databases" for this target, or make the database first.'
            )

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return when a table, a database or a catalog was made, in whole seconds: Glue gives them no ids."""
        found = names.folded(Identifier(id_))
        row = self._namespaces.find(found)[1] if is_namespace else self._tables.row(found)
        made = row.get("CreateTime")
        return None if made is None else (None, round(made.timestamp() * 1000))

    def ask_service(self) -> None:
        """Ask Glue for the names in the root."""
        self._namespaces.children(ROOT)

    # -- namespaces ------------------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str]:
        return self._namespaces.properties(names.folded(namespace))

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        namespace = names.folded(namespace)
        if not namespace.is_root and self._namespaces.find(namespace)[0] is GlueKind.DATABASE:
            return []
        children = self._namespaces.children(namespace)
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
        return self._tables.reach(self._tables.load(names.folded(table)))

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        return columns.to_schema(entry.columns, entry.parameters) if isinstance(entry, GlueEntry) else None

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        namespace = names.folded(namespace)
        if namespace.is_root:
            return []
        entries = {row["Name"]: partial(self._tables.entry, row) for row in self._tables.lance_tables(namespace)}
        return self._wanted_names(namespace, entries, after, limit, include_declared)

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
        return self._external.drop(names.folded(table))

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        rename_by_copy(self._tables, names.folded(table), target)

    # -- lists of all tables ---------------------------------------------------------------------

    def _walk(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """Yield the tables after `after`, reading a database once: Glue cannot begin a list in the middle."""
        depth = namespace.depth
        resumed = after[depth] if after.startswith(namespace) and after.depth > depth else None
        if resumed is not None and after.depth > depth + 1:
            yield from self._walk_visible(namespace.child(resumed), after, include_declared)
        tables = self._child_tables(namespace, resumed, None, include_declared)
        children = self._child_namespaces(namespace, resumed, None)
        for name, is_table in heapq.merge(((name, True) for name in tables), ((name, False) for name in children)):
            if is_table:
                yield namespace.child(name)
            else:
                yield from self._walk_visible(namespace.child(name), ROOT, include_declared)

    def _walk_visible(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """Yield the tables of a namespace below, none if the caller may not read it.

        A federated catalog shows what its source keeps, where no Lance table can be, so a source that is down hides
        nothing.
        """
        try:
            yield from self._walk(namespace, after, include_declared)
        except GlueForbiddenError as error:
            log.info("%s is passed over: %s", namespace, error)
        except FederationError as error:
            log.warning("%s is passed over: %s", namespace, error)

    # -- columns: the dataset knows its schema, and what Glue shows follows it -------------------

    def describe_table(self, request: ln.DescribeTableRequest | Mapping[str, Any]) -> ln.DescribeTableResponse:
        request = accept(ln.DescribeTableRequest, request)
        response = super().describe_table(request)
        if not request.load_detailed_metadata:
            response.var_schema = None  # other tools change Glue's columns: they count only where there is no data
        return response

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: ln.CreateTableRequest, data: pa.RecordBatchReader
    ) -> ln.CreateTableResponse:
        schema = data.schema
        response = super()._write_first(table, entry, request, data)
        self._tables.show_schema(names.folded(table), lambda: schema)
        return response

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: ln.CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> ln.CreateTableResponse:
        schema = data.schema
        response = super()._create_over(table, entry, request, chosen, data)
        if chosen == "overwrite":
            self._tables.show_schema(names.folded(table), lambda: schema)
        return response

    def insert_into_table_stream(
        self, request: ln.InsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> ln.InsertIntoTableResponse:
        request = accept(ln.InsertIntoTableRequest, request)
        response = super().insert_into_table_stream(request, data)
        if request.mode:  # an append, which it is without one, changes no schema
            self._show_stored(request.id)
        return response

    def alter_table_add_columns(
        self, request: ln.AlterTableAddColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAddColumnsResponse:
        request = accept(ln.AlterTableAddColumnsRequest, request)
        return self._altered(request, super().alter_table_add_columns)

    def alter_table_alter_columns(
        self, request: ln.AlterTableAlterColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAlterColumnsResponse:
        request = accept(ln.AlterTableAlterColumnsRequest, request)
        return self._altered(request, super().alter_table_alter_columns)

    def alter_table_drop_columns(
        self, request: ln.AlterTableDropColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableDropColumnsResponse:
        request = accept(ln.AlterTableDropColumnsRequest, request)
        return self._altered(request, super().alter_table_drop_columns)

    def restore_table(self, request: ln.RestoreTableRequest | Mapping[str, Any]) -> ln.RestoreTableResponse:
        request = accept(ln.RestoreTableRequest, request)
        return self._altered(request, super().restore_table)

    def _altered(self, request: Altering, operation: Callable[[Altering], Response]) -> Response:
        response = operation(request)
        self._show_stored(request.id)
        return response

    def _show_stored(self, id_: list[str] | None) -> None:
        table = names.folded(Identifier(id_ or ()))
        self._tables.show_schema(table, lambda: dataset.open_at(self._handle(table, self._find_table(table))).schema)
