"""Messages through a socket of their own: what is told of it, what arrives, and what happens when somebody stops."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from lanceway.spark.read import scan
from tests.spark.read.socket_helpers import connect, received

MESSAGES = [pa.py_buffer(bytes([number]) * 300_000) for number in range(20)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets are made: nothing is left there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def test_all_messages_arrive_in_their_order() -> None:
    rows = scan.socket_stream(MESSAGES)
    with ThreadPoolExecutor(1) as pool:
        arriving = pool.submit(received, next(rows))
        assert len(list(rows)) == 1
        assert arriving.result() == b"".join(message.to_pybytes() for message in MESSAGES)


def test_what_follows_is_larger_than_what_a_worker_buffers() -> None:
    rows = scan.socket_stream([], buffered=1_000)
    with connect(next(rows)):
        assert len(next(rows)) >= 2_000
        assert list(rows) == []


def test_a_reader_who_hangs_up_has_read_enough() -> None:
    made = []

    def messages() -> Iterator[pa.Buffer]:
        for message in MESSAGES * 100:
            made.append(message)
            yield message

    rows = scan.socket_stream(messages())
    with connect(next(rows)) as connection:
        assert connection.recv(10) == bytes(10)
    assert len(list(rows)) == 1
    assert len(made) < 100


def test_a_failure_is_raised_after_what_came_before_it() -> None:
    def messages() -> Iterator[pa.Buffer]:
        yield pa.py_buffer(b"first")
        raise ValueError("no second")

    rows = scan.socket_stream(messages())
    with ThreadPoolExecutor(1) as pool:
        arriving = pool.submit(received, next(rows))
        with pytest.raises(ValueError, match="no second"):
            list(rows)
        assert arriving.result() == b"first"


def test_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_PATIENCE", 0.1)
    with pytest.raises(TimeoutError):
        list(scan.socket_stream(MESSAGES))


def test_a_place_with_a_long_name_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert scan.has_sockets()
    monkeypatch.setattr(tempfile, "tempdir", "/" + "long" * 30)
    assert not scan.has_sockets()
