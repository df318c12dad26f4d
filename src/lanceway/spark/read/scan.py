"""Scan fragments in a task, and hand the batches to Spark as an Arrow stream.

Spark makes rows one by one of what a Python source reads, and that is most of a scan's time. Here a source has few
rows with one value each: they name a socket from which the bridge reads the stream. Where there can be no socket, the
rows are the stream itself, in pieces.

Spark plans the read of a Python source in Python workers: one makes the source, another its reader and partitions. For
a small query that is most of its time. A catalog's scan is planned where its table was just opened, by the same
function that Spark's worker runs, and from the same snapshot.
"""

from __future__ import annotations

import base64
import io
import os
import socket
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from inspect import signature
from threading import Thread
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway import config
from lanceway.spark.errors import in_driver

if TYPE_CHECKING:
    import lance
    from pyspark.sql.types import StructType

    from lanceway.spark.read.aggregates import Aggregation, PartialAggregatesReader
    from lanceway.spark.read.reader import LanceReader
    from lanceway.writes.table_ref import TableRef

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
    """Return whether this system has such sockets, and a temporary folder whose name is short enough for them."""
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


# Spark cuts rows into batches of that many where a reader gives rows. Ours gives batches.
_BATCH_ROWS = 10_000
# Rows of more bytes are for tasks to read.
_LARGEST_ANSWER = 4 * 2**20
_ARGUMENTS = frozenset({"reader", "data_source", "schema", "max_arrow_batch_size", "binary_as_bytes"})
# How many snapshots are kept, and for how long: from loading a table to planning the query, and not much longer, so
# that a query which is computed again later learns that its table was dropped or may no longer be read.
_MOST_SNAPSHOTS = 16
_SNAPSHOT_SECONDS = 10.0


class Snapshots:
    """The versions that statements have just opened in the driver, so that a query opens its table once.

    Spark loads a table, asks an index for its rows, chooses fragments and plans the scan in calls of their own. All of
    them name the table and the version that was loaded, which is enough to find it again: a version never changes.
    """

    def __init__(self) -> None:
        self._snapshots: OrderedDict[tuple[object, ...], tuple[float, lance.LanceDataset]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, ref: TableRef, opened: lance.LanceDataset) -> None:
        """Keep a version that was just opened, in place of a former one of the same number."""
        now = time.monotonic()
        with self._lock:
            self._snapshots[_key(ref, int(opened.version))] = now, opened
            self._snapshots.move_to_end(_key(ref, int(opened.version)))
            oldest = next(iter(self._snapshots))
            while len(self._snapshots) > _MOST_SNAPSHOTS or now - self._snapshots[oldest][0] > _SNAPSHOT_SECONDS:
                del self._snapshots[oldest]
                oldest = next(iter(self._snapshots))

    def find(self, ref: TableRef, version: int) -> lance.LanceDataset | None:
        """Return a version if it was opened a moment ago."""
        with self._lock:
            since, opened = self._snapshots.get(_key(ref, version), (0.0, None))
        return opened if time.monotonic() - since <= _SNAPSHOT_SECONDS else None


def _key(ref: TableRef, version: int) -> tuple[object, ...]:
    # All settings are part of it: a version that one user's keys have opened is for no other. So is the process, since
    # an open dataset does not survive a fork.
    return os.getpid(), *ref.to_options().values(), version


SNAPSHOTS = Snapshots()


def find(options: Mapping[str, str], schema: StructType) -> str | None:
    """Return the rows of a scan as an Arrow stream, where an index finds them at once and they are few."""
    from lanceway.spark.source import DefaultSource

    with in_driver():
        reader = DefaultSource(dict(options)).reader(schema, SNAPSHOTS.find)
        rows = reader.find_rows()
        if rows is None:
            return None
        stream = io.BytesIO()
        for message in arrow_messages(reader.batch_schema, rows):
            stream.write(message)
            if stream.tell() > _LARGEST_ANSWER:
                return None
    return base64.b64encode(stream.getvalue()).decode()


@cache
def planner() -> Callable[..., None] | None:
    """Return the function of Spark's worker that writes a plan; None in a Spark that has it in no such form."""
    from pyspark.sql.worker import plan_data_source_read as worker

    write = getattr(worker, "write_read_func_and_partitions", None)
    if write is None or not set(list(signature(write).parameters)[1:]) <= _ARGUMENTS:
        return None
    return cast("Callable[..., None]", write)


def plan(options: Mapping[str, str], schema: StructType, aggregation: Aggregation | None = None) -> str | None:
    """Return the plan that Spark's worker would write: function and partitions of tasks. None if Spark must ask it."""
    from lanceway.spark.read.aggregates import PartialAggregatesReader
    from lanceway.spark.source import DefaultSource

    write = planner()
    if write is None:
        return None
    outfile, *names = signature(write).parameters
    stream = io.BytesIO()
    with in_driver():
        source = DefaultSource(dict(options))
        reader = source.reader(schema, SNAPSHOTS.find)
        rows = PartialAggregatesReader(reader, aggregation) if aggregation else reader
        arguments = {
            outfile: stream,
            "reader": ArrowStreamReader(rows),
            "data_source": source,
            "schema": pieces_schema(),
            "max_arrow_batch_size": _BATCH_ROWS,
            "binary_as_bytes": True,
        }
        write(**{name: arguments[name] for name in (outfile, *names)})
    return base64.b64encode(stream.getvalue()).decode()
