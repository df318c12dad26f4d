"""Batches handed to Spark as an Arrow stream, of which the bridge makes columns (`Columnar.java`).

Spark makes rows one by one of what a Python source reads, and that is most of a scan's time. Here a source has few
rows with one value each: they name a socket from which the bridge reads the stream. Where there can be no socket, the
rows are the stream itself, in pieces.
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

    from lanceway.spark.read.aggregates import PartialAggregatesReader
    from lanceway.spark.read.reader import LanceReader

# So small that the JVM does not take it for a huge object, which it would store apart.
_PIECE = 256 * 2**10
# A message is cut into pieces by offsets of 32 bits.
_LARGEST = 64 * 2**20
PREFIX = b"unix:"
_FOLDER, _NAME = "lanceway-", "s"
# The name of a socket has to be shorter than that on every system.
_LONGEST = 100
# How many seconds the JVM may take to read one row and connect, before it counts as gone.
_PATIENCE = 120


@cache
def pieces_schema() -> StructType:
    """Return the schema that Spark sees: rows of one binary value."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    return StructType([StructField("piece", BinaryType(), nullable=True)])


class ArrowStreamReader(DataSourceReader):
    """Reads the batches of another reader as an Arrow stream."""

    def __init__(self, reader: LanceReader | PartialAggregatesReader) -> None:
        self._reader = reader

    def partitions(self) -> list[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        messages = arrow_messages(self._reader.batch_schema, self._reader.read(partition))
        if has_sockets():
            messages = map(pa.py_buffer, socket_stream(messages))
        return map(_in_pieces, messages)


def arrow_messages(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Buffer]:
    """Yield an Arrow stream of batches, message by message. It has its schema even if there are no batches."""
    yield schema.serialize()
    for batch in batches:
        for part in _parts(batch):
            yield part.serialize()


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch, few enough at a time."""
    if batch.nbytes <= _LARGEST or batch.num_rows == 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _in_pieces(message: pa.Buffer) -> pa.RecordBatch:
    """Return a message as rows with one piece each; nothing is copied."""
    ends = pa.array([*range(0, message.size, _PIECE), message.size], pa.int32())
    pieces = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, ends.buffers()[1], message])
    return pa.record_batch([pieces], schema=pa.schema([("piece", pa.binary())]))


def socket_stream(messages: Iterable[pa.Buffer], buffered: int | None = None) -> Iterator[bytes]:
    """Send messages through a socket of their own, and yield its name for the JVM.

    A large value follows, so that the worker passes on the name, of which it buffers `buffered` bytes at most. Then it
    waits until all is sent, or the JVM has read enough and hung up. An error while messages are made is raised here.
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


def has_sockets() -> bool:
    """Whether this system has such sockets, and a temporary folder whose name is short enough for them."""
    name = os.path.join(tempfile.gettempdir(), f"{_FOLDER}12345678", _NAME)
    return hasattr(socket, "AF_UNIX") and len(name.encode()) < _LONGEST


class _Sender(Thread):
    """Sends beside the worker's own thread, which may have to wait until the JVM has read what Spark sends it."""

    failure: BaseException | None = None

    def __init__(self, listening: socket.socket, messages: Iterable[pa.Buffer]) -> None:
        super().__init__(name="lanceway-sender", daemon=True)
        self._listening = listening
        self._messages = messages

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
