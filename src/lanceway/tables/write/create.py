"""A table's first version: of several who write it one succeeds, and what the others wrote goes away again.

A catalog gives the right to write it as a claim, and takes the claim away when the table is dropped. A
writer at work then notices too late: storage alone cannot stop its version from appearing where another
may hold a new claim by now. It takes its version back, and until it has, the version's
transaction tells all others that it is a stray.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables.dataset import RESERVED, StoredTable, has_data
from lanceway.tables.errors import translated
from lanceway.tables.storage import options
from lanceway.tables.versions import commit, manifests
from lanceway.tables.write.reader import CountingReader

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

    from lanceway.tables.storage.store import Store

Result = TypeVar("Result")
_FIRST = 1
# What a commit says that met a version of another writer, be it there, gone again, or just going.
_MET_ANOTHER = (
    ConcurrentModificationError,
    InvalidTableStateError,
    TableAlreadyExistsError,
    TableVersionNotFoundError,
)
# How long a stray is waited for, in seconds: some five in all, since its writer is about to remove it.
_PAUSES = tuple(min(1.0, 0.005 * 2**number) for number in range(12))
# The transaction that a manifest names, if it is for a claim: what tells the claim comes first.
_CLAIMED = re.compile(rb"0-([0-9a-f]{8}-[0-9a-f]{4}-8)[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.txn")


@dataclass(frozen=True, slots=True)
class CreateClaim:
    """The right to write a table's first version, by a name that no other claim has; None if that is not known."""

    name: str | None
    stands: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class CreatedFiles:
    """What a create wrote: enough to take back that and nothing else."""

    table: StoredTable
    version: int
    transaction: str
    files: tuple[str, ...]


def create(
    table: StoredTable,
    data: pa.RecordBatchReader,
    storage_options: Mapping[str, str] | None,
    claim: CreateClaim | None = None,
) -> CreatedFiles:
    """Write a table's first version. Of several writers one succeeds, whatever their number.

    Raises TableAlreadyExistsError for the others, and ConcurrentModificationError if the claim
    was taken away; nothing is left of what was written then.
    """
    table = with_options(table, storage_options)
    source = CountingReader(data)
    written = CreatedFiles(table, _FIRST, _transaction(claim), ())
    return _create(written, source.schema, lambda: _write_fragments(table, source), claim, while_unread=source)


def publish(
    table: StoredTable,
    schema: pa.Schema,
    fragments: list[FragmentMetadata],
    claim: CreateClaim,
    transaction: str,
    properties: Mapping[str, str],
) -> CreatedFiles:
    """Make fragments that are at the table's location already its first version, as `create` does with rows.

    The transaction has the given name and properties.
    """
    written = CreatedFiles(table, _FIRST, transaction, _files(fragments))
    return _create(written, schema, lambda: fragments, claim, properties=properties)


def _create(
    written: CreatedFiles,
    schema: pa.Schema,
    write: Callable[[], list[FragmentMetadata]],
    claim: CreateClaim | None,
    *,
    while_unread: CountingReader | None = None,
    properties: Mapping[str, str] | None = None,
) -> CreatedFiles:
    table = written.table
    try:
        fragments = _insist(written, claim, write, while_unread=while_unread)
        written = replace(written, files=_files(fragments))
        _require(table, claim)
        _insist(written, claim, lambda: _commit(table, schema, fragments, written.transaction, properties))
    except LanceNamespaceError as error:
        if not _is_committed(written):
            discard(written)
            if _is_lost(claim):
                raise _dropped(table) from error
            if isinstance(error, TableAlreadyExistsError):
                raise _already_exists(table) from error
            raise
    if _is_lost(claim):
        discard(written)
        raise _dropped(table)
    return written


def with_options(table: StoredTable, storage_options: Mapping[str, str] | None) -> StoredTable:
    """Return the table as a request with storage options of its own reaches it."""
    if not storage_options:
        return table
    return replace(table, storage_options=options.combined(table.location, table.storage_options, storage_options))


def _is_lost(claim: CreateClaim | None) -> bool:
    return claim is not None and not claim.stands()


def _require(table: StoredTable, claim: CreateClaim | None) -> None:
    if _is_lost(claim):
        raise _dropped(table)


def _already_exists(table: StoredTable) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(
        f"{table.name} cannot be created: another writer has just written its first version to "
        f"{table.location}. Insert into it, or use mode exist_ok or overwrite."
    )


def _dropped(table: StoredTable) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"{table.name} was dropped while it was being created; nothing of it is left. Create it again if need be."
    )


# -- writing -------------------------------------------------------------------------------------


def _insist(
    written: CreatedFiles,
    claim: CreateClaim | None,
    step: Callable[[], Result],
    *,
    while_unread: CountingReader | None = None,
) -> Result:
    """Repeat a step if all that is in its way is a version that goes away again."""
    table = written.table
    for pause in _PAUSES:
        try:
            return step()
        except LanceNamespaceError as error:
            if while_unread is not None and while_unread.is_begun:
                raise
            # What a loser is told differs from race to race; that there is a version now does not.
            if _is_taken(written, claim):
                raise TableAlreadyExistsError(str(error)) from error
            if not isinstance(error, _MET_ANOTHER):
                raise
            failure = error
        time.sleep(pause)
        _require(table, claim)
    if not has_data(table):
        raise failure
    raise ConcurrentModificationError(
        f"{table.name} cannot be created: in {table.location} is the first version of a table that was dropped while "
        "it was being created, and its writer does not take it back. Drop it and create it again."
    ) from failure


def _write_fragments(table: StoredTable, source: CountingReader) -> list[FragmentMetadata]:
    import lance  # and no module of it: a thread that starts there and one that starts here trip over each other

    with source.consumed(table, "create_table"):
        return list(
            lance.fragment.write_fragments(source.reader, table.path, mode="create", storage_options=table.options)
        )


def _files(fragments: list[FragmentMetadata]) -> tuple[str, ...]:
    return tuple(f"data/{file.path}" for fragment in fragments for file in fragment.files)


def _transaction(claim: CreateClaim | None) -> str:
    """Return a new transaction's name, which tells its claim.

    UUIDs of version 8 may mean something; pylance's are of 4.
    """
    random = uuid.uuid4()
    if claim is None or claim.name is None:
        return str(random)
    name = str(uuid.UUID(bytes=hashlib.sha256(claim.name.encode()).digest()[:6] + random.bytes[6:]))
    return f"{name[:14]}8{name[15:]}"


def _commit(
    table: StoredTable,
    schema: pa.Schema,
    fragments: list[FragmentMetadata],
    transaction: str,
    properties: Mapping[str, str] | None,
) -> None:
    """Commit on top of nothing. pylance's own mode `create` would let several of a race win."""
    import lance
    from lance.dataset import Transaction

    with translated(table, "create_table"):
        first = Transaction(
            0,
            lance.LanceOperation.Overwrite(schema, fragments),
            uuid=transaction,
            transaction_properties=dict(properties or {}),
        )
        commit.commit(table, first, retries=0)


# -- whose version it is -------------------------------------------------------------------------


def _is_taken(written: CreatedFiles, claim: CreateClaim | None) -> bool:
    """Return whether there is a version that is not a stray, as far as that can be told."""
    if written.table.client is not None or claim is None or claim.name is None:
        return has_data(written.table)
    store = written.table.store()
    return any(not _is_stray(store.read(manifest.key), written.transaction) for _, manifest in manifests.all_in(store))


def _is_stray(manifest: bytes | None, transaction: str) -> bool:
    """Return whether a version is gone by now, or was written for another claim than this transaction's."""
    claimed = _CLAIMED.search(manifest or b"")
    return manifest is None or (claimed is not None and not transaction.startswith(claimed[1].decode()))


def _is_committed(written: CreatedFiles) -> bool:
    """Return whether a commit that was said to have failed made the first version all the same.

    Only of a managed table: a claim that stands is not taken back by deleting files.
    """
    if written.table.client is None:
        return False
    try:
        return has_data(written.table) and _is_own(written)
    except (NamespaceNotFoundError, TableNotFoundError):  # dropped in between
        return False


def _is_own(written: CreatedFiles) -> bool:
    manifest = written.table.store().read(manifests.key(written.version))
    return written.transaction.encode() in (manifest or b"")


# -- taking it back ------------------------------------------------------------------------------


def discard(written: CreatedFiles) -> None:
    """Remove what a create wrote: its files, its transaction and, if it is still its own, its version."""
    store, mark = written.table.store(), written.transaction.encode()
    if _is_own(written):
        store.delete(manifests.HINT)
        store.delete_if(manifests.key(written.version), lambda manifest: mark in manifest)
    if written.table.client is not None:
        store.delete(*_staged(store, written.transaction))
    store.delete(f"_transactions/0-{written.transaction}.txn")
    commit.remove(store, written.files)
    # Not where a name is declared: another writer may be about to put a file into a folder that is empty now.
    store.remove_empty_folders(unless=RESERVED)


def _staged(store: Store, transaction: str) -> list[str]:
    """Return the manifests that a transaction has staged and not claimed, or not been given."""
    keys = (key for key in store.keys(manifests.FOLDER) if manifests.version_of(key) is None)
    return [key for key in keys if transaction.encode() in (store.read(key) or b"")]
