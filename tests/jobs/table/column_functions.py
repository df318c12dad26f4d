"""Functions that the tests name by their import path."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def thrice(batch: pa.RecordBatch) -> pa.Array:
    return pc.multiply(batch["id"], 3)


def failing(batch: pa.RecordBatch) -> list[int]:
    return [1 // (i - 217) for i in batch["id"].to_pylist()]
