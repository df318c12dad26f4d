"""Small Arrow tables for tests, and the check of an expected error code."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pytest

from lanceway.errors import ErrorCode, LanceNamespaceError, UnsupportedOperationError

DIMENSIONS = 8
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath")

# The contract allows either for a column that is not there.
MISSING_COLUMN = (ErrorCode.TABLE_COLUMN_NOT_FOUND, ErrorCode.INVALID_INPUT)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), DIMENSIONS)),
    ]
)


def rows(*ids: int) -> pa.Table:
    """Return one row for each id: a sentence that names it, and a vector of its own."""
    return pa.table({"id": ids, "name": [sentence(i) for i in ids], "vector": [vector(i) for i in ids]}, SCHEMA)


def sentence(i: int) -> str:
    return f"the {WORDS[i % len(WORDS)]} number{i}"


def vector(i: int) -> list[float]:
    """Return the vector of a number. Vectors of near numbers are near: the first dimension is the number itself."""
    return [float(i), *(float((i * 7 + d) % 5) / 100 for d in range(1, DIMENSIONS))]


def stream(table: pa.Table) -> bytes:
    """Encode a table as an Arrow IPC stream, the form in which the contract takes rows."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_file(data: object) -> pa.Table:
    """Decode the Arrow IPC file of a query's response."""
    assert isinstance(data, bytes), "query_table gives no bytes"
    return pa.ipc.open_file(pa.py_buffer(data)).read_all()


@contextmanager
def code(*expected: ErrorCode) -> Iterator[pytest.ExceptionInfo[LanceNamespaceError]]:
    """Assert that the block is refused with one of these codes and a message."""
    with pytest.raises(LanceNamespaceError) as raised:
        yield raised
    if isinstance(raised.value, UnsupportedOperationError) and ErrorCode.UNSUPPORTED not in expected:
        raise raised.value  # not another answer than expected: the operation is not there
    assert raised.value.code in expected, (
        f"expected {_names(expected)}, got {_names([raised.value.code])}: {raised.value}"
    )
    assert str(raised.value).strip(), "an error without a message"


def _names(codes: Sequence[int]) -> str:
    return " or ".join(f"{int(c)} ({ErrorCode(c).name})" for c in codes)
