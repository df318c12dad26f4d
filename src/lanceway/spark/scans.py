"""Scans of Spark SQL, planned in the driver's own process.

Spark plans the read of a Python source in Python workers: one makes the source, another its reader and partitions. For
a small query that is most of its time. A catalog's scan is planned where its table was just opened, by the same
function that Spark's worker runs.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING

from lanceway.spark.plainly import in_driver

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# Spark cuts rows into batches of that many where a reader gives rows. Ours gives batches.
_BATCH_ROWS = 10_000
_GIVEN = frozenset({"reader", "data_source", "schema", "max_arrow_batch_size", "binary_as_bytes"})


def plan(options: Mapping[str, str], schema: StructType) -> str | None:
    """What Spark's worker would answer: the function of the tasks, and their partitions. None if Spark must ask it."""
    from pyspark.sql.worker import plan_data_source_read as worker

    from lanceway.spark.source import DefaultSource

    write = getattr(worker, "write_read_func_and_partitions", None)
    if write is None:
        return None
    outfile, *wanted = signature(write).parameters
    if not set(wanted) <= _GIVEN:
        return None
    written = io.BytesIO()
    with in_driver():
        source = DefaultSource(dict(options))
        given = {
            outfile: written,
            "reader": source.reader(schema),
            "data_source": source,
            "schema": schema,
            "max_arrow_batch_size": _BATCH_ROWS,
            "binary_as_bytes": True,
        }
        write(**{name: given[name] for name in (outfile, *wanted)})
    return base64.b64encode(written.getvalue()).decode()
