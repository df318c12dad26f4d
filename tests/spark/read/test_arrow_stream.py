"""Batches that travel as pieces of a stream: put together, they are what they were."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest

from lanceway.spark.read import scan


def joined(messages: Iterable[pa.Buffer]) -> pa.Table:
    return pa.ipc.open_stream(b"".join(message.to_pybytes() for message in messages)).read_all()


def test_a_stream_of_no_batches_has_its_schema() -> None:
    schema = pa.schema({"id": pa.int64(), "name": pa.string()})
    assert joined(scan.arrow_messages(schema, iter([]))) == schema.empty_table()


def test_a_message_is_cut_and_not_copied() -> None:
    message = pa.py_buffer(bytes(range(256)) * 3_000)
    rows = scan._in_pieces(message)
    values = rows["piece"]
    assert rows.num_rows == 3
    assert b"".join(values.to_pylist()) == message.to_pybytes()
    assert values.buffers()[2].address == message.address
    assert rows.schema.equals(pa.schema([("piece", pa.binary())]))


def test_a_large_batch_becomes_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_LARGEST", 1_000)
    rows = pa.table({"id": range(1_000), "text": ["x" * 50, "y"] * 500})
    messages = list(scan.arrow_messages(rows.schema, iter(rows.to_batches())))
    assert len(messages) > 20
    assert joined(messages) == rows


def test_one_row_larger_than_that_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_LARGEST", 10)
    rows = pa.table({"text": ["x" * 50, "y" * 70]})
    messages = list(scan.arrow_messages(rows.schema, iter(rows.to_batches())))
    assert len(messages) == 3
    assert joined(messages) == rows
