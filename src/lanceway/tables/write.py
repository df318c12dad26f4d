"""Rows written: the first version, more of them, merged, changed and deleted.

Data streams from its reader into files; it is never held whole. What fails leaves nothing behind.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from lance_namespace import (
    DeleteFromTableRequest,
    DeleteFromTableResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    UpdateTableRequest,
    UpdateTableResponse,
)

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.tables import fields, manifests
from lanceway.tables.dataset import RESERVED, Table, has_data, open_at
from lanceway.tables.failures import translated
from lanceway.tables.source import Source
from lanceway.tables.storage import local_path

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.dataset import MergeInsertBuilder
    from lance.fragment import FragmentMetadata

    from lanceway.tables.storage import Store

_FIRST = 1
_ATTEMPTS = 3
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Written:
    """What a create wrote: enough to take back that and nothing else."""

    table: Table
    version: int
    transaction: str
    files: tuple[str, ...]
    made_folder: bool


# -- the first version ---------------------------------------------------------------------------


def create(table: Table, data: pa.RecordBatchReader, storage_options: Mapping[str, str] | None) -> Written:
    """Write a table's first version. Of several writers one succeeds, whatever their number.

    Raises TableAlreadyExistsError for the others.
    """
    table = _with_options(table, storage_options)
    path = local_path(table.location)
    written = Written(table, _FIRST, str(uuid.uuid4()), (), path is not None and not path.exists())
    source = Source(data)
    try:
        with source.consumed(table, "create_table"):
            fragments = _write_fragments(table, source)
            written = replace(written, files=_files(fragments))
        _claim_first_version(table, source.schema, fragments, written.transaction)
    except LanceNamespaceError as error:
        if _is_committed(written):
            return written
        discard(written)
        if not isinstance(error, TableAlreadyExistsError):
            raise
        raise TableAlreadyExistsError(
            f"{table.name} cannot be created: somebody else has just written its first version to "
            f"{table.location}. Insert into it, or use mode exist_ok or overwrite."
        ) from error
    return written


def _with_options(table: Table, storage_options: Mapping[str, str] | None) -> Table:
    if not storage_options:
        return table
    return replace(table, storage_options={**(table.storage_options or {}), **storage_options})


def _write_fragments(table: Table, source: Source) -> list[FragmentMetadata]:
    from lance.fragment import write_fragments

    return list(write_fragments(source.reader, table.path, mode="create", storage_options=table.options))


def _files(fragments: list[FragmentMetadata]) -> tuple[str, ...]:
    return tuple(f"data/{file.path}" for fragment in fragments for file in fragment.files)


def _claim_first_version(table: Table, schema: pa.Schema, fragments: list[FragmentMetadata], transaction: str) -> None:
    """Commit on top of nothing. pylance's own mode `create` would let several of a race win."""
    import lance
    from lance.dataset import Transaction

    operation = lance.LanceOperation.Overwrite(schema, fragments)
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            with translated(table, "create_table"):
                lance.LanceDataset.commit(
                    table.path,
                    Transaction(0, operation, uuid=transaction),
                    max_retries=0,
                    storage_options=table.options,
                    namespace_client=table.client,
                    table_id=list(table.id) if table.client else None,
                    namespace_client_managed_versioning=table.client is not None,
                )
            return
        except LanceNamespaceError as error:
            # What a loser is told differs from race to race; that there is a version now does not.
            if has_data(table):
                raise TableAlreadyExistsError(str(error)) from error
            # Without one, it may be that somebody took a first version back while pylance looked at it.
            if not attempts_left:
                raise


def _is_committed(written: Written) -> bool:
    """Whether a commit that was said to have failed made the first version all the same.

    Only of a managed table: a claim that stands is not taken back by deleting files.
    """
    if written.table.client is None:
        return False
    try:
        return has_data(written.table) and _is_own(written)
    except (NamespaceNotFoundError, TableNotFoundError):  # dropped meanwhile
        return False


def _is_own(written: Written) -> bool:
    manifest = written.table.store().read(manifests.key(written.version))
    return written.transaction.encode() in (manifest or b"")


def _staged(store: Store, transaction: str) -> list[str]:
    """The manifests that a transaction has staged and not claimed, or not been given."""
    found = (key for key in store.keys(manifests.FOLDER) if manifests.version_of(key) is None)
    return [key for key in found if transaction.encode() in (store.read(key) or b"")]


def discard(written: Written) -> None:
    """Remove what a create wrote: its files, its transaction and, if it is still its own, its version."""
    store = written.table.store()
    if _is_own(written):
        store.delete(manifests.key(written.version), manifests.HINT)
    if written.table.client is not None:
        store.delete(*_staged(store, written.transaction))
    store.delete(*written.files, f"_transactions/0-{written.transaction}.txn")
    if store.exists(RESERVED):
        return  # declared: another writer may be about to put a file into a folder that is empty now
    for folder in ("data", "_transactions", "_versions"):
        store.remove_empty_folders(folder)
    if written.made_folder:
        store.remove_empty_folders()


# -- more rows -----------------------------------------------------------------------------------


def overwrite(table: Table, data: pa.RecordBatchReader, storage_options: Mapping[str, str] | None) -> int:
    """Replace rows and schema in one new version, and answer its number."""
    table = _with_options(table, storage_options)
    return _append(table, open_at(table), Source(data), "create_table", "overwrite")


def insert(
    table: Table, request: InsertIntoTableRequest, data: pa.RecordBatchReader, *, overwrite: bool
) -> InsertIntoTableResponse:
    source = Source(data)
    dataset = open_at(table, branch=request.branch)
    version = _append(table, dataset, source, "insert_into_table", "overwrite" if overwrite else "append")
    return InsertIntoTableResponse(num_inserted_rows=source.rows, version=version)


def _append(table: Table, dataset: lance.LanceDataset, source: Source, operation: str, mode: str) -> int:
    with source.consumed(table, operation):
        dataset.insert(source.reader, mode=mode)
        return int(dataset.version)


def merge_insert(
    table: Table, request: MergeInsertIntoTableRequest, data: pa.RecordBatchReader
) -> MergeInsertIntoTableResponse:
    """Match rows by the columns `on`. A filter of an action implies the action."""
    source = Source(data)
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
    return MergeInsertIntoTableResponse(
        num_updated_rows=counts["num_updated_rows"],
        num_inserted_rows=counts["num_inserted_rows"],
        num_deleted_rows=counts["num_deleted_rows"],
        version=version,
    )


def _merge(dataset: lance.LanceDataset, keys: list[str], request: MergeInsertIntoTableRequest) -> MergeInsertBuilder:
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
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInputError(f"The timeout {text!r} is no duration; write a number and ms, s, m or h: 30s, 5m.")
    return timedelta(seconds=float(found[1]) * _SECONDS[found[2]])


# -- rows changed --------------------------------------------------------------------------------


def update(table: Table, request: UpdateTableRequest) -> UpdateTableResponse:
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
        return UpdateTableResponse(updated_rows=counts["num_rows_updated"], version=dataset.version)


def delete(table: Table, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
    dataset = open_at(table, branch=request.branch)
    with translated(table, "delete_from_table"):
        dataset.delete(request.predicate)
        return DeleteFromTableResponse(version=dataset.version)
