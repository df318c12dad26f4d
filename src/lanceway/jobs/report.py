"""What became of each table, and of a job as a whole."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# What a table needs, or would need where nothing is changed.
NEW, CHANGED, GONE, KNOWN = "new", "changed", "gone", "known"
# Why nothing was done with it.
COLLISION, REFUSED, FAILED = "collision", "refused", "failed"
PROBLEMS = frozenset({COLLISION, REFUSED, FAILED})

# So many problems are kept with their reasons; the others are counted.
_MOST_PROBLEMS = 1000


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """One table. `table` is its name in the source, `target` the one that it has in the target."""

    state: str
    table: str
    target: str | None = None
    location: str | None = None
    reason: str | None = None
    rows: int = 0
    bytes: int = 0
    checksum: str | None = None
    version: int | None = None  # the source's, that was copied
    # Whether the service itself did not answer: the next table will hardly fare better.
    unavailable: bool = False

    def as_record(self) -> dict[str, Any]:
        shown = ("state", "table", "target", "location", "reason", "checksum")
        found = {name: getattr(self, name) for name in shown if getattr(self, name) is not None}
        if self.checksum:
            found |= {"version": self.version, "rows": self.rows, "bytes": self.bytes}
        return found


@dataclass(slots=True)
class JobReport:
    """What a job did, or would do (`dry_run`). Its size does not grow with the number of tables."""

    job: str
    dry_run: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    problems: list[TableOutcome] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic, repr=False)
    stopped: bool = False

    @property
    def ok(self) -> bool:
        return not self.stopped and not PROBLEMS & {state for state, count in self.counts.items() if count}

    @property
    def tables(self) -> int:
        return self.counts.total()

    def add(self, outcome: TableOutcome) -> None:
        self.counts[outcome.state] += 1
        if outcome.state == NEW or outcome.state == CHANGED:
            self.rows += outcome.rows
            self.bytes += outcome.bytes
        if outcome.state in PROBLEMS and len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(outcome)

    def as_record(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "dry_run": self.dry_run,
            "ok": self.ok,
            "stopped": self.stopped,
            "tables": self.tables,
            **{state: self.counts[state] for state in (NEW, CHANGED, GONE, KNOWN, COLLISION, REFUSED, FAILED)},
            "rows": self.rows,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "problems": [problem.as_record() for problem in self.problems],
        }


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is: so many of its parts are done, and so many rows with them."""

    done: int
    total: int
    rows: int = 0


Watcher = Callable[[JobProgress], None]


def unwatched(step: JobProgress) -> None:
    """Steps that nobody sees."""


@dataclass(slots=True)
class JobSummary:
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

    def ended(self, *, stopped: bool = False) -> JobSummary:
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
