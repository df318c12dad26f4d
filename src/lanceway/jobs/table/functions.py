"""A Python function that computes a column: named by its import path, called with batches, its failures explained."""

from __future__ import annotations

import base64
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.jobs.job_table import JobTable
from lanceway.tables.errors import FOREIGN, translate, translated

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from lance.schema import LanceSchema

Computes = Callable[["pa.RecordBatch"], Any]


@dataclass(frozen=True)
class BatchFunction:
    """What is called with a batch of rows and answers a value for each. Picklable where it is an import path.

    `folder` is searched for modules, too, wherever it is called.
    """

    reference: str | Computes
    folder: str | None = None

    @property
    def name(self) -> str:
        if isinstance(self.reference, str):
            return self.reference
        return str(getattr(self.reference, "__qualname__", type(self.reference).__qualname__))

    def fingerprint(self) -> str:
        """Another one where its source is, as far as that can be told: what it computed before is then of no use."""
        function = self.load()
        try:
            source = inspect.getsource(function if inspect.isroutine(function) else type(function))
        except (OSError, TypeError):  # made by hand, or no Python
            source = ""
        return hashlib.sha256(f"{self.name}\n{source}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        """What is read for it of the columns `names`, to compute `column`."""
        return names

    def load(self) -> Computes:
        """Raises InvalidInputError where there is no such function."""
        return _imported(self.reference, self.folder) if isinstance(self.reference, str) else self.reference

    def values(self, batch: pa.RecordBatch, type_: pa.DataType | None, first: int) -> pa.Array:
        """The values for a batch whose first row is row `first` of its table.

        Raises InvalidInputError, naming the row, where the function fails or answers what is no column.
        """
        function = self.load()
        try:
            result = function(batch)
        except Exception as error:  # somebody else's code may raise anything
            at = first + (failing_row(function, batch) or 0)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InvalidInputError(f"{self.name} failed at row {at:,}: {reason}") from error
        return self._column(result, batch.num_rows, type_, first)

    def _column(self, result: Any, rows: int, type_: pa.DataType | None, first: int) -> pa.Array:
        import pyarrow as pa

        try:
            column = _array(result, type_)
        except (pa.ArrowException, ValueError, TypeError) as error:
            expected = "a column" if type_ is None else str(type_)
            raise InvalidInputError(
                f"{self.name} answered for the rows from {first:,} on what is not {expected}: {error}."
            ) from error
        if len(column) != rows:
            raise InvalidInputError(
                f"{self.name} answered {len(column):,} values for the {rows:,} rows from row {first:,} on; it must "
                "answer one for each row."
            )
        return column


def _array(result: Any, type_: pa.DataType | None) -> pa.Array:
    """What a function may answer: an Arrow array, a batch of one column, numbers of numpy, or a list."""
    import numpy as np
    import pyarrow as pa

    if isinstance(result, pa.RecordBatch | pa.Table) and result.num_columns == 1:
        result = result.column(0)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, np.ndarray) and result.ndim == 2:  # vectors
        result = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(result).ravel()), result.shape[1])
    if not isinstance(result, pa.Array):
        return pa.array(result, type_)
    return result if type_ is None or result.type == type_ else result.cast(type_)


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
        imported = importlib.import_module(module)
    except Exception as error:  # somebody else's module may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"{path!r} cannot be imported: {reason}. It must be installed, or on PYTHONPATH."
        ) from error
    function = getattr(imported, name, None)
    if not callable(function):
        raise InvalidInputError(f"{module} has no function {name!r}.")
    computes: Computes = function
    return computes


# So many rows tell the type of what a function answers.
_FEW = 8


@dataclass(frozen=True)
class Computer:
    """Computes the column for one fragment, wherever it runs; picklable if its function is."""

    table: JobTable
    column: str
    function: BatchFunction
    inputs: tuple[str, ...] | None
    batch_rows: int
    type: pa.DataType | None = None
    version: int = 0

    def __call__(self, part: tuple[int, int]) -> dict[str, Any]:
        """`part` is the fragment's id, and the number that its first row has in the table."""
        from lance.udf import BatchUDF

        id_, first = part
        opened, handle = self.table.open(self.version), self.table.handle()
        values = _Values(self, first)
        computed = BatchUDF(values, output_schema=values.schema)
        try:
            fragment = opened.get_fragment(id_)
            assert fragment is not None, "a version keeps its fragments"
            extended_fragment, schema = fragment.merge_columns(computed, self.columns(opened), self.batch_rows)
        except FOREIGN as error:
            if values.failure is not None:
                raise values.failure from None
            raise translate(handle, f"Computing the column {self.column!r}", error) from error
        return encode(extended_fragment, schema)

    def columns(self, opened: lance.LanceDataset) -> Any:
        """What is read: columns, or expressions by the names of columns."""
        return self.function.columns(list(opened.schema.names if self.inputs is None else self.inputs), self.column)


class _Values:
    """The function, called with batch after batch. pylance tells of its failure only as a sentence of its own."""

    def __init__(self, computer: Computer, first: int) -> None:
        import pyarrow as pa

        self.schema = pa.schema([pa.field(computer.column, computer.type)])
        self.failure: LanceNamespaceError | None = None
        self._computer, self._next = computer, first

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        try:
            values = self._computer.function.values(batch, self._computer.type, self._next)
        except InvalidInputError as error:
            self.failure = InvalidInputError(
                f"The column {self._computer.column!r} of {self._computer.table.name} was not added, and nothing was "
                f"committed: {error}. What other fragments have got is used again by a function that is the same."
            )
            raise self.failure from error
        self._next += batch.num_rows
        return pa.RecordBatch.from_arrays([values], schema=self.schema)


def infer_type(computer: Computer, opened: lance.LanceDataset, type_: pa.DataType | None) -> pa.DataType:
    """The column's type: as asked for, or that of what the function answers for the first rows."""
    import pyarrow as pa

    computer.function.load()
    if type_ is not None:
        return type_
    with translated(computer.table.handle(), "Reading the first rows"):
        rows = opened.to_table(columns=computer.columns(opened), limit=_FEW).combine_chunks().to_batches()
    learned_type = computer.function.values(rows[0], None, 1).type if rows else pa.null()
    if pa.types.is_null(learned_type):
        raise InvalidInputError(
            f"{computer.function.name} does not tell the type of the column {computer.column!r}: "
            f"{computer.table.name} is empty, or it answers nothing but nulls for the first rows. Give the type."
        )
    return learned_type


def add_empty(computer: Computer, opened: lance.LanceDataset) -> None:
    """The column in a table without rows."""
    import pyarrow as pa

    with translated(computer.table.handle(), f"Adding the column {computer.column!r}"):
        opened.add_columns(pa.field(computer.column, computer.type))


def encode(fragment: FragmentMetadata, schema: LanceSchema) -> dict[str, Any]:
    """The new file and the schema with it, as plain data."""
    reduced: Any = schema.__reduce__()
    metadata, *fields = reduced[1]
    return {
        "file": fragment.to_json()["files"][-1],
        "schema": [metadata, *(base64.b64encode(field).decode() for field in fields)],
    }


def key(note: Mapping[str, Any]) -> str:
    """Where the file lies below the table."""
    return f"data/{note['file']['path']}"


def with_file(fragment: FragmentMetadata, note: Mapping[str, Any]) -> FragmentMetadata:
    """The fragment with the new file: of its other files, and of the rows deleted from it, only it knows."""
    from lance.fragment import DataFile

    return replace(fragment, files=[*fragment.files, DataFile(**note["file"])])


def schema(note: Mapping[str, Any]) -> LanceSchema:
    from lance.schema import LanceSchema

    metadata, *fields = note["schema"]
    lance_schema: LanceSchema = LanceSchema._from_protos(metadata, *map(base64.b64decode, fields))
    return lance_schema
