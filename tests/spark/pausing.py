"""A task that stops at a certain row until its executor is lost. It is copied to workers, and beside pipelines."""

import os
import time
from pathlib import Path
from typing import Any

# The row at which a task stops, and how many there are.
AT, ROWS = 1_400, 2_000


def wait(row: int, place: str) -> int:
    """Return the number of the row. Before that, say which process waits at it, and wait until `lost` is there."""
    lost, reached = Path(place, "lost"), Path(place, "reached")
    if row == AT and not lost.exists():
        reached.with_suffix(".new").write_text(str(os.getpid()))
        reached.with_suffix(".new").rename(reached)
        while not lost.exists():
            time.sleep(0.05)
    return row


def passing(batch: Any, place: str) -> Any:
    """The batch as it is, for a pipeline."""
    for row in batch.column("id").to_pylist():
        wait(row, place)
    return batch
