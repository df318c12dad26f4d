"""A new column of one fragment: computed, written to a file beside the fragment's own, and nobody's until a commit."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.jobs.job_table import Held
from lanceway.jobs.table.functions import Function
from lanceway.tables.errors import FOREIGN, translate, translated

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from lance.schema import LanceSchema

# So many rows tell the type of what a function answers.
_FEW = 8


@dataclass(frozen=True)
class Computer:
    """Computes the column for one fragment, wherever it runs; picklable if its function is."""

    table: Held
    column: str
    function: Function
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
            made, schema = fragment.merge_columns(computed, self.chosen(opened), self.batch_rows)
        except FOREIGN as error:
            if values.failure is not None:
                raise values.failure from None
            raise translate(handle, f"Computing the column {self.column!r}", error) from error
        return written(made, schema)

    def chosen(self, opened: lance.LanceDataset) -> Any:
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


def learned(computer: Computer, opened: lance.LanceDataset, type_: pa.DataType | None) -> pa.DataType:
    """The column's type: as asked for, or that of what the function answers for the first rows."""
    import pyarrow as pa

    computer.function.found()
    if type_ is not None:
        return type_
    with translated(computer.table.handle(), "Reading the first rows"):
        rows = opened.to_table(columns=computer.chosen(opened), limit=_FEW).combine_chunks().to_batches()
    found = computer.function.values(rows[0], None, 1).type if rows else pa.null()
    if pa.types.is_null(found):
        raise InvalidInputError(
            f"{computer.function.name} does not tell the type of the column {computer.column!r}: "
            f"{computer.table.name} is empty, or it answers nothing but nulls for the first rows. Give the type."
        )
    return found


def add_empty(computer: Computer, opened: lance.LanceDataset) -> None:
    """The column in a table without rows."""
    import pyarrow as pa

    with translated(computer.table.handle(), f"Adding the column {computer.column!r}"):
        opened.add_columns(pa.field(computer.column, computer.type))


def written(made: FragmentMetadata, schema: LanceSchema) -> dict[str, Any]:
    """The new file and the schema with it, as plain data."""
    reduced: Any = schema.__reduce__()
    metadata, *fields = reduced[1]
    return {
        "file": made.to_json()["files"][-1],
        "schema": [metadata, *(base64.b64encode(field).decode() for field in fields)],
    }


def key(note: Mapping[str, Any]) -> str:
    """Where the file lies below the table."""
    return f"data/{note['file']['path']}"


def extended(fragment: FragmentMetadata, note: Mapping[str, Any]) -> FragmentMetadata:
    """The fragment with the new file: of its other files, and of the rows deleted from it, only it knows."""
    from lance.fragment import DataFile

    return replace(fragment, files=[*fragment.files, DataFile(**note["file"])])


def schema(note: Mapping[str, Any]) -> LanceSchema:
    from lance.schema import LanceSchema

    metadata, *fields = note["schema"]
    found: LanceSchema = LanceSchema._from_protos(metadata, *map(base64.b64decode, fields))
    return found
