"""Rows of a table or of an answer, in the form that a user wants them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.handles import display
from lanceway.catalogs.handles.packages import require

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 10  # rows


class Rows:
    """Rows that are read when they are asked for, and again each time: `to_pandas()`, `to_arrow()`, `to_list()`, …

    A loop over them gives one dictionary after another. What takes Arrow, such as polars or DuckDB, takes them as they
    are.
    """

    def __init__(self, read: Callable[[], pa.RecordBatchReader]) -> None:
        self._read = read

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of batches, of which one at a time is in memory."""
        return self._read()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield one Arrow batch after another."""
        yield from self.to_reader()

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table."""
        return self.to_reader().read_all()

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        require("pandas", "to_pandas()")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return require("polars", "to_polars()").from_arrow(self.to_arrow())

    def to_list(self) -> list[dict[str, Any]]:
        """Return a list with a dictionary for each row."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch.to_pylist()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns, rows, more = self._first()
        table = display.text_table(columns, rows)
        return f"{table}\n{self._ending(len(rows), more)}"

    def _repr_html_(self) -> str:
        columns, rows, more = self._first()
        return f"{display.html_table(columns, rows)}<p>{self._ending(len(rows), more)}</p>"

    def _first(self) -> tuple[list[str], list[list[object]], bool]:
        """Return the columns, the first rows, and whether there are more. Reading stops there."""
        reader = self.to_reader()
        rows = (row for batch in reader for row in batch.to_pylist())
        first = [list(row.values()) for row in islice(rows, _SHOWN + 1)]
        return list(reader.schema.names), first[:_SHOWN], len(first) > _SHOWN

    @staticmethod
    def _ending(shown: int, more: bool) -> str:
        if more:
            return f"the first {shown} rows, of more"
        return "1 row" if shown == 1 else f"{shown or 'no'} rows"
