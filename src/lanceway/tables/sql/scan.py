"""A table as DuckDB scans it: only the columns and the rows that a query needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as arrow_dataset

from lanceway.errors import LanceNamespaceError
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import FOREIGN, translate

if TYPE_CHECKING:
    import lance

# How much pylance may read ahead of its reader; its own default is up to 2 GiB.
_READ_AHEAD = 64 * 2**20


class TableScan(arrow_dataset.Dataset):  # type: ignore[misc] # pyarrow has no types
    """A Lance table that DuckDB takes for an Arrow dataset.

    DuckDB relies on the filters that it hands over. pylance evaluates them, with its indices, for most types;
    `filtered` are the columns that they may name.
    """

    def __init__(self, name: str, dataset: lance.LanceDataset) -> None:
        self._name = name
        self._dataset = dataset
        self._schema = pa.schema([_readable(field) for field in dataset.schema])
        self.filtered = self._filtered()
        self.failure: LanceNamespaceError | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns, with types that DuckDB has."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's own name
        **_: Any,
    ) -> _Scan:
        """Return a scan of some columns and rows, for DuckDB to read."""
        names = list(self._schema.names if columns is None else columns)
        return _Scan(lambda: self._read(names, filter))

    def _read(self, columns: list[str], filter_: pc.Expression | None) -> pa.RecordBatchReader:
        schema = pa.schema([self._schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, filter_))

    def _batches(self, schema: pa.Schema, filter_: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._scanned(schema.names, filter_):
                yield batch if batch.schema.equals(schema) else batch.cast(schema)
        except FOREIGN as error:
            # DuckDB makes an error of its own out of it, with a trace in its text.
            self.failure = translate(StoredTable(self._name, ""), "sql", error)
            raise

    def _scanned(self, columns: Sequence[str], filter_: pc.Expression | None) -> pa.RecordBatchReader:
        scanner = self._dataset.scanner(columns=list(columns), filter=filter_, io_buffer_size=_READ_AHEAD)
        return scanner.to_reader()

    def _filtered(self) -> frozenset[str]:
        names = [field.name for field in self._dataset.schema if _is_comparable(field.type)]
        if not names or all(_is_known(field.type) for field in self._dataset.schema):
            return frozenset(names)
        try:
            # A filter names the types of all columns, and pylance refuses it for some, whichever columns it is over.
            self._scanned(names[:1], pc.field(names[0]).is_valid())
        except FOREIGN:
            return frozenset()
        return frozenset(names)


class _Scan:
    """What DuckDB asks a scanner for."""

    def __init__(self, read: Callable[[], pa.RecordBatchReader]) -> None:
        self._read = read

    def to_reader(self) -> pa.RecordBatchReader:
        return self._read()


def _readable(field: pa.Field) -> pa.Field:
    return field.with_type(_readable_type(field.type)).remove_metadata()


def _readable_type(type_: pa.DataType) -> pa.DataType:
    """Return a type that DuckDB has for one that it does not have: it has no 16-bit floats."""
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_readable(type_.value_field), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(_readable(type_.value_field))
    return type_


def _is_comparable(type_: pa.DataType) -> bool:
    """Return whether pylance takes filters over columns of this type."""
    types = pa.types
    return bool(
        types.is_boolean(type_)
        or types.is_signed_integer(type_)
        or types.is_float32(type_)
        or types.is_float64(type_)
        or types.is_string(type_)
        or types.is_binary(type_)
        or types.is_date32(type_)
        or (types.is_timestamp(type_) and type_.unit != "ns")
    )


def _is_known(type_: pa.DataType) -> bool:
    """Return whether a column of this type is in no filter's way: a comparable one, or a vector."""
    return _is_comparable(type_) or bool(pa.types.is_fixed_size_list(type_) and pa.types.is_floating(type_.value_type))
