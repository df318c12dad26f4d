"""A catalog around a catalog: every operation is forwarded, and a subclass changes one thing."""

# What `_forward` returns is what the other catalog returned, of the type that the operation declares.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract import capabilities, jobs
from lanceway.catalogs.contract.capabilities import KeepsJobs, ObjectIdentity
from lanceway.catalogs.contract.jobs import Job
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.handles.contents import CatalogContents
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import UnsupportedOperationError
from lanceway.tables.write.data import for_new_table, reader_of

if TYPE_CHECKING:
    import pyarrow as pa


class Forwarder(ln.LanceNamespace):
    """Sends every operation of the contract, and the twins that stream, through `_forward`."""

    @abstractmethod
    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Run one operation, or a twin that streams; `operations.carry_out` does so on a catalog."""

    # -- namespaces -------------------------------------------------------------------------------

    def list_namespaces(
        self, request: ln.ListNamespacesRequest | Mapping[str, Any] | None = None
    ) -> ln.ListNamespacesResponse:
        return self._forward("list_namespaces", accept(ln.ListNamespacesRequest, request))

    def describe_namespace(
        self, request: ln.DescribeNamespaceRequest | Mapping[str, Any]
    ) -> ln.DescribeNamespaceResponse:
        return self._forward("describe_namespace", accept(ln.DescribeNamespaceRequest, request))

    def namespace_exists(self, request: ln.NamespaceExistsRequest | Mapping[str, Any]) -> ln.NamespaceExistsResponse:
        return self._forward("namespace_exists", accept(ln.NamespaceExistsRequest, request))

    def create_namespace(self, request: ln.CreateNamespaceRequest | Mapping[str, Any]) -> ln.CreateNamespaceResponse:
        return self._forward("create_namespace", accept(ln.CreateNamespaceRequest, request))

    def drop_namespace(self, request: ln.DropNamespaceRequest | Mapping[str, Any]) -> ln.DropNamespaceResponse:
        return self._forward("drop_namespace", accept(ln.DropNamespaceRequest, request))

    # -- tables -----------------------------------------------------------------------------------

    def list_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        return self._forward("list_tables", accept(ln.ListTablesRequest, request))

    def list_all_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        return self._forward("list_all_tables", accept(ln.ListTablesRequest, request))

    def describe_table(self, request: ln.DescribeTableRequest | Mapping[str, Any]) -> ln.DescribeTableResponse:
        return self._forward("describe_table", accept(ln.DescribeTableRequest, request))

    def table_exists(self, request: ln.TableExistsRequest | Mapping[str, Any]) -> ln.TableExistsResponse:
        return self._forward("table_exists", accept(ln.TableExistsRequest, request))

    def declare_table(self, request: ln.DeclareTableRequest | Mapping[str, Any]) -> ln.DeclareTableResponse:
        return self._forward("declare_table", accept(ln.DeclareTableRequest, request))

    def register_table(self, request: ln.RegisterTableRequest | Mapping[str, Any]) -> ln.RegisterTableResponse:
        return self._forward("register_table", accept(ln.RegisterTableRequest, request))

    def deregister_table(self, request: ln.DeregisterTableRequest | Mapping[str, Any]) -> ln.DeregisterTableResponse:
        return self._forward("deregister_table", accept(ln.DeregisterTableRequest, request))

    def drop_table(self, request: ln.DropTableRequest | Mapping[str, Any]) -> ln.DropTableResponse:
        return self._forward("drop_table", accept(ln.DropTableRequest, request))

    def rename_table(self, request: ln.RenameTableRequest | Mapping[str, Any]) -> ln.RenameTableResponse:
        return self._forward("rename_table", accept(ln.RenameTableRequest, request))

    def create_table(
        self, request: ln.CreateTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.CreateTableResponse:
        return self._forward("create_table", accept(ln.CreateTableRequest, request), request_data)

    def create_table_stream(
        self, request: ln.CreateTableRequest | Mapping[str, Any], data: Any
    ) -> ln.CreateTableResponse:
        return self._forward("create_table_stream", accept(ln.CreateTableRequest, request), for_new_table(data))

    def create_empty_table(self, request: ln.CreateTableRequest | Mapping[str, Any]) -> ln.CreateTableResponse:
        return self._forward("create_empty_table", accept(ln.CreateTableRequest, request))

    # -- rows -------------------------------------------------------------------------------------

    def insert_into_table(
        self, request: ln.InsertIntoTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.InsertIntoTableResponse:
        return self._forward("insert_into_table", accept(ln.InsertIntoTableRequest, request), request_data)

    def insert_into_table_stream(
        self, request: ln.InsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> ln.InsertIntoTableResponse:
        return self._forward("insert_into_table_stream", accept(ln.InsertIntoTableRequest, request), reader_of(data))

    def merge_insert_into_table(
        self, request: ln.MergeInsertIntoTableRequest | Mapping[str, Any], request_data: bytes
    ) -> ln.MergeInsertIntoTableResponse:
        return self._forward("merge_insert_into_table", accept(ln.MergeInsertIntoTableRequest, request), request_data)

    def merge_insert_into_table_stream(
        self, request: ln.MergeInsertIntoTableRequest | Mapping[str, Any], data: Any
    ) -> ln.MergeInsertIntoTableResponse:
        request = accept(ln.MergeInsertIntoTableRequest, request)
        return self._forward("merge_insert_into_table_stream", request, reader_of(data))

    def update_table(self, request: ln.UpdateTableRequest | Mapping[str, Any]) -> ln.UpdateTableResponse:
        return self._forward("update_table", accept(ln.UpdateTableRequest, request))

    def delete_from_table(self, request: ln.DeleteFromTableRequest | Mapping[str, Any]) -> ln.DeleteFromTableResponse:
        return self._forward("delete_from_table", accept(ln.DeleteFromTableRequest, request))

    def query_table(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> ln.QueryTableResponse:
        return self._forward("query_table", accept(ln.QueryTableRequest, request))

    def query_table_stream(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> pa.RecordBatchReader:
        return self._forward("query_table_stream", accept(ln.QueryTableRequest, request))

    def count_table_rows(self, request: ln.CountTableRowsRequest | Mapping[str, Any]) -> ln.CountTableRowsResponse:
        return self._forward("count_table_rows", accept(ln.CountTableRowsRequest, request))

    def explain_table_query_plan(self, request: ln.ExplainTableQueryPlanRequest | Mapping[str, Any]) -> str:
        return self._forward("explain_table_query_plan", accept(ln.ExplainTableQueryPlanRequest, request))

    def analyze_table_query_plan(self, request: ln.AnalyzeTableQueryPlanRequest | Mapping[str, Any]) -> str:
        return self._forward("analyze_table_query_plan", accept(ln.AnalyzeTableQueryPlanRequest, request))

    # -- indices and statistics -------------------------------------------------------------------

    def create_table_index(
        self, request: ln.CreateTableIndexRequest | Mapping[str, Any]
    ) -> ln.CreateTableIndexResponse:
        return self._forward("create_table_index", accept(ln.CreateTableIndexRequest, request))

    def create_table_scalar_index(
        self, request: ln.CreateTableIndexRequest | Mapping[str, Any]
    ) -> ln.CreateTableScalarIndexResponse:
        return self._forward("create_table_scalar_index", accept(ln.CreateTableIndexRequest, request))

    def list_table_indices(
        self, request: ln.ListTableIndicesRequest | Mapping[str, Any]
    ) -> ln.ListTableIndicesResponse:
        return self._forward("list_table_indices", accept(ln.ListTableIndicesRequest, request))

    def describe_table_index_stats(
        self, request: ln.DescribeTableIndexStatsRequest | Mapping[str, Any]
    ) -> ln.DescribeTableIndexStatsResponse:
        return self._forward("describe_table_index_stats", accept(ln.DescribeTableIndexStatsRequest, request))

    def drop_table_index(self, request: ln.DropTableIndexRequest | Mapping[str, Any]) -> ln.DropTableIndexResponse:
        return self._forward("drop_table_index", accept(ln.DropTableIndexRequest, request))

    def get_table_stats(self, request: ln.GetTableStatsRequest | Mapping[str, Any]) -> ln.GetTableStatsResponse:
        return self._forward("get_table_stats", accept(ln.GetTableStatsRequest, request))

    # -- columns, metadata and views --------------------------------------------------------------

    def alter_table_add_columns(
        self, request: ln.AlterTableAddColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAddColumnsResponse:
        return self._forward("alter_table_add_columns", accept(ln.AlterTableAddColumnsRequest, request))

    def alter_table_alter_columns(
        self, request: ln.AlterTableAlterColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableAlterColumnsResponse:
        return self._forward("alter_table_alter_columns", accept(ln.AlterTableAlterColumnsRequest, request))

    def alter_table_drop_columns(
        self, request: ln.AlterTableDropColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableDropColumnsResponse:
        return self._forward("alter_table_drop_columns", accept(ln.AlterTableDropColumnsRequest, request))

    def alter_table_backfill_columns(
        self, request: ln.AlterTableBackfillColumnsRequest | Mapping[str, Any]
    ) -> ln.AlterTableBackfillColumnsResponse:
        return self._forward("alter_table_backfill_columns", accept(ln.AlterTableBackfillColumnsRequest, request))

    def update_table_schema_metadata(
        self, request: ln.UpdateTableSchemaMetadataRequest | Mapping[str, Any]
    ) -> ln.UpdateTableSchemaMetadataResponse:
        return self._forward("update_table_schema_metadata", accept(ln.UpdateTableSchemaMetadataRequest, request))

    def update_field_metadata(
        self, request: ln.UpdateFieldMetadataRequest | Mapping[str, Any]
    ) -> ln.UpdateFieldMetadataResponse:
        return self._forward("update_field_metadata", accept(ln.UpdateFieldMetadataRequest, request))

    def create_materialized_view(
        self, request: ln.CreateMaterializedViewRequest | Mapping[str, Any]
    ) -> ln.CreateMaterializedViewResponse:
        return self._forward("create_materialized_view", accept(ln.CreateMaterializedViewRequest, request))

    def refresh_materialized_view(
        self, request: ln.RefreshMaterializedViewRequest | Mapping[str, Any]
    ) -> ln.RefreshMaterializedViewResponse:
        return self._forward("refresh_materialized_view", accept(ln.RefreshMaterializedViewRequest, request))

    # -- tags and branches ------------------------------------------------------------------------

    def list_table_tags(self, request: ln.ListTableTagsRequest | Mapping[str, Any]) -> ln.ListTableTagsResponse:
        return self._forward("list_table_tags", accept(ln.ListTableTagsRequest, request))

    def get_table_tag_version(
        self, request: ln.GetTableTagVersionRequest | Mapping[str, Any]
    ) -> ln.GetTableTagVersionResponse:
        return self._forward("get_table_tag_version", accept(ln.GetTableTagVersionRequest, request))

    def create_table_tag(self, request: ln.CreateTableTagRequest | Mapping[str, Any]) -> ln.CreateTableTagResponse:
        return self._forward("create_table_tag", accept(ln.CreateTableTagRequest, request))

    def update_table_tag(self, request: ln.UpdateTableTagRequest | Mapping[str, Any]) -> ln.UpdateTableTagResponse:
        return self._forward("update_table_tag", accept(ln.UpdateTableTagRequest, request))

    def delete_table_tag(self, request: ln.DeleteTableTagRequest | Mapping[str, Any]) -> ln.DeleteTableTagResponse:
        return self._forward("delete_table_tag", accept(ln.DeleteTableTagRequest, request))

    def list_table_branches(
        self, request: ln.ListTableBranchesRequest | Mapping[str, Any]
    ) -> ln.ListTableBranchesResponse:
        return self._forward("list_table_branches", accept(ln.ListTableBranchesRequest, request))

    def create_table_branch(
        self, request: ln.CreateTableBranchRequest | Mapping[str, Any]
    ) -> ln.CreateTableBranchResponse:
        return self._forward("create_table_branch", accept(ln.CreateTableBranchRequest, request))

    def delete_table_branch(
        self, request: ln.DeleteTableBranchRequest | Mapping[str, Any]
    ) -> ln.DeleteTableBranchResponse:
        return self._forward("delete_table_branch", accept(ln.DeleteTableBranchRequest, request))

    # -- versions and transactions ----------------------------------------------------------------

    def list_table_versions(
        self, request: ln.ListTableVersionsRequest | Mapping[str, Any]
    ) -> ln.ListTableVersionsResponse:
        return self._forward("list_table_versions", accept(ln.ListTableVersionsRequest, request))

    def describe_table_version(
        self, request: ln.DescribeTableVersionRequest | Mapping[str, Any]
    ) -> ln.DescribeTableVersionResponse:
        return self._forward("describe_table_version", accept(ln.DescribeTableVersionRequest, request))

    def create_table_version(
        self, request: ln.CreateTableVersionRequest | Mapping[str, Any]
    ) -> ln.CreateTableVersionResponse:
        return self._forward("create_table_version", accept(ln.CreateTableVersionRequest, request))

    def batch_create_table_versions(
        self, request: ln.BatchCreateTableVersionsRequest | Mapping[str, Any]
    ) -> ln.BatchCreateTableVersionsResponse:
        return self._forward("batch_create_table_versions", accept(ln.BatchCreateTableVersionsRequest, request))

    def batch_delete_table_versions(
        self, request: ln.BatchDeleteTableVersionsRequest | Mapping[str, Any]
    ) -> ln.BatchDeleteTableVersionsResponse:
        return self._forward("batch_delete_table_versions", accept(ln.BatchDeleteTableVersionsRequest, request))

    def batch_commit_tables(
        self, request: ln.BatchCommitTablesRequest | Mapping[str, Any]
    ) -> ln.BatchCommitTablesResponse:
        return self._forward("batch_commit_tables", accept(ln.BatchCommitTablesRequest, request))

    def restore_table(self, request: ln.RestoreTableRequest | Mapping[str, Any]) -> ln.RestoreTableResponse:
        return self._forward("restore_table", accept(ln.RestoreTableRequest, request))

    def describe_transaction(
        self, request: ln.DescribeTransactionRequest | Mapping[str, Any]
    ) -> ln.DescribeTransactionResponse:
        return self._forward("describe_transaction", accept(ln.DescribeTransactionRequest, request))

    def alter_transaction(self, request: ln.AlterTransactionRequest | Mapping[str, Any]) -> ln.AlterTransactionResponse:
        return self._forward("alter_transaction", accept(ln.AlterTransactionRequest, request))


class Wrapper(CatalogContents, Forwarder):
    """Forwards every operation to one catalog. A subclass overrides `_forward`, or single operations."""

    def __init__(self, inner: ln.LanceNamespace) -> None:
        self._inner = inner

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        return carry_out(self._inner, operation, request, *data)

    # -- background jobs -------------------------------------------------------------------------

    def list_jobs(self, *, table: Sequence[str] | None = None, **options: Any) -> tuple[list[Job], str | None]:
        """List background jobs as the catalog inside does, of the tables that are visible here."""
        names = None if table is None else self._inside(list(table))
        page, token = self._with_jobs("list_jobs").list_jobs(table=names, **options)
        return [self._job(job) for job in page if self._holds(job.table)], token

    def describe_job(self, job_id: str) -> Job:
        """Describe a background job. Raises InvalidInputError where no job has this id."""
        return self._job(self._with_jobs("describe_job").describe_job(job_id))

    def cancel_job(self, job_id: str) -> Job:
        """Cancel a background job: at once if it waits, soon if it runs."""
        return self._job(self._with_jobs("cancel_job").cancel_job(job_id))

    def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """Wait until a job has ended, or for `timeout` seconds, and return it as it is then."""
        return jobs.wait(self.describe_job, job_id, timeout)

    def _with_jobs(self, method: str) -> KeepsJobs:
        if not isinstance(self._inner, KeepsJobs):
            raise UnsupportedOperationError(f"{self._inner!r} does not support {method}: it keeps no background jobs.")
        return self._inner

    def _job(self, job: Job) -> Job:
        return replace(job, table=self._outside(job.table)) if self._holds(job.table) else job

    def _creates_in_root(self) -> bool:
        return not isinstance(self._inner, CatalogContents) or self._inner._creates_in_root()

    # -- identifiers -----------------------------------------------------------------------------

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return what tells an object from a later one of the same name; None where the catalog inside does not say."""
        return capabilities.object_identity(self._inner, self._inside(list(id_)), is_namespace=is_namespace)

    def _holds(self, names: list[str]) -> bool:
        """Return whether an object of the catalog inside is visible from here."""
        return True

    def _inside(self, names: list[str] | None) -> list[str]:
        """Return an identifier as the catalog inside has it."""
        return list(names or ())

    def _outside(self, names: list[str]) -> list[str]:
        """Return an identifier of the catalog inside as it is here."""
        return names

    def namespace_id(self) -> str:
        return self._inner.namespace_id()

    def close(self) -> None:
        """Close the catalog inside, where it can be closed."""
        capabilities.close(self._inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r})"
