"""The operations on a table's data: inherited by every catalog, run on the table's location.

Where the contract hands Arrow over as bytes, a twin ending in `_stream` takes or gives a reader,
and the contract's own method wraps it. Servers, clients and wrappers use the twins, so that
nothing large is ever held whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
    AlterTransactionRequest,
    AlterTransactionResponse,
    AnalyzeTableQueryPlanRequest,
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CountTableRowsRequest,
    CountTableRowsResponse,
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    CreateTableIndexRequest,
    CreateTableIndexResponse,
    CreateTableScalarIndexResponse,
    CreateTableTagRequest,
    CreateTableTagResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DeleteFromTableRequest,
    DeleteFromTableResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    DeleteTableTagRequest,
    DeleteTableTagResponse,
    DescribeTableIndexStatsRequest,
    DescribeTableIndexStatsResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    DescribeTransactionRequest,
    DescribeTransactionResponse,
    DropTableIndexRequest,
    DropTableIndexResponse,
    ExplainTableQueryPlanRequest,
    GetTableStatsRequest,
    GetTableStatsResponse,
    GetTableTagVersionRequest,
    GetTableTagVersionResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    ListTableIndicesRequest,
    ListTableIndicesResponse,
    ListTableTagsRequest,
    ListTableTagsResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    QueryTableRequest,
    QueryTableResponse,
    RestoreTableRequest,
    RestoreTableResponse,
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableRequest,
    UpdateTableResponse,
    UpdateTableSchemaMetadataRequest,
    UpdateTableSchemaMetadataResponse,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)

from lanceway.catalogs.contract.creation import TableCreation
from lanceway.catalogs.contract.requests import accept, mode, page_limit, page_of, page_start, table_id
from lanceway.errors import (
    InvalidInputError,
    UnsupportedOperationError,
)
from lanceway.tables import indices, statistics
from lanceway.tables.dataset import Table
from lanceway.tables.read import ipc, query
from lanceway.tables.schema import columns, metadata
from lanceway.tables.versions import branches, tags, transactions, versions
from lanceway.tables.write import rows

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_ATOMIC = (
    "Changing several tables in one transaction needs a catalog that manages their versions itself; "
    "this one leaves them to storage, where each table commits on its own."
)


class TableOperations(TableCreation):
    """Some forty operations on `tables/`, by location and storage options."""

    def _table(self, id_: list[str] | None, operation: str) -> Table:
        table = table_id(id_, operation)
        return self._handle(table, self._find_table(table))

    # -- rows ------------------------------------------------------------------------------------

    def insert_into_table(self, request: InsertIntoTableRequest, request_data: bytes) -> InsertIntoTableResponse:
        return self.insert_into_table_stream(request, ipc.read(request_data))

    def insert_into_table_stream(
        self, request: InsertIntoTableRequest, data: pa.RecordBatchReader
    ) -> InsertIntoTableResponse:
        """Insert from a reader: `insert_into_table` without holding the data whole."""
        request = accept(InsertIntoTableRequest, request)
        chosen = mode("The mode of insert_into_table", request.mode, "append", "overwrite")
        return rows.insert(self._table(request.id, "insert_into_table"), request, data, overwrite=chosen == "overwrite")

    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, request_data: bytes
    ) -> MergeInsertIntoTableResponse:
        return self.merge_insert_into_table_stream(request, ipc.read(request_data))

    def merge_insert_into_table_stream(
        self, request: MergeInsertIntoTableRequest, data: pa.RecordBatchReader
    ) -> MergeInsertIntoTableResponse:
        """Merge from a reader: `merge_insert_into_table` without holding the data whole."""
        request = accept(MergeInsertIntoTableRequest, request)
        return rows.merge_insert(self._table(request.id, "merge_insert_into_table"), request, data)

    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        request = accept(UpdateTableRequest, request)
        return rows.update(self._table(request.id, "update_table"), request)

    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        request = accept(DeleteFromTableRequest, request)
        return rows.delete(self._table(request.id, "delete_from_table"), request)

    def query_table(self, request: QueryTableRequest) -> QueryTableResponse:
        return QueryTableResponse(data=ipc.write_file(self.query_table_stream(request)))

    def query_table_stream(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """The answer of `query_table` as a reader, one batch at a time."""
        request = accept(QueryTableRequest, request)
        return query.run(self._table(request.id, "query_table"), request)

    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        request = accept(CountTableRowsRequest, request)
        return CountTableRowsResponse(count=query.count(self._table(request.id, "count_table_rows"), request))

    def explain_table_query_plan(self, request: ExplainTableQueryPlanRequest) -> str:
        request = accept(ExplainTableQueryPlanRequest, request)
        return query.explain(self._table(request.id, "explain_table_query_plan"), request)

    def analyze_table_query_plan(self, request: AnalyzeTableQueryPlanRequest) -> str:
        request = accept(AnalyzeTableQueryPlanRequest, request)
        return query.analyze(self._table(request.id, "analyze_table_query_plan"), request)

    # -- indices and statistics ------------------------------------------------------------------

    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        request = accept(CreateTableIndexRequest, request)
        indices.create(self._table(request.id, "create_table_index"), request)
        return CreateTableIndexResponse()

    def create_table_scalar_index(self, request: CreateTableIndexRequest) -> CreateTableScalarIndexResponse:
        request = accept(CreateTableIndexRequest, request)
        indices.create_scalar(self._table(request.id, "create_table_scalar_index"), request)
        return CreateTableScalarIndexResponse()

    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        request = accept(ListTableIndicesRequest, request)
        table = self._table(request.id, "list_table_indices")
        limit, scope = page_limit(request.limit), f"indices\x00{table.name}"
        found = indices.list_(table, request, page_start(scope, request.page_token))
        page, token = page_of(found, limit, scope, lambda index: index.index_name)
        return ListTableIndicesResponse(indexes=page, page_token=token)

    def describe_table_index_stats(self, request: DescribeTableIndexStatsRequest) -> DescribeTableIndexStatsResponse:
        request = accept(DescribeTableIndexStatsRequest, request)
        return indices.describe(self._table(request.id, "describe_table_index_stats"), request)

    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        request = accept(DropTableIndexRequest, request)
        indices.drop(self._table(request.id, "drop_table_index"), request)
        return DropTableIndexResponse()

    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        request = accept(GetTableStatsRequest, request)
        return statistics.describe(self._table(request.id, "get_table_stats"), request)

    # -- columns and metadata --------------------------------------------------------------------

    def alter_table_add_columns(self, request: AlterTableAddColumnsRequest) -> AlterTableAddColumnsResponse:
        request = accept(AlterTableAddColumnsRequest, request)
        return columns.add(self._table(request.id, "alter_table_add_columns"), request)

    def alter_table_alter_columns(self, request: AlterTableAlterColumnsRequest) -> AlterTableAlterColumnsResponse:
        request = accept(AlterTableAlterColumnsRequest, request)
        return columns.alter(self._table(request.id, "alter_table_alter_columns"), request)

    def alter_table_drop_columns(self, request: AlterTableDropColumnsRequest) -> AlterTableDropColumnsResponse:
        request = accept(AlterTableDropColumnsRequest, request)
        return columns.drop(self._table(request.id, "alter_table_drop_columns"), request)

    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        request = accept(UpdateTableSchemaMetadataRequest, request)
        return metadata.update_schema(self._table(request.id, "update_table_schema_metadata"), request)

    def update_field_metadata(self, request: UpdateFieldMetadataRequest) -> UpdateFieldMetadataResponse:
        request = accept(UpdateFieldMetadataRequest, request)
        return metadata.update_fields(self._table(request.id, "update_field_metadata"), request)

    # -- tags and branches -----------------------------------------------------------------------

    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        request = accept(ListTableTagsRequest, request)
        table = self._table(request.id, "list_table_tags")
        limit, scope = page_limit(request.limit), f"tags\x00{table.name}"
        found = tags.list_(table, page_start(scope, request.page_token))
        page, token = page_of(list(found.items()), limit, scope, lambda item: item[0])
        return ListTableTagsResponse(tags=dict(page), page_token=token)

    def get_table_tag_version(self, request: GetTableTagVersionRequest) -> GetTableTagVersionResponse:
        request = accept(GetTableTagVersionRequest, request)
        return tags.version(self._table(request.id, "get_table_tag_version"), request)

    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        request = accept(CreateTableTagRequest, request)
        tags.create(self._table(request.id, "create_table_tag"), request)
        return CreateTableTagResponse()

    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        request = accept(UpdateTableTagRequest, request)
        tags.update(self._table(request.id, "update_table_tag"), request)
        return UpdateTableTagResponse()

    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        request = accept(DeleteTableTagRequest, request)
        tags.delete(self._table(request.id, "delete_table_tag"), request)
        return DeleteTableTagResponse()

    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        request = accept(ListTableBranchesRequest, request)
        table = self._table(request.id, "list_table_branches")
        limit, scope = page_limit(request.limit), f"branches\x00{table.name}"
        found = branches.list_(table, page_start(scope, request.page_token))
        page, token = page_of(list(found.items()), limit, scope, lambda item: item[0])
        return ListTableBranchesResponse(branches=dict(page), page_token=token)

    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        request = accept(CreateTableBranchRequest, request)
        branches.create(self._table(request.id, "create_table_branch"), request)
        return CreateTableBranchResponse()

    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        request = accept(DeleteTableBranchRequest, request)
        branches.delete(self._table(request.id, "delete_table_branch"), request)
        return DeleteTableBranchResponse()

    # -- versions and transactions ---------------------------------------------------------------

    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        request = accept(ListTableVersionsRequest, request)
        table = self._table(request.id, "list_table_versions")
        limit, scope = page_limit(request.limit), f"versions\x00{bool(request.descending)}\x00{table.name}"
        after = page_start(scope, request.page_token)
        found = versions.list_(table, request, int(after) if after else None)
        page, token = page_of(found, limit, scope, lambda version: str(version.version))
        return ListTableVersionsResponse(versions=page, page_token=token)

    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        request = accept(DescribeTableVersionRequest, request)
        return versions.describe(self._table(request.id, "describe_table_version"), request)

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        request = accept(CreateTableVersionRequest, request)
        return versions.create(self._table(request.id, "create_table_version"), request)

    def batch_delete_table_versions(self, request: BatchDeleteTableVersionsRequest) -> BatchDeleteTableVersionsResponse:
        request = accept(BatchDeleteTableVersionsRequest, request)
        return versions.delete(self._table(request.id, "batch_delete_table_versions"), request)

    def restore_table(self, request: RestoreTableRequest) -> RestoreTableResponse:
        request = accept(RestoreTableRequest, request)
        versions.restore(self._table(request.id, "restore_table"), request)
        return RestoreTableResponse()

    def describe_transaction(self, request: DescribeTransactionRequest) -> DescribeTransactionResponse:
        """The transaction's id is its table's, followed by the version it made or its own uuid."""
        request = accept(DescribeTransactionRequest, request)
        table, transaction = self._transaction(request.id, "describe_transaction")
        return transactions.describe(table, transaction)

    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        request = accept(AlterTransactionRequest, request)
        table, transaction = self._transaction(request.id, "alter_transaction")
        return transactions.alter(table, transaction, request)

    def _transaction(self, id_: list[str] | None, operation: str) -> tuple[Table, str]:
        if not id_ or len(id_) < 2:
            raise InvalidInputError(
                f"{operation} needs a transaction's id: the table's names followed by the version that the "
                f"transaction made or by its uuid, but {id_ or []!r} was given."
            )
        return self._table(id_[:-1], operation), id_[-1]

    # -- what needs more than a table's location -------------------------------------------------

    def batch_create_table_versions(self, request: BatchCreateTableVersionsRequest) -> BatchCreateTableVersionsResponse:
        self._refuse("batch_create_table_versions", _NOT_ATOMIC)

    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        self._refuse("batch_commit_tables", _NOT_ATOMIC)

    def _refuse(self, operation: str, reason: str) -> NoReturn:
        raise UnsupportedOperationError(f"{self._owner()} does not support {operation}. {reason}")
