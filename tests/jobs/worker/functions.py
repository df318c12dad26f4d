"""Functions that the worker's tests let it run."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path
from subprocess import check_output as imported
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Not this module's own, and so none of those that a worker may run.
hidden = partial(imported, shell=True)


def length(batch: pa.RecordBatch) -> Any:
    return pc.utf8_length(batch.column("name"))


def both(batch: pa.RecordBatch) -> Any:
    names = batch.column("name")
    return pa.table({"upper": pc.utf8_upper(names), "size": pc.utf8_length(names)})


def letters(batch: pa.RecordBatch) -> Any:
    """A chunker: a row for each letter."""
    rows = zip(batch.column("id").to_pylist(), batch.column("name").to_pylist(), strict=True)
    return [{"id": id_, "letter": letter} for id_, name in rows for letter in name]


def total(rows: pa.Table) -> Any:
    """A table function: one row for all."""
    return pa.table({"rows": [rows.num_rows], "sum": [pc.sum(rows["id"]).as_py()]})


def broken(rows: Any) -> Any:
    raise RuntimeError("this one always fails")


def not_99(batch: pa.RecordBatch) -> Any:
    """A chunker that fails at one row."""
    if 99 in batch.column("id").to_pylist():
        raise ValueError("no 99, please")
    return batch.select(["id"])


# A test lets the function begin, and knows that it has.
BEGUN, GATE = threading.Event(), threading.Event()


def waiting(batch: pa.RecordBatch) -> Any:
    BEGUN.set()
    assert GATE.wait(60)
    return batch.column("id")


# Where it is set, the function comes to no end at the row 3, and says so in this file.
STUCK = "LANCEWAY_TEST_STUCK"


def stuck(batch: pa.RecordBatch) -> Any:
    if STUCK in os.environ and 3 in batch.column("id").to_pylist():
        Path(os.environ[STUCK]).touch()
        time.sleep(600)
    return batch.column("id")
