"""Scans of Spark SQL, planned in the driver's own process.

Spark plans the read of a Python source in Python workers: one makes the source, another its reader and partitions. For
a small query that is most of its time. A catalog's scan is planned where its table was just opened, by the same
function that Spark's worker runs.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, cast

from lanceway.spark.errors import in_driver

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lanceway.spark.read.aggregates import Aggregation

# Spark cuts rows into batches of that many where a reader gives rows. Ours gives batches.
_BATCH_ROWS = 10_000
# Rows of more bytes are for tasks to read.
_LARGEST_ANSWER = 4 * 2**20
_GIVEN = frozenset({"reader", "data_source", "schema", "max_arrow_batch_size", "binary_as_bytes"})


def find(options: Mapping[str, str], schema: StructType) -> str | None:
    """The rows of a scan as an Arrow stream, where an index finds them at once and they are few."""
    from lanceway.spark.read import arrow_stream
    from lanceway.spark.source import DefaultSource

    with in_driver():
        reader = DefaultSource(dict(options)).reader(schema)
        rows = reader.found()
        if rows is None:
            return None
        stream = io.BytesIO()
        for piece in arrow_stream.stream(reader.wanted, rows):
            stream.write(piece)
            if stream.tell() > _LARGEST_ANSWER:
                return None
    return base64.b64encode(stream.getvalue()).decode()


@cache
def planner() -> Callable[..., None] | None:
    """What of Spark's worker writes a plan down; None in a Spark where it is not to be had alone."""
    from pyspark.sql.worker import plan_data_source_read as worker

    write = getattr(worker, "write_read_func_and_partitions", None)
    if write is None or not set(list(signature(write).parameters)[1:]) <= _GIVEN:
        return None
    return cast("Callable[..., None]", write)


def plan(options: Mapping[str, str], schema: StructType, aggregation: Aggregation | None = None) -> str | None:
    """What Spark's worker would answer: the function of the tasks, and their partitions. None if Spark must ask it."""
    from lanceway.spark.read import arrow_stream
    from lanceway.spark.read.aggregates import PartialsReader
    from lanceway.spark.source import DefaultSource

    write = planner()
    if write is None:
        return None
    outfile, *wanted = signature(write).parameters
    written = io.BytesIO()
    with in_driver():
        source = DefaultSource(dict(options))
        reader = source.reader(schema)
        given = {
            outfile: written,
            "reader": arrow_stream.PiecesReader(PartialsReader(reader, aggregation) if aggregation else reader),
            "data_source": source,
            "schema": arrow_stream.schema(),
            "max_arrow_batch_size": _BATCH_ROWS,
            "binary_as_bytes": True,
        }
        write(**{name: given[name] for name in (outfile, *wanted)})
    return base64.b64encode(written.getvalue()).decode()
