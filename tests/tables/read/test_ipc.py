from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.tables.read import ipc
from tests.tables import table_helpers as samples

DATA = samples.rows()
STREAM = samples.stream(DATA)


def as_file(data: pa.Table) -> bytes:
    return ipc.write_file(data.to_reader(3))


def test_a_stream_and_a_file_are_read() -> None:
    assert ipc.read(STREAM).read_all() == DATA
    assert ipc.read(as_file(DATA)).read_all() == DATA


def test_a_schema_without_rows_is_read() -> None:
    empty = DATA.slice(0, 0)
    assert ipc.read(samples.stream(empty)).read_all() == empty
    assert ipc.read(as_file(empty)).schema == empty.schema


@pytest.mark.parametrize("data", [b"", b"junk", b"junk" * 100, b"ARROW1" + b"\0" * 50, STREAM[:20]])
def test_what_is_no_arrow_is_bad_input(data: bytes) -> None:
    with pytest.raises(InvalidInputError, match="Arrow IPC stream"):
        ipc.read(data).read_all()


def test_a_table_is_not_bytes_and_the_operation_for_it_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"Table was given.*create_table_stream"):
        ipc.read(DATA)


def test_a_stream_that_breaks_off_is_bad_input_when_it_gets_there() -> None:
    reader = ipc.read(STREAM[: len(STREAM) - 300])
    assert reader.read_next_batch().num_rows == 4
    with pytest.raises(InvalidInputError, match="Nothing was changed"):
        reader.read_all()


def test_offsets_that_lead_nowhere_are_found() -> None:
    strings = pa.table({"s": ["one", "two", "three"]})
    offsets = b"\0\0\0\0\3\0\0\0\6\0\0\0\x0b\0\0\0"
    broken = samples.stream(strings).replace(offsets, offsets[:4] + b"\xff\xff\xff\x7f" + offsets[8:])
    with pytest.raises(InvalidInputError):
        ipc.read(broken).read_all()


@given(st.integers(0, len(STREAM) - 1), st.integers(0, 255))
def test_one_wrong_byte_never_raises_anything_else(place: int, value: int) -> None:
    with contextlib.suppress(InvalidInputError):
        ipc.read(STREAM[:place] + bytes([value]) + STREAM[place + 1 :]).read_all()


@pytest.mark.parametrize("file_format", [True, False])
def test_chunks_make_up_the_whole(file_format: bool) -> None:
    whole = b"".join(ipc.stream_chunks(DATA.to_reader(3), file_format))
    opened = pa.ipc.open_file(whole) if file_format else pa.ipc.open_stream(whole)
    assert opened.read_all() == DATA
    assert opened.schema == DATA.schema


def test_a_chunk_is_given_before_the_next_batch_is_asked_for() -> None:
    asked = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(DATA.to_batches(3)):
            asked.append(number)
            yield batch

    chunks = ipc.stream_chunks(pa.RecordBatchReader.from_batches(DATA.schema, batches()), False)
    next(chunks)
    assert asked == []
    assert next(chunks)
    assert asked == [0]


@pytest.mark.parametrize("shift", range(0, 64, 8))
def test_values_are_handed_on_where_pylance_wants_them(shift: int, tmp_path: Path) -> None:
    """pylance panics at a decimal whose bytes do not lie at a multiple of 16; in a stream they need not."""
    before = pa.array([b"x" * (shift + 1)])
    data = pa.table({"before": before, "price": pa.array([Decimal("1.50")], pa.decimal128(10, 2))})
    stream = samples.stream(data)
    for number, reader in enumerate((ipc.read(stream), ipc.read_from(io.BytesIO(stream)))):
        written = lance.write_dataset(reader, tmp_path / str(number))
        assert written.to_table() == data


def test_data_that_arrives_in_parts() -> None:
    data = pa.table({"a": list(range(10))})
    for body in (samples.stream(data), ipc.write_file(data.to_reader())):
        assert ipc.read_from(io.BytesIO(body)).read_all() == data


def test_an_error_of_the_source_comes_through_as_it_is() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 200:
                raise ServiceUnavailableError("the sender is gone")
            return super().read(size)

    body = samples.stream(pa.table({"a": list(range(1000))}))
    with pytest.raises(ServiceUnavailableError, match="the sender is gone"):
        ipc.read_from(Broken(body)).read_all()


@pytest.mark.parametrize("body", [b"", b"x", b"ARROW1", b"\xff" * 100, b"ARROW1\0\0" + b"\xff" * 100])
def test_parts_of_what_is_no_arrow(body: bytes) -> None:
    with pytest.raises(InvalidInputError):
        ipc.read_from(io.BytesIO(body)).read_all()
