"""Rows on their way into a table: counted as they pass, and their failure remembered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.tables.errors import FOREIGN, cleaned, translate

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceway.tables.dataset import StoredTable


class CountingReader:
    """A reader handed to pylance, which reports an error in it only as a sentence of its own."""

    def __init__(self, data: pa.RecordBatchReader) -> None:
        self.rows = 0
        self.schema = data.schema
        self.is_begun = False
        self._batches = self._counted(data)
        self._first: pa.RecordBatch | None = None
        self._failure: BaseException | None = None

    @property
    def reader(self) -> pa.RecordBatchReader:
        """Return all rows, until more than the first batch was read (`is_begun`).

        pylance takes one to look at it even where it then refuses to write, and uses the reader up.
        """
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._pass())

    def _counted(self, data: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in data:
            self.rows += batch.num_rows
            yield batch

    def _pass(self) -> Iterator[pa.RecordBatch]:
        try:
            if self._first is None:
                self._first = next(self._batches, None)
            if self._first is None:
                return
            yield self._first
            self.is_begun, self._first = True, None
            yield from self._batches
        except (*FOREIGN, LanceNamespaceError) as error:
            self.is_begun, self._failure = True, error
            raise

    @contextmanager
    def consumed(self, table: StoredTable, operation: str) -> Iterator[None]:
        """Around the foreign call that consumes the reader: an error of the data itself comes first."""
        try:
            yield
        except FOREIGN as error:
            if isinstance(self._failure, LanceNamespaceError):
                raise self._failure from None
            if self._failure is not None:
                raise InvalidInputError(
                    f"{operation} on {table.name} failed: its data could not be read to the end: "
                    f"{cleaned(str(self._failure))}. Nothing was changed."
                ) from self._failure
            raise translate(table, operation, error) from error
