"""Read the rows of one version of a table, whichever catalog has it, and add them up to a checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from lance_namespace import DescribeTableRequest, LanceNamespace, QueryTableRequest

from lanceway.catalogs.contract import limits
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InternalError, InvalidInputError, InvalidTableStateError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.register import location_of
from lanceway.jobs.executor import Stop
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields as blobs

if TYPE_CHECKING:
    import lance
    import numpy.typing as npt
    import pyarrow as pa

    Numbers = npt.NDArray[np.uint64]

_READ_AHEAD = 64 * 2**20


@dataclass(frozen=True)
class VersionRows:
    """The rows of one version of a table; what is written later is not seen."""

    table: Identifier
    location: str
    version: int
    _reader: Any

    def read(self) -> pa.RecordBatchReader:
        reader: pa.RecordBatchReader = self._reader()
        return reader

    def checksum(self, stop: Stop) -> Checksum:
        total = Checksum()
        for batch in passing(self.table, self.read(), stop):
            total.add(batch)
        return total


def passing(table: Identifier, batches: Any, stop: Stop) -> Iterator[pa.RecordBatch]:
    """Yield the batches. Raises InternalError where the job is to stop, so that the catalog undoes what it began."""
    for batch in batches:
        if stop():
            raise InternalError(f"The job was stopped while {table} was read. Run it again to resume.")
        yield batch


def pin(catalog: LanceNamespace, table: Identifier, version: int | None = None) -> VersionRows:
    """Return the rows of the latest version of a table, or of `version`."""
    inner, _ = limits.unwrap(catalog)
    if getattr(inner, "TYPE", None) == "rest":
        return _through(catalog, table, version)
    described = catalog.describe_table(DescribeTableRequest(id=list(table)))
    location = location_of(table, described)
    handle = StoredTable(str(table), location, described.storage_options)
    if described.managed_versioning:
        handle = replace(handle, client=catalog, id=tuple(table))
    dataset = open_at(handle, version=version)
    return VersionRows(table, location, dataset.version, lambda: _scanned(handle, dataset))


def _scanned(handle: StoredTable, dataset: lance.LanceDataset) -> pa.RecordBatchReader:
    import pyarrow as pa

    with translated(handle, "Reading the table"):
        reader = dataset.scanner(blob_handling="all_binary", io_buffer_size=_READ_AHEAD).to_reader()
    fields = [_as_blob(field) if blobs.is_blob(dataset.schema.field(field.name)) else field for field in reader.schema]
    schema = pa.schema(fields, reader.schema.metadata)

    def batches() -> Iterator[pa.RecordBatch]:
        with translated(handle, "Reading the table"):
            for batch in reader:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _as_blob(field: pa.Field) -> pa.Field:
    """Return a field of bytes that are to be stored as blobs again."""
    return field.with_metadata({**(field.metadata or {}), blobs.ENCODING: b"true"})


def _through(catalog: LanceNamespace, table: Identifier, version: int | None) -> VersionRows:
    """Return rows that a server reads, since its storage may be out of reach from here."""
    request = DescribeTableRequest(id=list(table), version=version, load_detailed_metadata=True)
    described = catalog.describe_table(request)
    pinned = described.version if version is None else version
    if described.is_only_declared:
        raise InvalidTableStateError(f"{table} holds no Lance data yet.")
    if pinned is None:
        raise InternalError(f"The server does not say which version {table} has.")

    def read() -> pa.RecordBatchReader:
        query = QueryTableRequest.model_validate({"id": list(table), "version": pinned, "k": 0, "vector": {}})
        reader: pa.RecordBatchReader = carry_out(catalog, "query_table_stream", query)
        unread = [field.name for field in reader.schema if blobs.is_blob(field)]
        if unread:
            raise InvalidInputError(
                f"{table} cannot be copied through a server: {', '.join(unread)} holds blobs, which a query does not "
                "bring. Connect to the catalog behind the server."
            )
        return reader

    return VersionRows(table, location_of(table, described), pinned, read)


# So many rows are looked at together: numbers for each of their bytes are held in memory.
_TOGETHER = 1024
# Longer texts are hashed one by one, which for them is faster and needs no memory.
_LONG = 256
_NULL, _SECOND = np.uint64(0x8C2F9E3B5D71A640), np.uint64(0xD1B54A32D192ED03)


class Checksum:
    """A sum over rows that does not depend on their order, added up batch by batch."""

    def __init__(self) -> None:
        self.rows, self.bytes = 0, 0
        self._first, self._second = 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        for start in range(0, batch.num_rows, _TOGETHER):
            row = _rows(batch.slice(start, _TOGETHER))
            self._first += int(_mixed(row).sum(dtype=np.uint64))
            self._second += int(_mixed(row ^ _SECOND).sum(dtype=np.uint64))

    @property
    def hex(self) -> str:
        return f"{self._first % 2**64:016x}{self._second % 2**64:016x}"


def _rows(batch: pa.RecordBatch) -> Numbers:
    total = np.zeros(batch.num_rows, np.uint64)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        total += _mixed(_numbers(column) + np.uint64(_hash(name.encode())))
    return total


def _numbers(array: pa.Array) -> Numbers:
    """Return a number for each value, null included."""
    import pyarrow as pa

    while isinstance(array, pa.ExtensionArray | pa.DictionaryArray):
        array = array.storage if isinstance(array, pa.ExtensionArray) else array.dictionary_decode()
    if array.null_count == len(array):
        return np.full(len(array), _NULL)
    numbers = _of_type(array)
    if array.null_count:
        numbers = np.where(array.is_valid().to_numpy(zero_copy_only=False), numbers, _NULL)
    return numbers


def _of_type(array: pa.Array) -> Numbers:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_struct(kind):
        return _struct(array)
    if pa.types.is_map(kind):
        return _list(array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))))
    if pa.types.is_nested(kind):
        return _list(array)
    if pa.types.is_boolean(kind):
        return _mixed(array.cast(pa.uint8()).fill_null(0).to_numpy().astype(np.uint64))
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return _fixed(array, kind.bit_width // 8)
    return _texts(array.cast(pa.large_binary()))


def _struct(array: Any) -> Numbers:
    total = np.zeros(len(array), np.uint64)
    for field, child in zip(array.type, array.flatten(), strict=True):
        total += _mixed(_numbers(child) + np.uint64(_hash(field.name.encode())))
    return total


def _list(array: Any) -> Numbers:
    import pyarrow.compute as pc

    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return _joined(_numbers(array.flatten()), lengths)


def _fixed(array: Any, width: int) -> Numbers:
    buffer = array.buffers()[1]
    if width > 8:  # decimals and intervals
        words = np.frombuffer(buffer, np.uint64)[array.offset * width // 8 :][: len(array) * width // 8]
        return _joined(_mixed(words), np.full(len(array), width // 8, np.int64))
    values = np.frombuffer(buffer, f"u{width}")[array.offset :][: len(array)]
    return _mixed(values.astype(np.uint64))


def _texts(array: Any) -> Numbers:
    import pyarrow.compute as pc

    lengths = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    long = lengths > _LONG
    if not long.any():
        return _short_texts(array, lengths)
    numbers = np.zeros(len(array), np.uint64)
    numbers[long] = [_hash(value) for value in array.filter(_mask(long)).to_pylist()]
    numbers[~long] = _short_texts(array.filter(_mask(~long)), lengths[~long])
    return numbers


def _short_texts(array: Any, lengths: npt.NDArray[np.int64]) -> Numbers:
    _, offsets, data = array.buffers()
    limits = np.frombuffer(offsets, np.int64)[array.offset :][: len(array) + 1] if len(array) else np.zeros(1, np.int64)
    if data is None or limits[0] == limits[-1]:
        return _joined(np.zeros(0, np.uint64), np.zeros_like(lengths))
    letters = np.frombuffer(data, np.uint8)[limits[0] : limits[-1]].astype(np.uint64) + np.uint64(1)
    # A null may have letters of its own behind it; their sum is replaced by the caller.
    return _joined(letters, np.diff(limits))


def _joined(elements: Numbers, lengths: npt.NDArray[np.int64]) -> Numbers:
    """Return a number for each list of elements, which depends on their order in it."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    places = np.arange(len(elements), dtype=np.int64) - np.repeat(starts, lengths)
    weights = _mixed((places + 1).astype(np.uint64)) | np.uint64(1)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(elements * weights, dtype=np.uint64)))
    return _mixed(sums[ends] - sums[starts] + _mixed(lengths.astype(np.uint64)))


def _mixed(numbers: Numbers) -> Numbers:
    """Hash each number, so that every bit depends on every other (the finalizer of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _hash(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _mask(flags: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(flags)
