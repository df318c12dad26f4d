"""A process that changes several tables in one batch, and kills itself before one chosen statement of it."""

from __future__ import annotations

import os
import signal
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.lake.store.crash_program import connect


def die_before(number: int) -> None:
    """Count the statements from now on, a COMMIT too, and be gone before the one with the number (from 1)."""
    left = number

    def tick(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", tick)
    event.listen(Engine, "commit", tick)


def commit(uri: str, root: str, operations: list[dict[str, Any]], number: int) -> None:
    """Commit a batch, or die in the attempt."""
    with connect(uri, root) as lake:
        die_before(number)
        lake.batch_commit_tables({"operations": operations})
