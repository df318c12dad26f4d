"""Blobs of a table by the ids of their rows: read one after the other, or a part of one; and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.tables import bases
from lanceway.tables.cache import read_at
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance import BlobFile, LanceFragment

MOST_ROWS = 10_000  # of one request
_OPERATION = "query_table"
_URI = "blob_uri"  # of what Lance says of a blob, empty for one in the table's own files


def open_blobs(
    table: StoredTable, column: str, rows: Sequence[int], *, version: int | None = None, branch: str | None = None
) -> tuple[list[BlobFile | None], int]:
    """Return a file for each row id, in their order, None for a null; and the version of the table that they are of.

    Raises InvalidInputError for a column without blobs, for a row that is not there, and for a blob elsewhere in a
    process that confines base paths.
    """
    if not all(type(row) is int and 0 <= row < 2**64 for row in rows) or len(rows) > MOST_ROWS:
        raise InvalidInputError(f"{_OPERATION}: row ids are whole numbers, at most {MOST_ROWS:,} at once.")
    dataset = read_at(table, version=version, branch=branch)
    fields.require(table, dataset.schema, column, _OPERATION)
    with translated(table, _OPERATION):
        blobs = dataset.take_blobs(column, ids=list(rows)) if rows else []
    if len(blobs) != len(rows):
        raise InvalidInputError(f"{_OPERATION}: {table.name} does not have all of these rows: {list(rows)[:10]}.")
    if rows and bases.is_confined():
        bases.check_blobs(table, _uris(table, dataset, column, rows))
    return blobs, int(dataset.version)


def _uris(table: StoredTable, dataset: lance.LanceDataset, column: str, rows: Sequence[int]) -> Iterator[str]:
    """Yield where those blobs are that are not in the table's own files."""
    with translated(table, _OPERATION):
        places = dataset.to_table(columns=[column], filter=f"_rowid IN ({', '.join(map(str, rows))})").column(0)
    for place in places.to_pylist():
        if place is not None and place.get(_URI):
            yield place[_URI]


def require_own(
    table: Callable[[], StoredTable],
    dataset: lance.LanceDataset,
    columns: Iterable[str],
    fragments: Sequence[LanceFragment] | None = None,
) -> None:
    """Refuse fragments in which a blob is elsewhere, whichever rows are read, where base paths are confined.

    The table is asked for only where there may be such blobs. Raises InvalidInputError.
    """
    if not bases.is_confined():
        return
    wanted = [name for name in columns if name in dataset.schema.names and _has_uris(dataset.schema.field(name).type)]
    if not wanted or fragments == []:
        return
    handle = table()
    with translated(handle, _OPERATION):
        scanner = dataset.scanner(columns=wanted, fragments=None if fragments is None else list(fragments))
        for batch in scanner.to_batches():
            for column in batch.columns:
                bases.check_blobs(handle, _uris_in(column))


def _has_uris(type_: pa.DataType) -> bool:
    return fields.is_blob_type(type_) or any(_has_uris(type_.field(each).type) for each in range(type_.num_fields))


def _uris_in(descriptors: pa.Array) -> Iterator[str]:
    """Yield the places of blobs at any depth of a column as Lance describes it."""
    import pyarrow as pa

    if pa.types.is_struct(descriptors.type):
        for field, values in zip(descriptors.type, descriptors.flatten(), strict=True):
            if field.name == _URI and pa.types.is_string(values.type):
                yield from filter(None, values.drop_null().to_pylist())
            else:
                yield from _uris_in(values)
    elif pa.types.is_map(descriptors.type):
        yield from _uris_in(descriptors.keys)
        yield from _uris_in(descriptors.items)
    elif hasattr(descriptors, "flatten"):
        yield from _uris_in(descriptors.flatten())


def read(table: StoredTable, column: str, blobs: Sequence[BlobFile | None]) -> pa.RecordBatchReader:
    """Return blobs as rows of one column, read one at a time."""
    import pyarrow as pa

    schema = pa.schema([pa.field(column, pa.large_binary())])

    def batches() -> Iterator[pa.RecordBatch]:
        for blob in blobs:
            with translated(table, _OPERATION):
                content = None if blob is None else blob.readall()
            yield pa.record_batch([pa.array([content], pa.large_binary())], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def read_range(table: StoredTable, blob: BlobFile, start: int, length: int) -> bytes:
    """Return a part of a blob."""
    with translated(table, _OPERATION):
        blob.seek(start)
        return bytes(blob.read(length))
