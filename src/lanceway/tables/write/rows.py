"""Rows written to a table that is there: more of them, merged, changed and deleted.

Data streams from its reader into files; it is never held whole. What fails leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import lance_namespace as ln

from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableSchemaValidationError
from lanceway.tables import expressions
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import FOREIGN, translate, translated
from lanceway.tables.schema import fields
from lanceway.tables.versions import commit
from lanceway.tables.write.create import with_options
from lanceway.tables.write.reader import CountingReader

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.dataset import MergeInsertBuilder, Transaction
    from lance.fragment import FragmentMetadata

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_ACTIONS = ("when_matched_update_all", "when_not_matched_insert_all", "when_not_matched_by_source_delete")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


# -- more rows -----------------------------------------------------------------------------------


def overwrite(table: StoredTable, data: pa.RecordBatchReader, storage_options: Mapping[str, str] | None) -> int:
    """Replace rows and schema in one new version, and answer its number."""
    table = with_options(table, storage_options)
    return _append(table, None, CountingReader(data), "create_table", "overwrite")


def insert(
    table: StoredTable, request: ln.InsertIntoTableRequest, data: pa.RecordBatchReader, *, overwrite: bool
) -> ln.InsertIntoTableResponse:
    source = CountingReader(data)
    version = _append(table, request.branch, source, "insert_into_table", "overwrite" if overwrite else "append")
    return ln.InsertIntoTableResponse(num_inserted_rows=source.rows, version=version)


def _append(table: StoredTable, branch: str | None, source: CountingReader, operation: str, mode: str) -> int:
    import lance  # and no module of it: a thread that starts there and one that starts here trip over each other

    dataset = open_at(table, branch=branch)
    if mode == "append":
        _check_columns(table, dataset.schema.names, source.schema.names, operation)
    with source.consumed(table, operation):
        transaction = lance.fragment.write_fragments(source.reader, dataset, mode=mode, return_transaction=True)
        try:
            return commit.commit(table, transaction, retries=commit.RETRIES, opened=dataset)
        except FOREIGN as error:
            # pylance leaves the files of a commit that failed. Of any other failure only the response may be lost.
            if isinstance(translate(table, operation, error), ConcurrentModificationError):
                _remove_unused(table, dataset, transaction, branch)
            raise


def _check_columns(table: StoredTable, columns: list[str], names: list[str], operation: str) -> None:
    """Refuse rows with columns that the table does not have."""
    strange = [name for name in names if name not in columns]
    if strange:
        noun = "column" if len(strange) == 1 else "columns"
        raise TableSchemaValidationError(
            f"{operation}: {table.name} has no {noun} {', '.join(strange)}. It has: {', '.join(columns)}."
        )


def _remove_unused(
    table: StoredTable, dataset: lance.LanceDataset, transaction: Transaction, branch: str | None
) -> None:
    """Remove the files of an append or overwrite, unless a version since has them: a commit is tried more than once."""
    fragments: list[FragmentMetadata] = transaction.operation.fragments  # type: ignore[attr-defined]
    files = {str(file.path) for fragment in fragments for file in fragment.files}
    first, last = int(dataset.version) + 1, int(dataset.latest_version)
    for version in range(first, last + 1):
        committed = dataset.checkout_version(version).get_fragments()
        files -= {str(file.path) for fragment in committed for file in fragment.metadata.files}
    commit.remove(table.store(), (commit.data_key(file, branch) for file in files))


def merge_insert(
    table: StoredTable, request: ln.MergeInsertIntoTableRequest, data: pa.RecordBatchReader
) -> ln.MergeInsertIntoTableResponse:
    """Match rows by the columns `on`. A filter of an action implies the action."""
    filters = (request.when_matched_update_all_filt, request.when_not_matched_by_source_delete_filt)
    if not any((*filters, *(getattr(request, action) for action in _ACTIONS))):
        raise InvalidInputError(
            f"merge_insert_into_table: nothing would be changed in {table.name}. Set at least one of "
            f"{', '.join(_ACTIONS)}."
        )
    expressions.check("merge_insert_into_table", *filters)
    source = CountingReader(data)
    dataset = open_at(table, branch=request.branch)
    keys = [fields.require_top(table, dataset.schema, path, "merge_insert_into_table") for path in request.on or []]
    missing = sorted(set(keys) - set(source.schema.names))
    if missing:
        raise InvalidInputError(
            f"merge_insert_into_table: the data for {table.name} has no column {', '.join(missing)} to match rows by."
        )
    with source.consumed(table, "merge_insert_into_table"):
        counts = _merge(dataset, keys, request).execute(source.reader)
        version = dataset.version
    return ln.MergeInsertIntoTableResponse(
        num_updated_rows=counts["num_updated_rows"],
        num_inserted_rows=counts["num_inserted_rows"],
        num_deleted_rows=counts["num_deleted_rows"],
        version=version,
    )


def _merge(dataset: lance.LanceDataset, keys: list[str], request: ln.MergeInsertIntoTableRequest) -> MergeInsertBuilder:
    builder = dataset.merge_insert(keys).use_index(bool(request.use_index))
    if request.when_matched_update_all or request.when_matched_update_all_filt:
        builder = builder.when_matched_update_all(request.when_matched_update_all_filt)
    if request.when_not_matched_insert_all:
        builder = builder.when_not_matched_insert_all()
    if request.when_not_matched_by_source_delete or request.when_not_matched_by_source_delete_filt:
        builder = builder.when_not_matched_by_source_delete(request.when_not_matched_by_source_delete_filt)
    if request.timeout:
        builder = builder.retry_timeout(_duration(request.timeout))
    return builder


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise InvalidInputError(f"The timeout {text!r} is not a duration; write a number and ms, s, m or h: 30s, 5m.")
    return timedelta(seconds=float(match[1]) * _SECONDS[match[2]])


# -- rows changed --------------------------------------------------------------------------------


def update(table: StoredTable, request: ln.UpdateTableRequest) -> ln.UpdateTableResponse:
    expressions.check("update_table", request.predicate, *(pair[-1] for pair in request.updates))
    dataset = open_at(table, branch=request.branch)
    updates: dict[str, str] = {}
    for path, expression in request.updates:
        column = fields.require_top(table, dataset.schema, path, "update_table")
        if column in updates:
            raise InvalidInputError(f"update_table: the column {path} of {table.name} is given twice.")
        updates[column] = expression
    if not updates:
        raise InvalidInputError(f"update_table: no update of {table.name} was given; give [column, expression] pairs.")
    with translated(table, "update_table"):
        counts = dataset.update(updates, where=request.predicate)
        return ln.UpdateTableResponse(updated_rows=counts["num_rows_updated"], version=dataset.version)


class CountedDeletionResponse(ln.DeleteFromTableResponse):
    """A deletion that says how many rows it took, which the contract's does not."""

    num_deleted_rows: int | None = None


def delete(table: StoredTable, request: ln.DeleteFromTableRequest) -> ln.DeleteFromTableResponse:
    expressions.check("delete_from_table", request.predicate)
    dataset = open_at(table, branch=request.branch)
    with translated(table, "delete_from_table"):
        deleted = dataset.delete(request.predicate)["num_deleted_rows"]
        return CountedDeletionResponse(version=dataset.version, num_deleted_rows=deleted)
