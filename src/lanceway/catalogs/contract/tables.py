"""Operations on a table's data, inherited by every catalog: each runs on the table's location.

Where the contract hands Arrow over as bytes, a twin ending in `_stream` takes or gives a reader,
and the contract's own method wraps it. Servers, clients and wrappers use the twins, so that
large data is never held in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lance_namespace as ln

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.requests import accept, mode, page_limit, page_of, page_start
from lanceway.errors import InvalidInputError
from lanceway.tables import indices, statistics
from lanceway.tables.dataset import StoredTable
from lanceway.tables.read import ipc, query
from lanceway.tables.schema import columns, reserved
from lanceway.tables.versions import branches, tags, transactions, versions
from lanceway.tables.write import rows
from lanceway.tables.write.data import reader_of

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_ATOMIC = (
    "Changing several tables in one transaction needs a catalog that manages their versions itself; "
    "this one leaves them to storage, where each table commits on its own."
)


class TableOperations(CatalogHooks):
    """Some forty operations on the data of tables, by location and storage options."""

    # -- rows ------------------------------------------------------------------------------------

    def insert_into_table(
        self, request: ln.InsertIntoTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.InsertIntoTableResponse:
        return self.insert_into_table_stream(request, ipc.read(request_data))

    def insert_into_table_stream(
        self, request: ln.InsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> ln.InsertIntoTableResponse:
        """Insert rows from a reader, batch by batch: `insert_into_table` for data of any size."""
        request = accept(ln.InsertIntoTableRequest, request)
        data = reserved.without(reader_of(data))
        chosen = mode("The mode of insert_into_table", request.mode, "append", "overwrite")
        return rows.insert(self._table(request.id, "insert_into_table"), request, data, overwrite=chosen == "overwrite")

    def merge_insert_into_table(
        self, request: ln.MergeInsertIntoTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.MergeInsertIntoTableResponse:
        return self.merge_insert_into_table_stream(request, ipc.read(request_data))

    def merge_insert_into_table_stream(
        self, request: ln.MergeInsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> ln.MergeInsertIntoTableResponse:
        """Merge rows from a reader, batch by batch: `merge_insert_into_table` for data of any size."""
        request = accept(ln.MergeInsertIntoTableRequest, request)
        data = reserved.without(reader_of(data))
        return rows.merge_insert(self._table(request.id, "merge_insert_into_table"), request, data)

    def update_table(self, request: ln.UpdateTableRequest | Mapping[str, Any]) -> ln.UpdateTableResponse:
        request = accept(ln.UpdateTableRequest, request)
        return rows.update(self._table(request.id, "update_table"), request)

    def delete_from_table(self, request: ln.DeleteFromTableRequest | Mapping[str, Any]) -> ln.DeleteFromTableResponse:
        request = accept(ln.DeleteFromTableRequest, request)
        return rows.delete(self._table(request.id, "delete_from_table"), request)

    def query_table(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> ln.QueryTableResponse:
        return ln.QueryTableResponse(data=ipc.write_file(self.query_table_stream(request)))

    def query_table_stream(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> pa.RecordBatchReader:
        """Run a query and return its rows as a reader, one batch at a time: `query_table` for results of any size."""
        request = accept(ln.QueryTableRequest, request)
        return query.run(self._table(request.id, "query_table"), request)

    def count_table_rows(self, request: ln.CountTableRowsRequest | Mapping[str, Any]) -> ln.CountTableRowsResponse:
        request = accept(ln.CountTableRowsRequest, request)
        return ln.CountTableRowsResponse(count=query.count(self._table(request.id, "count_table_rows"), request))

    def explain_table_query_plan(self, request: ln.ExplainTableQueryPlanRequest | Mapping[str, Any]) -> str:
        request = accept(ln.ExplainTableQueryPlanRequest, request)
        return query.explain(self._table(request.id, "explain_table_query_plan"), request)

    def analyze_table_query_plan(self, request: ln.AnalyzeTableQueryPlanRequest | Mapping[str, Any]) -> str:
        request = accept(ln.AnalyzeTableQueryPlanRequest, request)
        return query.analyze(self._table(request.id, "analyze_table_query_plan"), request)

    # -- indices and statistics ------------------------------------------------------------------

    def create_table_index(
        self, request: ln.CreateTableIndexRequest | Mapping[str, Any]
    ) -> ln.CreateTableIndexResponse:
        request = accept(ln.CreateTableIndexRequest, request)
        indices.create(self._table(request.id, "create_table_index"), request)
        return ln.CreateTableIndexResponse()

    def create_table_scalar_index(
        self, request: ln.CreateTableIndexRequest | Mapping[str, Any]
    ) -> ln.CreateTableScalarIndexResponse:
        request = accept(ln.CreateTableIndexRequest, request)
        indices.create_scalar(self._table(request.id, "create_table_scalar_index"), request)
        return ln.CreateTableScalarIndexResponse()

    def list_table_indices(
        self, request: ln.ListTableIndicesRequest | Mapping[str, Any]
    ) -> ln.ListTableIndicesResponse:
        request = accept(ln.ListTableIndicesRequest, request)
        table = self._table(request.id, "list_table_indices")
        limit, scope = page_limit(request.limit), f"indices\x00{table.name}"
        entries = indices.list_(table, request, page_start(scope, request.page_token))
        page, token = page_of(entries, limit, scope, lambda index: index.index_name)
        return ln.ListTableIndicesResponse(indexes=page, page_token=token)

    def describe_table_index_stats(
        self, request: ln.DescribeTableIndexStatsRequest | Mapping[str, Any]
    ) -> ln.DescribeTableIndexStatsResponse:
        request = accept(ln.DescribeTableIndexStatsRequest, request)
        return indices.describe(self._table(request.id, "describe_table_index_stats"), request)

    def drop_table_index(self, request: ln.DropTableIndexRequest | Mapping[str, Any]) -> ln.DropTableIndexResponse:
        request = accept(ln.DropTableIndexRequest, request)
        indices.drop(self._table(request.id, "drop_table_index"), request)
        return ln.DropTableIndexResponse()

    def get_table_stats(self, request: ln.GetTableStatsRequest | Mapping[str, Any]) -> ln.GetTableStatsResponse:
        request = accept(ln.GetTableStatsRequest, request)
        return statistics.describe(self._table(request.id, "get_table_stats"), request)

    # -- columns and metadata --------------------------------------------------------------------

    def alter_table_alter_columns(
        self, request: ln.AlterTableAlterColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAlterColumnsResponse:
        request = accept(ln.AlterTableAlterColumnsRequest, request)
        return columns.alter(self._table(request.id, "alter_table_alter_columns"), request)

    def alter_table_drop_columns(
        self, request: ln.AlterTableDropColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableDropColumnsResponse:
        request = accept(ln.AlterTableDropColumnsRequest, request)
        return columns.drop(self._table(request.id, "alter_table_drop_columns"), request)

    def update_table_schema_metadata(
        self, request: ln.UpdateTableSchemaMetadataRequest | Mapping[str, Any]
    ) -> ln.UpdateTableSchemaMetadataResponse:
        request = accept(ln.UpdateTableSchemaMetadataRequest, request)
        return columns.update_schema(self._table(request.id, "update_table_schema_metadata"), request)

    def update_field_metadata(
        self, request: ln.UpdateFieldMetadataRequest | Mapping[str, Any]
    ) -> ln.UpdateFieldMetadataResponse:
        request = accept(ln.UpdateFieldMetadataRequest, request)
        return columns.update_fields(self._table(request.id, "update_field_metadata"), request)

    # -- tags and branches -----------------------------------------------------------------------

    def list_table_tags(self, request: ln.ListTableTagsRequest | Mapping[str, Any]) -> ln.ListTableTagsResponse:
        request = accept(ln.ListTableTagsRequest, request)
        table = self._table(request.id, "list_table_tags")
        limit, scope = page_limit(request.limit), f"tags\x00{table.name}"
        by_name = tags.list_(table, page_start(scope, request.page_token))
        page, token = page_of(list(by_name.items()), limit, scope, lambda item: item[0])
        return ln.ListTableTagsResponse(tags=dict(page), page_token=token)

    def get_table_tag_version(
        self, request: ln.GetTableTagVersionRequest | Mapping[str, Any]
    ) -> ln.GetTableTagVersionResponse:
        request = accept(ln.GetTableTagVersionRequest, request)
        return tags.version(self._table(request.id, "get_table_tag_version"), request)

    def create_table_tag(self, request: ln.CreateTableTagRequest | Mapping[str, Any]) -> ln.CreateTableTagResponse:
        request = accept(ln.CreateTableTagRequest, request)
        tags.create(self._table(request.id, "create_table_tag"), request)
        return ln.CreateTableTagResponse()

    def update_table_tag(self, request: ln.UpdateTableTagRequest | Mapping[str, Any]) -> ln.UpdateTableTagResponse:
        request = accept(ln.UpdateTableTagRequest, request)
        tags.update(self._table(request.id, "update_table_tag"), request)
        return ln.UpdateTableTagResponse()

    def delete_table_tag(self, request: ln.DeleteTableTagRequest | Mapping[str, Any]) -> ln.DeleteTableTagResponse:
        request = accept(ln.DeleteTableTagRequest, request)
        tags.delete(self._table(request.id, "delete_table_tag"), request)
        return ln.DeleteTableTagResponse()

    def list_table_branches(
        self, request: ln.ListTableBranchesRequest | Mapping[str, Any]
    ) -> ln.ListTableBranchesResponse:
        request = accept(ln.ListTableBranchesRequest, request)
        table = self._table(request.id, "list_table_branches")
        limit, scope = page_limit(request.limit), f"branches\x00{table.name}"
        by_name = branches.list_(table, page_start(scope, request.page_token))
        page, token = page_of(list(by_name.items()), limit, scope, lambda item: item[0])
        return ln.ListTableBranchesResponse(branches=dict(page), page_token=token)

    def create_table_branch(
        self, request: ln.CreateTableBranchRequest | Mapping[str, Any]
    ) -> ln.CreateTableBranchResponse:
        request = accept(ln.CreateTableBranchRequest, request)
        branches.create(self._table(request.id, "create_table_branch"), request)
        return ln.CreateTableBranchResponse()

    def delete_table_branch(
        self, request: ln.DeleteTableBranchRequest | Mapping[str, Any]
    ) -> ln.DeleteTableBranchResponse:
        request = accept(ln.DeleteTableBranchRequest, request)
        branches.delete(self._table(request.id, "delete_table_branch"), request)
        return ln.DeleteTableBranchResponse()

    # -- versions and transactions ---------------------------------------------------------------

    def list_table_versions(
        self, request: ln.ListTableVersionsRequest | Mapping[str, Any]
    ) -> ln.ListTableVersionsResponse:
        request = accept(ln.ListTableVersionsRequest, request)
        table = self._table(request.id, "list_table_versions")
        limit, scope = page_limit(request.limit), f"versions\x00{bool(request.descending)}\x00{table.name}"
        after = page_start(scope, request.page_token)
        entries = versions.list_(table, request, int(after) if after else None)
        page, token = page_of(entries, limit, scope, lambda version: str(version.version))
        return ln.ListTableVersionsResponse(versions=page, page_token=token)

    def describe_table_version(
        self, request: ln.DescribeTableVersionRequest | Mapping[str, Any]
    ) -> ln.DescribeTableVersionResponse:
        request = accept(ln.DescribeTableVersionRequest, request)
        return versions.describe(self._table(request.id, "describe_table_version"), request)

    def create_table_version(
        self, request: ln.CreateTableVersionRequest | Mapping[str, Any]
    ) -> ln.CreateTableVersionResponse:
        request = accept(ln.CreateTableVersionRequest, request)
        return versions.create(self._table(request.id, "create_table_version"), request)

    def batch_delete_table_versions(
        self, request: ln.BatchDeleteTableVersionsRequest | Mapping[str, Any]
    ) -> ln.BatchDeleteTableVersionsResponse:
        request = accept(ln.BatchDeleteTableVersionsRequest, request)
        return versions.delete(self._table(request.id, "batch_delete_table_versions"), request)

    def restore_table(self, request: ln.RestoreTableRequest | Mapping[str, Any]) -> ln.RestoreTableResponse:
        request = accept(ln.RestoreTableRequest, request)
        versions.restore(self._table(request.id, "restore_table"), request)
        return ln.RestoreTableResponse()

    def describe_transaction(
        self, request: ln.DescribeTransactionRequest | Mapping[str, Any]
    ) -> ln.DescribeTransactionResponse:
        """Describe a transaction: its id is the table's, followed by the version it made or its own uuid."""
        request = accept(ln.DescribeTransactionRequest, request)
        table, transaction = self._transaction(request.id, "describe_transaction")
        return transactions.describe(table, transaction)

    def alter_transaction(self, request: ln.AlterTransactionRequest | Mapping[str, Any]) -> ln.AlterTransactionResponse:
        request = accept(ln.AlterTransactionRequest, request)
        table, transaction = self._transaction(request.id, "alter_transaction")
        return transactions.alter(table, transaction, request)

    def _transaction(self, id_: list[str] | None, operation: str) -> tuple[StoredTable, str]:
        if not id_ or len(id_) < 2:
            raise InvalidInputError(
                f"{operation} needs a transaction's id: the table's names followed by the version that the "
                f"transaction made or by its uuid, but {id_ or []!r} was given."
            )
        return self._table(id_[:-1], operation), id_[-1]

    # -- refused: they need more than a table's location -----------------------------------------

    def batch_create_table_versions(
        self, request: ln.BatchCreateTableVersionsRequest | Mapping[str, Any]
    ) -> ln.BatchCreateTableVersionsResponse:
        self._refuse("batch_create_table_versions", _NOT_ATOMIC)

    def batch_commit_tables(
        self, request: ln.BatchCommitTablesRequest | Mapping[str, Any]
    ) -> ln.BatchCommitTablesResponse:
        self._refuse("batch_commit_tables", _NOT_ATOMIC)
