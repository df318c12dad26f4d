"""How far a job is, what became of each table, and the report at its end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

# What a table needs, or would need where nothing is changed.
NEW, CHANGED, GONE, KNOWN = "new", "changed", "gone", "known"
# Why nothing was done with it.
COLLISION, REFUSED, FAILED = "collision", "refused", "failed"
PROBLEMS = frozenset({COLLISION, REFUSED, FAILED})

# So many problems are kept with their reasons; the others are counted.
_MOST_PROBLEMS = 1000


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What a job did with one table, which is `table` in the source and `target` in the target."""

    state: str
    table: str
    target: str | None = None
    location: str | None = None
    reason: str | None = None
    rows: int = 0
    bytes: int = 0
    checksum: str | None = None
    version: int | None = None  # the source's, that was copied
    # The service itself did not answer, so that the next table will hardly fare better.
    unavailable: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return the outcome as plain data, without what is not known."""
        shown = ("state", "table", "target", "location", "reason", "checksum")
        record = {name: getattr(self, name) for name in shown if getattr(self, name) is not None}
        if self.checksum:
            record |= {"version": self.version, "rows": self.rows, "bytes": self.bytes}
        return record


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is: how many of its parts are done, and how many rows with them. `message` names the last part."""

    done: int
    total: int | None
    rows: int = 0
    message: str = ""


@dataclass(slots=True)
class _Report:
    """What the reports of all jobs have: the job's name, its totals, and how long it took."""

    job: str
    dry_run: bool = field(default=False, kw_only=True)
    rows: int = field(default=0, kw_only=True)
    bytes: int = field(default=0, kw_only=True)
    stopped: bool = field(default=False, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)
    began: float = field(default_factory=time.monotonic, repr=False, kw_only=True)

    @property
    def ok(self) -> bool:
        """Return whether the job did all that it was to do."""
        return not self.stopped

    def finish(self, *, stopped: bool = False) -> Self:
        """Note how long the job took, and whether it was stopped before its end."""
        self.stopped = stopped
        self.seconds = time.monotonic() - self.began
        return self


@dataclass(slots=True)
class JobReport(_Report):
    """What a job did to many tables, or would do (`dry_run`). Its size does not grow with their number."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[TableOutcome] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Return whether the job ended by itself, without a problem."""
        return not self.stopped and not any(self.counts[state] for state in PROBLEMS)

    @property
    def tables(self) -> int:
        """Return how many tables were looked at."""
        return self.counts.total()

    def add(self, outcome: TableOutcome) -> None:
        """Count an outcome, and keep it if it is a problem."""
        self.counts[outcome.state] += 1
        if outcome.state in (NEW, CHANGED):
            self.rows += outcome.rows
            self.bytes += outcome.bytes
        if outcome.state in PROBLEMS and len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(outcome)

    def as_record(self) -> dict[str, Any]:
        """Return the report as plain data."""
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


@dataclass(slots=True)
class JobSummary(_Report):
    """What a job did to one table, or would do (`dry_run`).

    `version` is the one that it made, or the latest where nothing had to be done (`changed` is False). `facts` are
    particular to the job.
    """

    table: str
    version: int | None = None
    changed: bool = False
    parts: int = 0
    done: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def as_record(self) -> dict[str, Any]:
        """Return the summary as plain data."""
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
