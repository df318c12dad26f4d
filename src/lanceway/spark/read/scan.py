"""Scans of Spark SQL, planned in the driver's own process.

Spark plans the read of a Python source in Python workers: one makes the source, another its reader and partitions. For
a small query that is most of its time. A catalog's scan is planned where its table was just opened, by the same
function that Spark's worker runs, and from the same snapshot.
"""

from __future__ import annotations

import base64
import io
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, cast

from lanceway.spark.errors import in_driver

if TYPE_CHECKING:
    import lance
    from pyspark.sql.types import StructType

    from lanceway.spark.read.aggregates import Aggregation
    from lanceway.writes.table_ref import TableRef

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
    from lanceway.spark.read import arrow_stream
    from lanceway.spark.source import DefaultSource

    with in_driver():
        reader = DefaultSource(dict(options)).reader(schema, SNAPSHOTS.find)
        rows = reader.find_rows()
        if rows is None:
            return None
        stream = io.BytesIO()
        for message in arrow_stream.arrow_messages(reader.batch_schema, rows):
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
    from lanceway.spark.read import arrow_stream
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
            "reader": arrow_stream.ArrowStreamReader(rows),
            "data_source": source,
            "schema": arrow_stream.pieces_schema(),
            "max_arrow_batch_size": _BATCH_ROWS,
            "binary_as_bytes": True,
        }
        write(**{name: arguments[name] for name in (outfile, *names)})
    return base64.b64encode(stream.getvalue()).decode()
