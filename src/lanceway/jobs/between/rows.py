"""The rows of one version of a table, whichever catalog has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lance_namespace import DescribeTableRequest, LanceNamespace, QueryTableRequest

from lanceway.catalogs.contract import limits
from lanceway.catalogs.wrappers.forward import carry_out
from lanceway.errors import InternalError, InvalidInputError, InvalidTableStateError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.checksums import Checksum
from lanceway.jobs.between.register import location_of
from lanceway.jobs.running import Stop
from lanceway.tables.dataset import Table, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import blobs

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

_READ_AHEAD = 64 * 2**20


@dataclass(frozen=True)
class Rows:
    """One version of a table: what is written meanwhile is not seen."""

    table: Identifier
    location: str
    version: int
    _reader: Any

    def read(self) -> pa.RecordBatchReader:
        found: pa.RecordBatchReader = self._reader()
        return found

    def checksum(self, stop: Stop) -> Checksum:
        found = Checksum()
        for batch in passing(self.table, self.read(), stop):
            found.add(batch)
        return found


def passing(table: Identifier, batches: Any, stop: Stop) -> Iterator[pa.RecordBatch]:
    """The same batches, until the job is to stop: what a catalog has begun to write then is taken back."""
    for batch in batches:
        if stop():
            raise InternalError(f"The job was stopped while {table} was read. Run it again to go on.")
        yield batch


def pin(catalog: LanceNamespace, table: Identifier, version: int | None = None) -> Rows:
    """The latest version of a table, or the one that is named."""
    inner, _ = limits.opened(catalog)
    if getattr(inner, "TYPE", None) == "rest":
        return _through(catalog, table, version)
    found = catalog.describe_table(DescribeTableRequest(id=list(table)))
    location = location_of(table, found)
    handle = Table(str(table), location, found.storage_options)
    if found.managed_versioning:
        handle = replace(handle, client=catalog, id=tuple(table))
    dataset = open_at(handle, version=version)
    return Rows(table, location, dataset.version, lambda: _scanned(handle, dataset))


def _scanned(handle: Table, dataset: lance.LanceDataset) -> pa.RecordBatchReader:
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
    """A column of bytes that are to be stored as blobs again."""
    return field.with_metadata({**(field.metadata or {}), blobs.ENCODING: b"true"})


def _through(catalog: LanceNamespace, table: Identifier, version: int | None) -> Rows:
    """Rows that a server reads, since what lies behind it may not be ours to reach."""
    request = DescribeTableRequest(id=list(table), version=version, load_detailed_metadata=True)
    found = catalog.describe_table(request)
    pinned = found.version if version is None else version
    if found.is_only_declared:
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

    return Rows(table, location_of(table, found), pinned, read)
