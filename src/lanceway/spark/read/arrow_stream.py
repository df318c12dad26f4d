"""Batches on their way to Spark as they are: an Arrow stream, of which the bridge makes columns (`Columnar.java`).

Of what a Python source reads, Spark makes rows one by one, and that is most of a scan's time. Here its rows have one
value each, which tells of a channel that has the stream. Where there can be none, they are the stream, in pieces.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway import config

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lanceway.spark.read.aggregates import PartialsReader
    from lanceway.spark.read.reader import LanceReader

# So small that the JVM does not take it for something huge, which it would give a place of its own.
_PIECE = 256 * 2**10
# A message is cut into pieces by offsets of 32 bits.
_LARGEST = 64 * 2**20


@cache
def schema() -> StructType:
    """What Spark believes to read."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    return StructType([StructField("piece", BinaryType(), nullable=True)])


class PiecesReader(DataSourceReader):
    """Reads what another reader reads."""

    def __init__(self, reader: LanceReader | PartialsReader) -> None:
        self._reader = reader

    def partitions(self) -> list[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        messages = stream(self._reader.wanted, self._reader.read(partition))
        if are_possible():
            messages = map(pa.py_buffer, through(messages))
        return map(_rows, messages)


def stream(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Buffer]:
    """An Arrow stream of batches, message by message. It has its schema even if there are none."""
    yield schema.serialize()
    for batch in batches:
        for part in _parts(batch):
            yield part.serialize()


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, few enough at a time."""
    if batch.nbytes <= _LARGEST or batch.num_rows == 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _rows(message: pa.Buffer) -> pa.RecordBatch:
    """A message as rows with one value each, which are not copied."""
    ends = pa.array([*range(0, message.size, _PIECE), message.size], pa.int32())
    pieces = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, ends.buffers()[1], message])
    return pa.record_batch([pieces], schema=pa.schema([("piece", pa.binary())]))


PREFIX = b"unix:"
_FOLDER, _NAME = "lanceway-", "s"
# The name of a socket has to be shorter than that, whatever the system.
_LONGEST = 100
# How long the JVM may take for reading one row and connecting, before it is taken for gone.
_PATIENCE = 120


def through(messages: Iterable[pa.Buffer], buffered: int | None = None) -> Iterator[bytes]:
    """Send messages through a socket of their own, and give what tells the JVM of it.

    Something large follows, so that the worker passes on what it buffers, `buffered` bytes at most. Nothing more comes
    until all is sent, or the JVM has read enough and hung up. What goes wrong while messages are made is raised here.
    """
    size = buffered or config.spark_buffer()
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as folder, socket.socket(socket.AF_UNIX) as listening:
        name = os.path.join(folder, _NAME)
        listening.bind(name)
        listening.listen(1)
        sender = _Sender(listening, messages)
        sender.start()
        yield PREFIX + name.encode()
        yield bytes(2 * size)
        sender.join()
        if sender.failure is not None:
            raise sender.failure


def are_possible() -> bool:
    """Whether this system has such sockets, and a place whose name is short enough for them."""
    name = os.path.join(tempfile.gettempdir(), f"{_FOLDER}12345678", _NAME)
    return hasattr(socket, "AF_UNIX") and len(name.encode()) < _LONGEST


class _Sender(Thread):
    """Sends beside the worker's own thread, which may have to wait until the JVM has read what Spark sends it."""

    failure: BaseException | None = None

    def __init__(self, listening: socket.socket, messages: Iterable[pa.Buffer]) -> None:
        super().__init__(name="lanceway-sender", daemon=True)
        self._listening, self._messages = listening, messages

    def run(self) -> None:
        try:
            self._send()
        except BaseException as error:  # noqa: BLE001 - it belongs to the worker's own thread
            self.failure = error

    def _send(self) -> None:
        self._listening.settimeout(_PATIENCE)
        connection, _ = self._listening.accept()
        with connection:
            connection.setblocking(True)
            for message in self._messages:
                try:
                    connection.sendall(message)
                except (BrokenPipeError, ConnectionResetError):
                    return  # the JVM has read enough
