"""Batches on their way to Spark as they are: an Arrow stream, of which the bridge makes columns (`Columnar.java`).

Of what a Python source reads, Spark makes rows one by one, and that is most of a scan's time. Here its rows have one
value each, which tells of a channel that has the stream. Where there can be none, they are the stream, in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from lanceway.spark.read import channels

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
        if channels.are_possible():
            messages = map(pa.py_buffer, channels.through(messages))
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
