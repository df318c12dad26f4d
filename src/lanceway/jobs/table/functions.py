"""Functions that compute a column: named by an import path, called with batches, their failures explained."""

from __future__ import annotations

import base64
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, LanceNamespaceError, PermissionDeniedError
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
    """A function of a batch of rows that returns a value for each. Picklable where it is an import path.

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
        """Return a hash of the function's name and source: what another source computed is of no use."""
        function = self.load()
        try:
            source = inspect.getsource(function if inspect.isroutine(function) else type(function))
        except (OSError, TypeError):  # made by hand, or no Python
            source = ""
        return hashlib.sha256(f"{self.name}\n{source}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        """Return what is read of the columns `names` to compute `column`."""
        return names

    def load(self) -> Computes:
        """Import the function. Raises InvalidInputError where there is no such function."""
        return _imported(self.reference, self.folder) if isinstance(self.reference, str) else self.reference

    def values(self, batch: pa.RecordBatch, type_: pa.DataType | None, first: int) -> pa.Array:
        """Return the values for a batch whose first row is row `first` of its table.

        Raises InvalidInputError, naming the row, where the function fails or does not return a column.
        """
        function = self.load()
        try:
            result = function(batch)
        except Exception as error:  # a user's code may raise anything
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
    """Convert what a function returned: an Arrow array, a batch of one column, numbers of numpy, or a list."""
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
    """Return the first row for which the function fails, by halves; None where it is no single row's fault."""
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
    except Exception as error:  # a user's module may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"{path!r} cannot be imported: {reason}. It must be installed, or on PYTHONPATH."
        ) from error
    function = getattr(imported, name, None)
    if not callable(function):
        raise InvalidInputError(f"{module} has no function {name!r}.")
    computes: Computes = function
    return computes


def require_allowed(function: str, modules: Sequence[str]) -> str:
    """Return the import path of a function, if it is defined in one of the modules. Raises PermissionDeniedError.

    For workers: a user who may alter a table can name any function that is installed where the worker runs. What a
    module has imported, such as `subprocess.check_output`, is not its own.
    """
    module = function.partition(":")[0]
    if _is_in(module, modules):
        definition = _defining_module(_imported(function, None))
        if _is_in(definition, modules):
            return function
        raise PermissionDeniedError(
            f"The function {function} may not be run by this worker: it is defined in {definition}, and only imported "
            f"into {module}. Its operator can allow it: --functions {definition}."
        )
    hint = f"Those that may be are in {', '.join(modules)}." if modules else "It was started without any."
    raise PermissionDeniedError(
        f"The function {function} may not be run by this worker. {hint} Its operator can allow it: "
        f"--functions {module}."
    )


def _is_in(module: str, modules: Sequence[str]) -> bool:
    return any(module == allowed or module.startswith(f"{allowed}.") for allowed in modules)


def _defining_module(function: Computes) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", None) or type(function).__module__)


@dataclass(frozen=True)
class Expression(BatchFunction):
    """An SQL expression, which Lance itself evaluates while it reads."""

    @property
    def name(self) -> str:
        return f"the expression {self.reference}"

    def fingerprint(self) -> str:
        return hashlib.sha256(f"SQL\n{self.reference}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        return {column: str(self.reference)}

    def load(self) -> Computes:
        return _first


def _first(batch: pa.RecordBatch) -> Any:
    return batch.column(0)


@dataclass(frozen=True)
class Picked(BatchFunction):
    """A function that returns several columns, of which one is taken, or that one alone."""

    field: str = ""

    def fingerprint(self) -> str:
        return f"{BatchFunction(self.reference, self.folder).fingerprint()}:{self.field}"

    def load(self) -> Computes:
        return _Picking(super().load(), self.field)


@dataclass(frozen=True)
class _Picking:
    function: Computes
    field: str

    def __call__(self, batch: pa.RecordBatch) -> Any:
        import pyarrow as pa

        result = self.function(batch)
        if isinstance(result, pa.RecordBatch | pa.Table) and self.field in result.schema.names:
            return result.column(self.field)
        if isinstance(result, pa.StructArray):
            return result.field(self.field)
        return result[self.field] if isinstance(result, dict) else result


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
        """Compute the column for a fragment: `part` is its id, and the number that its first row has in the table."""
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
        """Return what is read: columns, or expressions by the names of columns."""
        return self.function.columns(list(opened.schema.names if self.inputs is None else self.inputs), self.column)


class _Values:
    """The function, called with batch after batch. It keeps its failure, of which pylance passes on the text alone."""

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
    """Return the column's type: `type_`, or the type of what the function returns for the first rows."""
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
    """Add the column to a table without rows."""
    import pyarrow as pa

    with translated(computer.table.handle(), f"Adding the column {computer.column!r}"):
        opened.add_columns(pa.field(computer.column, computer.type))


def encode(fragment: FragmentMetadata, schema: LanceSchema) -> dict[str, Any]:
    """Return the new file and the schema with it, as plain data."""
    reduced: Any = schema.__reduce__()
    metadata, *fields = reduced[1]
    return {
        "file": fragment.to_json()["files"][-1],
        "schema": [metadata, *(base64.b64encode(field).decode() for field in fields)],
    }


def key(note: Mapping[str, Any]) -> str:
    """Return the key of the new file below the table."""
    return f"data/{note['file']['path']}"


def with_file(fragment: FragmentMetadata, note: Mapping[str, Any]) -> FragmentMetadata:
    """Return the fragment with the new file added to those that it has now."""
    from lance.fragment import DataFile

    return replace(fragment, files=[*fragment.files, DataFile(**note["file"])])


def schema(note: Mapping[str, Any]) -> LanceSchema:
    from lance.schema import LanceSchema

    metadata, *fields = note["schema"]
    lance_schema: LanceSchema = LanceSchema._from_protos(metadata, *map(base64.b64decode, fields))
    return lance_schema
