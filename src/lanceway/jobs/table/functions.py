"""A Python function that computes a column: named by its import path, called with batches, its failures explained."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

Computes = Callable[["pa.RecordBatch"], Any]


@dataclass(frozen=True)
class Function:
    """What is called with a batch of rows and answers a value for each. Picklable where it is an import path.

    `folder` is searched for modules, too, wherever it is called.
    """

    given: str | Computes
    folder: str | None = None

    @property
    def name(self) -> str:
        if isinstance(self.given, str):
            return self.given
        return str(getattr(self.given, "__qualname__", type(self.given).__qualname__))

    def fingerprint(self) -> str:
        """Another one where its source is, as far as that can be told: what it computed before is then of no use."""
        found = self.found()
        try:
            source = inspect.getsource(found if inspect.isroutine(found) else type(found))
        except (OSError, TypeError):  # made by hand, or no Python
            source = ""
        return hashlib.sha256(f"{self.name}\n{source}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        """What is read for it of the columns `names`, to compute `column`."""
        return names

    def found(self) -> Computes:
        """Raises InvalidInputError where there is no such function."""
        return _imported(self.given, self.folder) if isinstance(self.given, str) else self.given

    def values(self, batch: pa.RecordBatch, type_: pa.DataType | None, first: int) -> pa.Array:
        """The values for a batch whose first row is row `first` of its table.

        Raises InvalidInputError, naming the row, where the function fails or answers what is no column.
        """
        function = self.found()
        try:
            answer = function(batch)
        except Exception as error:  # somebody else's code may raise anything
            at = first + (failing_row(function, batch) or 0)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InvalidInputError(f"{self.name} failed at row {at:,}: {reason}") from error
        return self._column(answer, batch.num_rows, type_, first)

    def _column(self, answer: Any, rows: int, type_: pa.DataType | None, first: int) -> pa.Array:
        import pyarrow as pa

        try:
            column = _array(answer, type_)
        except (pa.ArrowException, ValueError, TypeError) as error:
            wanted = "a column" if type_ is None else str(type_)
            raise InvalidInputError(
                f"{self.name} answered for the rows from {first:,} on what is not {wanted}: {error}."
            ) from error
        if len(column) != rows:
            raise InvalidInputError(
                f"{self.name} answered {len(column):,} values for the {rows:,} rows from row {first:,} on; it must "
                "answer one for each row."
            )
        return column


def _array(answer: Any, type_: pa.DataType | None) -> pa.Array:
    """What a function may answer: an Arrow array, a batch of one column, numbers of numpy, or a list."""
    import numpy as np
    import pyarrow as pa

    if isinstance(answer, pa.RecordBatch | pa.Table) and answer.num_columns == 1:
        answer = answer.column(0)
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    if isinstance(answer, np.ndarray) and answer.ndim == 2:  # vectors
        answer = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(answer).ravel()), answer.shape[1])
    if not isinstance(answer, pa.Array):
        return pa.array(answer, type_)
    return answer if type_ is None or answer.type == type_ else answer.cast(type_)


def failing_row(function: Computes, batch: pa.RecordBatch) -> int | None:
    """The first row for which the function fails, by halves; None where it is no single row's fault."""
    begin, rows = 0, batch
    while rows.num_rows > 1:
        half = rows.num_rows // 2
        if _fails(function, rows.slice(0, half)):
            rows = rows.slice(0, half)
        elif _fails(function, rows.slice(half)):
            begin, rows = begin + half, rows.slice(half)
        else:
            return None
    return begin


def _fails(function: Computes, batch: pa.RecordBatch) -> bool:
    try:
        function(batch)
    except Exception:  # noqa: BLE001 - whether it raises is all that is asked
        return True
    return False


@cache
def _imported(path: str, folder: str | None) -> Computes:
    module, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not module or not name:
        raise InvalidInputError(f"{path!r} names no function: write package.module:function.")
    if folder is not None and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except Exception as error:  # somebody else's module may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"{path!r} cannot be imported: {reason}. It must be installed, or on PYTHONPATH."
        ) from error
    function = getattr(found, name, None)
    if not callable(function):
        raise InvalidInputError(f"{module} has no function {name!r}.")
    known: Computes = function
    return known
