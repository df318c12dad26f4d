"""The columns that Glue shows for a Lance table: written when its schema changes, read where there is nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
    CreateTableRequest,
    CreateTableResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    RestoreTableRequest,
    RestoreTableResponse,
)

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.glue import columns as glue_columns
from lanceway.catalogs.glue import names
from lanceway.catalogs.glue.client import Answer
from lanceway.catalogs.glue.registration import GlueRegistration
from lanceway.errors import LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.tables import dataset

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)


class GlueSchemas(GlueRegistration):
    """The dataset knows its schema; what Glue shows follows it."""

    # -- written ---------------------------------------------------------------------------------

    def _write_first(
        self, table: Identifier, entry: TableEntry, request: CreateTableRequest, data: pa.RecordBatchReader
    ) -> CreateTableResponse:
        schema = data.schema
        response = super()._write_first(table, entry, request, data)
        self._show(table, lambda: schema)
        return response

    def _create_over(
        self,
        table: Identifier,
        entry: TableEntry,
        request: CreateTableRequest,
        chosen: str,
        data: pa.RecordBatchReader,
    ) -> CreateTableResponse:
        schema = data.schema
        response = super()._create_over(table, entry, request, chosen, data)
        if chosen == "overwrite":
            self._show(table, lambda: schema)
        return response

    def insert_into_table_stream(
        self, request: InsertIntoTableRequest, data: pa.RecordBatchReader
    ) -> InsertIntoTableResponse:
        request = accept(InsertIntoTableRequest, request)
        response = super().insert_into_table_stream(request, data)
        if request.mode:  # an append, which it is without one, changes no schema
            self._show_stored(request.id)
        return response

    def alter_table_add_columns(self, request: AlterTableAddColumnsRequest) -> AlterTableAddColumnsResponse:
        request = accept(AlterTableAddColumnsRequest, request)
        response = super().alter_table_add_columns(request)
        self._show_stored(request.id)
        return response

    def alter_table_alter_columns(self, request: AlterTableAlterColumnsRequest) -> AlterTableAlterColumnsResponse:
        request = accept(AlterTableAlterColumnsRequest, request)
        response = super().alter_table_alter_columns(request)
        self._show_stored(request.id)
        return response

    def alter_table_drop_columns(self, request: AlterTableDropColumnsRequest) -> AlterTableDropColumnsResponse:
        request = accept(AlterTableDropColumnsRequest, request)
        response = super().alter_table_drop_columns(request)
        self._show_stored(request.id)
        return response

    def restore_table(self, request: RestoreTableRequest) -> RestoreTableResponse:
        request = accept(RestoreTableRequest, request)
        response = super().restore_table(request)
        self._show_stored(request.id)
        return response

    def _show_stored(self, id_: list[str] | None) -> None:
        table = Identifier(id_ or ())
        self._show(table, lambda: dataset.open_at(self._handle(table, self._find_table(table))).schema)

    def _show(self, table: Identifier, schema: Callable[[], pa.Schema]) -> None:
        """Write a schema to Glue. What was asked for is done by now, so a failure is told to the log alone."""
        try:
            columns, rest = glue_columns.written(schema())
            self._update(names.folded(table), lambda row: self._with_columns(row, columns, rest))
        except LanceNamespaceError as error:
            _LOG.warning("Glue does not show the new columns of %s: %s", table, error)

    def _with_columns(
        self, row: Answer, columns: list[dict[str, str]], rest: Mapping[str, str]
    ) -> dict[str, Any] | None:
        """The row with other columns, None if it has them already."""
        parameters = {key: text for key, text in row["Parameters"].items() if key != glue_columns.PARAMETER}
        storage = row["StorageDescriptor"]
        shown = [{"Name": column["Name"], "Type": column.get("Type")} for column in storage.get("Columns") or ()]
        if shown == columns and row["Parameters"].get(glue_columns.PARAMETER) == rest.get(glue_columns.PARAMETER):
            return None
        made = self._glue.writable(row)
        return {**made, "Parameters": {**parameters, **rest}, "StorageDescriptor": {**storage, "Columns": columns}}

    # -- read ------------------------------------------------------------------------------------

    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """A table without data yet has the schema that Glue shows, if it shows one."""
        request = accept(DescribeTableRequest, request)
        response = super().describe_table(request)
        if request.load_detailed_metadata and response.is_only_declared and response.var_schema is None:
            row = self._row(names.folded(Identifier(request.id or ())))
            columns = row["StorageDescriptor"].get("Columns") or ()
            response.var_schema = glue_columns.read(columns, row["Parameters"])
        return response
