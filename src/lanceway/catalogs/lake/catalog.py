"""The lake: Lanceway's own catalog, with nested namespaces and versions that cannot be lost.

It answers the contract from the rows of a database, SQLite or PostgreSQL (`lanceway.lake`), and keeps data in a
warehouse on any storage. By default it owns the versions of its tables: a version is claimed in the database, and
what is written to storage without it is never shown.

`LakeCatalog` is all that the lake answers; each part of the work has a module of its own:

    connection      settings, the database, the catalog in it
    namespaces      namespaces, one by one and by logical path
    tables          tables: found, listed, declared, registered, renamed, dropped
    removals        the data of dropped tables
    clones          shallow clones: tables that share files
    managed_table   a managed table's manifests: rows and storage brought together
    claims          versions: claimed
    versions        versions: listed, described, deleted
    refs            tags and branches, rows that files follow; definitions of views and columns
    batches         several tables in one transaction
    iceberg         Iceberg tables and views, and Lance tables as Iceberg clients see them
    fast_reads      answers that never wait
    repair          what rows and storage disagree on
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from lance_namespace import (
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    CreateTableRequest,
    CreateTableResponse,
    CreateTableTagRequest,
    CreateTableTagResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    DeleteTableTagRequest,
    DeleteTableTagResponse,
    DescribeTableResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    GetTableTagVersionRequest,
    GetTableTagVersionResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    ListTableTagsRequest,
    ListTableTagsResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)

from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.capabilities import ObjectDetails, ObjectIdentity, VisibleObjects
from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergTable, NewIcebergView
from lanceway.catalogs.contract.jobs import JobQueue
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.requests import accept, mode, table_id
from lanceway.catalogs.contract.schemas import PathNaming, changes, check_free
from lanceway.catalogs.lake import connection
from lanceway.catalogs.lake.batches import LakeBatches
from lanceway.catalogs.lake.claims import LakeClaims
from lanceway.catalogs.lake.clones import LakeClones
from lanceway.catalogs.lake.connection import LakeConnection, LakeSettings
from lanceway.catalogs.lake.fast_reads import LakeFastReads
from lanceway.catalogs.lake.iceberg.orphans import GRACE, LakeOrphans
from lanceway.catalogs.lake.iceberg.tables import KINDS as ICEBERG_KINDS
from lanceway.catalogs.lake.iceberg.tables import LakeIcebergTables
from lanceway.catalogs.lake.iceberg.views import LakeIcebergViews
from lanceway.catalogs.lake.namespaces import LakeNamespaces
from lanceway.catalogs.lake.refs.definitions import LakeDefinitions
from lanceway.catalogs.lake.refs.differences import Difference
from lanceway.catalogs.lake.refs.operations import LakeRefs
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.repair import LakeRepair
from lanceway.catalogs.lake.tables import VERSIONING, LakeTables
from lanceway.catalogs.lake.versions import LakeVersions
from lanceway.identifiers import ROOT, Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import VIEW
from lanceway.lake.tree import names, settings
from lanceway.lake.tree.catalogs import CatalogRow
from lanceway.lake.tree.catalogs import get as get_catalog
from lanceway.lake.tree.definitions import Definition
from lanceway.lake.tree.lookups import TableRow
from lanceway.tables.dataset import StoredTable
from lanceway.tables.schema import fields
from lanceway.tables.schema.computed import Definition as ColumnDefinition
from lanceway.tables.schema.views import View

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["VERSIONING", "Difference", "LakeCatalog"]

_LAST_FLUSH = 0.5  # seconds


class LakeCatalog(Catalog):
    """One catalog of a lake; any number of processes may use it at once."""

    TYPE = "lake"
    SETTINGS = connection.SETTINGS

    _lake: LakeStore
    _catalog: CatalogRow

    # -- connecting ------------------------------------------------------------------------------

    def __init__(self, **properties: object) -> None:
        self._configure(properties)
        self._use(*connection.connect(self._lake_settings))
        # A catalog that is never closed gives its connections back when it is collected, and delays nothing long.
        weakref.finalize(self, self._lake.close, _LAST_FLUSH)

    @classmethod
    def over(cls, store: LakeStore, row: CatalogRow, **properties: object) -> Self:
        """Return a catalog of a store that is open already, and that others use too."""
        catalog = cls.__new__(cls)
        catalog._configure({**properties, "uri": store.uri, "catalog": row.name, "create": False})
        connection.check(row, catalog._lake_settings)
        catalog._use(store, row)
        return catalog

    def acting_as(self, user: str, groups: tuple[str, ...] | None = None) -> Self:
        """Return this catalog for another user. It costs next to nothing: the connections are shared."""
        view = self._copy()
        view._groups = groups
        view._complete(user=user)
        view._lake_settings = replace(self._lake_settings, user=user)
        return view

    def showing(self, visible: VisibleObjects) -> Self:
        """Return this catalog with lists of what is visible alone. What can be done by name stays as it is."""
        view = self._copy()
        view._visible = visible
        return view

    def confined_to(self, check: Callable[[str], None]) -> Self:
        """Return this catalog for a user who has Iceberg tables and views only where `check` allows them."""
        view = self._copy()
        view._confinement = check
        return view

    def _copy(self) -> Self:
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        view._shared_with = self  # which closes the connections when it is collected, and so not before the view
        return view

    def _configure(self, properties: Mapping[str, object]) -> None:
        super().__init__(**properties)
        settings = LakeSettings.read(self._settings)
        self._complete(uri=settings.uri, root=settings.root, user=settings.user)
        self._lake_settings = settings
        self._options: Mapping[str, str] | None = settings.storage or None
        self._shared_with: LakeCatalog | None = None
        self._visible: VisibleObjects | None = None
        self._groups: tuple[str, ...] | None = None
        self._confinement: Callable[[str], None] | None = None

    def _use(self, store: LakeStore, row: CatalogRow) -> None:
        self._lake = store
        self._catalog = row
        self._known_tables: dict[Identifier, TableRow] = {}  # see `LakeClaims`
        self._fast_reads = LakeFastReads.of(store, row, self._options)

    def close(self) -> None:
        super().close()
        self._lake.close()

    def check_register(self) -> None:
        self._lake.transact(settings.require_writable)

    def _desk(self) -> JobQueue:
        catalog, user = self._catalog.name, self._user
        metalake = self._lake_settings.metalake
        return super()._desk() or JobQueue(self._lake, metalake, catalog, user, groups=self._groups)

    @property
    def _user(self) -> str:
        return self._lake_settings.user

    # -- the parts -------------------------------------------------------------------------------

    # Made for each call, which is cheap. Parts that were kept would refer back to the catalog, and such a circle would
    # hold its connections until Python looks for circles.

    @property
    def _connection(self) -> LakeConnection:
        return LakeConnection(self._lake, self._catalog, self._user, self._options, self, self._confinement)

    @property
    def _namespaces(self) -> LakeNamespaces:
        return LakeNamespaces(self._connection)

    @property
    def _tables(self) -> LakeTables:
        return LakeTables(self._connection)

    @property
    def _removals(self) -> Removals:
        return Removals(self._connection)

    @property
    def _clones(self) -> LakeClones:
        return LakeClones(self._connection)

    @property
    def _claims(self) -> LakeClaims:
        return LakeClaims(self._connection, self._known_tables)

    @property
    def _versions(self) -> LakeVersions:
        return LakeVersions(self._connection)

    @property
    def _refs(self) -> LakeRefs:
        connection = self._connection
        return LakeRefs(connection, LakeTables(connection))

    @property
    def _definitions(self) -> LakeDefinitions:
        return LakeDefinitions(self._connection)

    @property
    def _batches(self) -> LakeBatches:
        return LakeBatches(self._connection, self._tables, self._claims, self._versions)

    @property
    def _iceberg_tables(self) -> LakeIcebergTables:
        return LakeIcebergTables(self._connection)

    @property
    def _iceberg_views(self) -> LakeIcebergViews:
        return LakeIcebergViews(self._connection)

    @property
    def _repair(self) -> LakeRepair:
        return LakeRepair(self._connection, self._tables)

    # -- names -----------------------------------------------------------------------------------

    def identifier_limits(self) -> IdentifierLimits:
        """Return how many names the identifier of a table has here."""
        return IdentifierLimits(1, None if self._catalog.nested else 2)

    def check_new_table(self, table: Identifier) -> None:
        """Raise InvalidInputError, with names to use instead, where no table could have this identifier."""
        names.new(table)
        names.physical(names.new(table.parent) if table.parent else names.known(ROOT))

    @property
    def separator(self) -> str:
        """Return the character that separates the names in a logical path, such as `team:sales`."""
        # Read each time: it is the lake's, and may be changed while we run.
        return self._lake.read(settings.separator).character

    @property
    def nested(self) -> bool:
        """Return whether namespaces may be in namespaces."""
        return self._lake.read(get_catalog, self._catalog.id).nested

    def naming(self, names: Sequence[str] = ()) -> PathNaming:
        """Return how names are written in this catalog: its separator, the policy, and whether it is nested."""
        separator = self._lake.read(settings.separator)
        metalake = self._lake_settings.metalake
        return PathNaming(separator.character, separator.policy, self.nested, metalake, self._catalog.name)

    # -- namespaces ------------------------------------------------------------------------------

    def alter_namespace(
        self, path: str | Iterable[str], properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]:
        """Set and take away properties of a namespace, by its logical path or its names, and return all it has then.

        Raises NamespaceNotFoundError, and InvalidInputError for keys that begin with `lanceway.`.
        """
        changed = changes(properties, unset)
        names_or_path = path if isinstance(path, str) else tuple(path)
        return dict(self._lake.transact(self._namespaces.alter, names_or_path, changed))

    def drop_schema(self, path: str | Iterable[str]) -> None:
        """Drop an empty namespace by its logical path. Raises NamespaceNotFoundError, NamespaceNotEmptyError."""
        self._namespaces.drop(self._lake.read(self._namespaces.parse, path if isinstance(path, str) else tuple(path)))

    def list_schemas(self, parent: str | Iterable[str] | None = None) -> list[str]:
        """Return the logical paths of the namespaces directly inside one, inside the root if none is given.

        Names are joined by the lake's `separator`: the children of `team` are `team:sales` and the like.
        """
        names_or_path = () if parent is None else parent if isinstance(parent, str) else tuple(parent)
        namespace = self._lake.read(self._namespaces.parse, names_or_path)
        return self._namespaces.paths(namespace, self._child_namespaces(namespace, None, None))

    def create_namespaces(
        self,
        path: str | Iterable[str],
        properties: Mapping[str, str] | None = None,
        *,
        comment: str | None = None,
        owner: str | None = None,
    ) -> Identifier:
        """Make a namespace and what is missing above it: all of it, with one owner, or nothing.

        The path is a logical one, such as `team:sales`, or a list of names. Properties and comment are the
        namespace's own. Raises NamespaceAlreadyExistsError.
        """
        names_or_path = path if isinstance(path, str) else tuple(path)
        return self._lake.transact_together(self._namespaces.create_path, names_or_path, properties, comment, owner)

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        return self._namespaces.properties(namespace)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        if self._visible is not None:
            return self._visible.namespaces(self._catalog.name, namespace, after, limit)
        return self._namespaces.children(namespace, after, limit)

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        return self._namespaces.create(namespace, properties)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        return self._namespaces.drop_tree(namespace) if cascade else self._namespaces.drop(namespace)

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the id of the row of a namespace or a table, and when it was made."""
        found = Identifier(id_)
        row = self._namespaces.load(found) if is_namespace else self._tables.row(found)
        return str(row.id), row.audit.created_at

    def object_details(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectDetails:
        """Return what is recorded of a namespace or a table. Raises NamespaceNotFoundError, TableNotFoundError."""
        found = Identifier(id_)
        if not is_namespace:
            return self._tables.details(found)
        row = self._namespaces.load(found)
        audit = row.audit
        changed = (audit.created_by, audit.created_at, audit.changed_by, audit.changed_at)
        return ObjectDetails(row.properties, row.comment, *changed)

    def alter_table_properties(self, id_: Sequence[str], changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a table, None for one that is taken away, and return all it has then."""
        check_free("alter_table_properties", changes)
        return dict(self._tables.alter_properties(Identifier(id_), changes))

    # -- tables ----------------------------------------------------------------------------------

    def try_fast(self, operation: str, names: list[str], fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer of an operation if it can be had without waiting; None means to call the operation itself.

        `names` are the identifier, whatever `fields` say of it.
        """
        return None if self._fast_reads is None else self._fast_reads.answer(operation, names, fields)

    def fast_naming(self) -> tuple[str, bool] | None:
        """Return the separator and whether the catalog is nested, if that can be had without waiting."""
        return None if self._fast_reads is None else self._fast_reads.naming()

    def try_details(self, names: list[str], *, is_namespace: bool) -> ObjectDetails | None:
        """Return what is recorded of a namespace or a table, if that can be had without waiting."""
        return None if self._fast_reads is None else self._fast_reads.details(names, is_namespace=is_namespace)

    def try_load_iceberg_table(self, names: list[str]) -> LoadedIceberg | None:
        """Return an Iceberg table whose metadata is at hand, if that can be had without waiting."""
        return None if self._fast_reads is None else self._fast_reads.iceberg_table(names)

    def _find_table(self, table: Identifier) -> TableEntry:
        lake = self._connection
        return lake.entry(LakeTables(lake).row(table))

    def _table(self, id_: list[str] | None, operation: str) -> StoredTable:
        return self._tables.handle(id_, operation)

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if self._visible is None:
            return self._tables.names(namespace, after, limit, include_declared)
        visible = partial(self._visible.tables, self._catalog.name, namespace)
        return visible(after, limit) if include_declared else self._tables.written(namespace, visible, after, limit)

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        return not self._tables.has_versions(entry) if entry.managed else super()._is_declared_only(table, entry)

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._tables.declare(table, location, properties)

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> CreateTableResponse:
        if chosen != "overwrite":
            return super()._create_over(table, entry, request, chosen, data)
        self._tables.require_writable(self._tables.row(table))
        response = super()._create_over(table, entry, request, chosen, data)
        self._definitions.remove(table, None)  # the columns are others now
        return response

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        return self._tables.holds(table, entry)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        self._tables.undeclare(table, entry)

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        self._removals.remove_abandoned(entry.location)

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        return self._tables.register(table, location, properties, replace=replace)

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        self._tables.rename(table, target)

    def _deregister_table(self, table: Identifier) -> TableEntry:
        return self._tables.deregister(table)

    def _drop_table(self, table: Identifier) -> TableEntry:
        return self._tables.drop(table)

    def clone_table(
        self,
        source: str | Iterable[str],
        target: str | Iterable[str],
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
    ) -> DescribeTableResponse:
        """Make a table that shares the files of a version of another one, the latest if none is given.

        Nothing is copied, and later changes of one do not show in the other. The source stays as long as it has
        clones, and so does the version: a tag keeps it. Raises TableAlreadyExistsError, and InvalidInputError for a
        version that is not on the main branch.
        """
        copied = self._clones.clone(Identifier.of(source), Identifier.of(target), version, tag, branch)
        return DescribeTableResponse(
            location=copied.location, properties=dict(copied.properties or {}), managed_versioning=copied.managed
        )

    def finish_removals(self) -> list[str]:
        """Delete the data of dropped tables that a crash or an unreachable storage left; return where it was."""
        return self._removals.finish()

    # -- definitions of views and columns: rows, whatever the metadata of a table says ------------

    def view_definition(self, id_: Sequence[str]) -> View | None:
        return self._definitions.view(Identifier(id_))

    def column_definitions(self, id_: Sequence[str], branch: str | None) -> Mapping[str, ColumnDefinition] | None:
        return self._definitions.columns(Identifier(id_), branch)

    def _record_view(self, table: Identifier, view: View) -> None:
        self._definitions.record_view(table, view)

    def _record_columns(self, table: Identifier, branch: str | None, new: Mapping[str, ColumnDefinition]) -> None:
        self._definitions.record_columns(table, branch, new)

    def insert_into_table_stream(
        self, request: InsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> InsertIntoTableResponse:
        """Insert rows from a reader. To overwrite all of them replaces the columns, and so their definitions go."""
        request = accept(InsertIntoTableRequest, request)
        response = super().insert_into_table_stream(request, data)
        if mode("The mode of insert_into_table", request.mode, "append", "overwrite") == "overwrite":
            self._definitions.remove(table_id(request.id, "insert_into_table"), request.branch)
        return response

    def alter_table_alter_columns(
        self, request: AlterTableAlterColumnsRequest | Mapping[str, Any]
    ) -> AlterTableAlterColumnsResponse:
        request = accept(AlterTableAlterColumnsRequest, request)
        response = super().alter_table_alter_columns(request)
        self._definitions.rename(table_id(request.id, "alter_table_alter_columns"), request)
        return response

    def alter_table_drop_columns(
        self, request: AlterTableDropColumnsRequest | Mapping[str, Any]
    ) -> AlterTableDropColumnsResponse:
        request = accept(AlterTableDropColumnsRequest, request)
        response = super().alter_table_drop_columns(request)
        paths = [fields.parse(path) for path in request.columns]
        names = [path[0] for path in paths if len(path) == 1]
        self._definitions.remove(table_id(request.id, "alter_table_drop_columns"), request.branch, names)
        return response

    def list_definitions(self, table: str | Iterable[str]) -> Sequence[Definition]:
        """Return how a view and computed columns come about, and who said so; a view's definition comes first."""
        return self._definitions.all(Identifier.of(table))

    def adopt_definitions(self, table: str | Iterable[str]) -> Sequence[Definition]:
        """Make the definitions in a table's metadata that the lake does not have one's own, and return them.

        Look at them first: jobs will run them. A table that is registered brings none, since any writer may have set
        its metadata.
        """
        return self._definitions.adopt(Identifier.of(table))

    def drop_definition(
        self, table: str | Iterable[str], column: str | None = None, *, branch: str | None = None
    ) -> None:
        """Make a computed column a plain one, or without a column a view a plain table. Rows and values stay."""
        self._definitions.drop(Identifier.of(table), column, branch)

    # -- versions and branches: rows for managed tables, as storage has them for the others ------

    def create_table_version(
        self, request: CreateTableVersionRequest | Mapping[str, Any]
    ) -> CreateTableVersionResponse:
        request = accept(CreateTableVersionRequest, request)
        claims = self._claims
        claimed = claims.claim_fast(request)
        if claimed is None:
            table = self._tables.managed(request.id, "create_table_version")
            if table is None:
                return super().create_table_version(request)
            claimed = claims.claim_in_transaction(table, request)
        return CreateTableVersionResponse(version=claimed.publish())

    def list_table_versions(self, request: ListTableVersionsRequest | Mapping[str, Any]) -> ListTableVersionsResponse:
        request = accept(ListTableVersionsRequest, request)
        table = self._tables.managed(request.id, "list_table_versions")
        return super().list_table_versions(request) if table is None else self._versions.list(table, request)

    def describe_table_version(
        self, request: DescribeTableVersionRequest | Mapping[str, Any]
    ) -> DescribeTableVersionResponse:
        request = accept(DescribeTableVersionRequest, request)
        table = self._tables.managed(request.id, "describe_table_version")
        return super().describe_table_version(request) if table is None else self._versions.describe(table, request)

    def batch_delete_table_versions(
        self, request: BatchDeleteTableVersionsRequest | Mapping[str, Any]
    ) -> BatchDeleteTableVersionsResponse:
        request = accept(BatchDeleteTableVersionsRequest, request)
        table = self._tables.managed(request.id, "batch_delete_table_versions")
        return super().batch_delete_table_versions(request) if table is None else self._versions.delete(table, request)

    def list_table_branches(self, request: ListTableBranchesRequest | Mapping[str, Any]) -> ListTableBranchesResponse:
        request = accept(ListTableBranchesRequest, request)
        response = self._refs.list_branches(request)
        return super().list_table_branches(request) if response is None else response

    def create_table_branch(self, request: CreateTableBranchRequest | Mapping[str, Any]) -> CreateTableBranchResponse:
        request = accept(CreateTableBranchRequest, request)
        branch = self._refs.create_branch(request)
        return super().create_table_branch(request) if branch is None else CreateTableBranchResponse()

    def delete_table_branch(self, request: DeleteTableBranchRequest | Mapping[str, Any]) -> DeleteTableBranchResponse:
        request = accept(DeleteTableBranchRequest, request)
        branch = self._refs.delete_branch(request)
        return super().delete_table_branch(request) if branch is None else DeleteTableBranchResponse()

    # -- tags: the same --------------------------------------------------------------------------

    def list_table_tags(self, request: ListTableTagsRequest | Mapping[str, Any]) -> ListTableTagsResponse:
        request = accept(ListTableTagsRequest, request)
        response = self._refs.list_tags(request)
        return super().list_table_tags(request) if response is None else response

    def get_table_tag_version(
        self, request: GetTableTagVersionRequest | Mapping[str, Any]
    ) -> GetTableTagVersionResponse:
        request = accept(GetTableTagVersionRequest, request)
        response = self._refs.tag_version(request)
        return super().get_table_tag_version(request) if response is None else response

    def create_table_tag(self, request: CreateTableTagRequest | Mapping[str, Any]) -> CreateTableTagResponse:
        request = accept(CreateTableTagRequest, request)
        tag = self._refs.create_tag(request)
        return super().create_table_tag(request) if tag is None else CreateTableTagResponse()

    def update_table_tag(self, request: UpdateTableTagRequest | Mapping[str, Any]) -> UpdateTableTagResponse:
        request = accept(UpdateTableTagRequest, request)
        if self._refs.update_tag(request) is not None:
            return UpdateTableTagResponse()
        self._refs.refuse_held(request.id, request.tag, "update_table_tag")
        return super().update_table_tag(request)

    def delete_table_tag(self, request: DeleteTableTagRequest | Mapping[str, Any]) -> DeleteTableTagResponse:
        request = accept(DeleteTableTagRequest, request)
        if self._refs.delete_tag(request) is not None:
            return DeleteTableTagResponse()
        self._refs.refuse_held(request.id, request.tag, "delete_table_tag")
        return super().delete_table_tag(request)

    # -- several tables in one transaction -------------------------------------------------------

    def batch_create_table_versions(
        self, request: BatchCreateTableVersionsRequest | Mapping[str, Any]
    ) -> BatchCreateTableVersionsResponse:
        return self._batches.create_versions(accept(BatchCreateTableVersionsRequest, request))

    def batch_commit_tables(self, request: BatchCommitTablesRequest | Mapping[str, Any]) -> BatchCommitTablesResponse:
        return self._batches.commit(accept(BatchCommitTablesRequest, request))

    # -- Iceberg tables and views, and companions of Lance tables: `KeepsIceberg` ------------------

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        if self._visible is not None:
            return self._visible.leaves(self._catalog.name, Identifier(id_), ICEBERG_KINDS, after, limit)
        return self._iceberg_tables.names(Identifier(id_), after, limit)

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        return self._iceberg_tables.create(Identifier(id_), table)

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._iceberg_tables.load(Identifier(id_))

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        return self._iceberg_tables.exists(Identifier(id_))

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        return self._iceberg_tables.commit(commits)

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        return self._iceberg_tables.register(Identifier(id_), metadata_location, overwrite=overwrite)

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        self._iceberg_tables.rename(Identifier(id_), Identifier(target))

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        self._iceberg_tables.drop(Identifier(id_), purge=purge, expected=expected)

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        if self._visible is not None:
            return self._visible.leaves(self._catalog.name, Identifier(id_), (VIEW,), after, limit)
        return self._iceberg_views.names(Identifier(id_), after, limit)

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        return self._iceberg_views.create(Identifier(id_), view)

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._iceberg_views.load(Identifier(id_))

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        return self._iceberg_views.exists(Identifier(id_))

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        return self._iceberg_views.replace(commit)

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        return self._iceberg_views.register(Identifier(id_), metadata_location)

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        self._iceberg_views.rename(Identifier(id_), Identifier(target))

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        self._iceberg_views.drop(Identifier(id_))

    def clean_iceberg(self, *, older_than: float = GRACE) -> list[str]:
        """Delete metadata files that crashed commits left, older than some seconds; return where they were.

        A commit that is under way has such a file too: leave it more time than any takes.
        """
        return LakeOrphans(self._connection).clean(older_than)

    # -- repair ----------------------------------------------------------------------------------

    def reconcile(self, table: str | Iterable[str], *, adopt: bool = False, remove: bool = False) -> list[Difference]:
        """Look for what a managed table's rows and its storage disagree on, and return it.

        Manifests of claimed versions are published, and orphan manifests are moved aside, as on every other occasion.
        With `adopt`, orphans that continue the latest version become versions, and rows of versions whose manifests
        have vanished are deleted. An orphan continues the latest version if it has the next number and only one
        version of the number before it was ever seen. Adopt them soon: a clean-up deletes the data of an orphan.

        Files of tags and branches are written as the rows say. Those without a row become tags and branches with
        `adopt`, where the lake has their versions; with `remove` they are deleted, a branch with all its data.
        """
        return self._repair.reconcile(Identifier.of(table), adopt=adopt, remove=remove)

    def set_versioning(self, table: str | Iterable[str], *, managed: bool) -> None:
        """Have the lake own a table's versions, or leave them to storage. Its data and history stay.

        Stop its writers first: one that has the table open goes on as before, and what it writes to storage once
        the lake owns the versions is an orphan.
        """
        self._repair.set_versioning(Identifier.of(table), managed=managed)
