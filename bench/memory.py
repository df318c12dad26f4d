"""Peak memory of an insert and of a query answer of many rows, through readers.

Each runs in a process of its own over one folder: `python bench/memory.py [ROWS]`, 10 million
unless told otherwise. A row has a number, a text and a vector of 16 numbers, some 80 bytes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lance  # noqa: F401 - so that "nothing" shows what the libraries alone take
import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import InsertIntoTableRequest, QueryTableRequest

from lanceway.tables.dataset import StoredTable
from lanceway.tables.read import ipc, query
from lanceway.tables.write import create as creation
from lanceway.tables.write import rows as write

ROWS = 10_000_000
BATCH = 10_000
DIMENSION = 16


def main() -> None:
    if len(sys.argv) > 2:
        measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
        return
    rows = int(sys.argv[1]) if len(sys.argv) == 2 else ROWS
    print(f"{rows:,} rows, {batch(0).nbytes / BATCH * rows / 2**20:,.0f} MiB of Arrow in all")
    with tempfile.TemporaryDirectory() as folder:
        for name in STEPS:
            subprocess.run([sys.executable, __file__, name, folder, str(rows)], check=True)


def measure(name: str, folder: Path, rows: int) -> None:
    """One step in this process, and what it took."""
    started = time.perf_counter()
    done = STEPS[name](StoredTable("many", str(folder / "many")), rows)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:8} {peak:7,.0f} MiB peak {done:14,} rows {done / seconds:14,.0f} rows/s")


def nothing(table: StoredTable, rows: int) -> int:
    return 0


def create(table: StoredTable, rows: int) -> int:
    creation.create(table, reader(rows), None)
    return rows


def insert(table: StoredTable, rows: int) -> int:
    return write.insert(table, InsertIntoTableRequest(), reader(rows), overwrite=True).num_inserted_rows or 0


def read(table: StoredTable, rows: int) -> int:
    request = QueryTableRequest.model_validate({"k": 0, "vector": {"single_vector": []}})
    return sum(answer.num_rows for answer in query.run(table, request))


def write_file(table: StoredTable, rows: int) -> int:
    """The answer as a server sends it: an Arrow file, chunk by chunk."""
    request = QueryTableRequest.model_validate({"k": 0, "vector": {"single_vector": []}})
    size = sum(len(chunk) for chunk in ipc.stream_chunks(query.run(table, request), file_format=True))
    return rows if size else 0


STEPS: dict[str, Callable[[StoredTable, int], int]] = {
    "nothing": nothing,
    "create": create,
    "insert": insert,
    "query": read,
    "send": write_file,
}


def reader(rows: int) -> pa.RecordBatchReader:
    return ipc.checked(batch(0).schema, batches(rows))


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows, BATCH):
        yield batch(first).slice(0, min(BATCH, rows - first))


def batch(first: int) -> pa.RecordBatch:
    ids = pa.array(range(first, first + BATCH), pa.int64())
    numbers = pc.random(BATCH * DIMENSION, initializer=first).cast(pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(numbers, DIMENSION)
    return pa.record_batch({"id": ids, "text": pc.cast(ids, pa.string()), "vector": vectors})


if __name__ == "__main__":
    main()
