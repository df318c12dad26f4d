"""Arrow that unfolds: what is too large is refused while it is still small."""

from __future__ import annotations

import io
import os

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError
from lanceway.tables.read import ipc
from lanceway.tables.read.ipc_limits import StreamLimits, UnfoldedSizeError
from tests.tables import table_helpers as samples

MIB = 2**20
LIMITS = StreamLimits(batch=4 * MIB, body=8 * MIB)
KINDS = ("lz4", "zstd", None)


def written(data: pa.Table, compression: str | None, *, as_file: bool = False, rows: int | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    make = pa.ipc.new_file if as_file else pa.ipc.new_stream
    with make(sink, data.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(data, max_chunksize=rows)
    return bytes(sink.getvalue())


def zeros(count: int) -> pa.Table:
    values = pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(bytes(8 * count))])
    return pa.table({"n": values})


def read(data: bytes, limits: StreamLimits = LIMITS) -> pa.Table:
    return ipc.read_from(io.BytesIO(data), limits).read_all()


@pytest.mark.parametrize("as_file", [False, True], ids=["stream", "file"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_small_enough_is_read_as_it_was(kind: str | None, as_file: bool) -> None:
    words = pa.array(["a", "b", None] * 100).dictionary_encode()
    nested = pa.array([[{"x": 1}], None, []] * 100)
    for data in (samples.rows(), pa.table({"w": words, "l": nested, "z": pa.nulls(300)}), samples.rows().slice(0, 0)):
        assert read(written(data, kind, as_file=as_file)).equals(data)
    assert read(written(zeros(MIB), kind, as_file=as_file, rows=MIB // 4)).num_rows == MIB


@pytest.mark.parametrize("as_file", [False, True], ids=["stream", "file"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_and_a_body_have_limits(kind: str | None, as_file: bool) -> None:
    with pytest.raises(UnfoldedSizeError, match="max_batch_bytes"):
        read(written(zeros(MIB), kind, as_file=as_file))
    with pytest.raises(UnfoldedSizeError, match="max_body_bytes"):
        read(written(zeros(2 * MIB), kind, as_file=as_file, rows=MIB // 8))


def test_a_dictionary_unfolds_too() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x" * 5 * MIB]))
    with pytest.raises(UnfoldedSizeError):
        read(written(pa.table({"w": words}), "zstd"))


def test_rows_without_bytes_have_a_limit() -> None:
    assert read(written(pa.table({"z": pa.nulls(1000)}), None)).num_rows == 1000
    with pytest.raises(UnfoldedSizeError, match="rows"):
        read(written(pa.table({"z": pa.nulls(2**25)}), None))


def test_metadata_has_a_limit() -> None:
    with pytest.raises(InvalidInputError, match="metadata"):
        read(b"\xff\xff\xff\xff" + (2**30).to_bytes(4, "little") + os.urandom(100))


GOOD = written(samples.rows(), "zstd")


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_wrong_byte_never_raises_anything_else(place: int, value: int) -> None:
    try:
        read(GOOD[:place] + bytes([value]) + GOOD[place + 1 :])
    except InvalidInputError:
        """It was found."""


@given(st.integers(0, len(GOOD)))
def test_a_stream_that_breaks_off_never_raises_anything_else(length: int) -> None:
    try:
        read(GOOD[:length])
    except InvalidInputError:
        """It was found."""
