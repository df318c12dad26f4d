"""What became of a job on one table, and how far it is while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """How far a job is: so many of its parts are done, and so many rows with them."""

    done: int
    total: int
    rows: int = 0


Watcher = Callable[[Step], None]


def unwatched(step: Step) -> None:
    """Steps that nobody sees."""


@dataclass(slots=True)
class Summary:
    """What a job did to a table, or would do (`dry_run`).

    `version` is the one that it made, or found where nothing had to be done (`changed` tells). `facts` are what this
    job alone has to say.
    """

    job: str
    table: str
    dry_run: bool = False
    version: int | None = None
    changed: bool = False
    parts: int = 0
    done: int = 0
    rows: int = 0
    bytes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic, repr=False)

    @property
    def ok(self) -> bool:
        return not self.stopped

    def ended(self, *, stopped: bool = False) -> Summary:
        self.stopped = stopped
        self.seconds = time.monotonic() - self.began
        return self

    def as_record(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "table": self.table,
            "dry_run": self.dry_run,
            "ok": self.ok,
            "stopped": self.stopped,
            "version": self.version,
            "changed": self.changed,
            "parts": self.parts,
            "done": self.done,
            "rows": self.rows,
            "bytes": self.bytes,
            **self.facts,
            "seconds": round(self.seconds, 3),
        }
