"""What a run came to: the run, its steps, and what they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection

from lanceway.lake.runs import runs
from lanceway.lake.runs.runs import DONE, FAILED, SKIPPED, Read, Run, Step


@dataclass(slots=True)
class Report:
    """A run, with its steps and what they read."""

    run: Run
    steps: list[Step]
    reads: list[Read] = field(default_factory=list)
    continued: bool = False

    @property
    def ok(self) -> bool:
        return self.run.state == DONE

    @property
    def rows(self) -> int:
        return sum(step.rows or 0 for step in self.steps if step.kind == "output")

    @property
    def seconds(self) -> float:
        return ((self.run.ended_at or self.run.began_at) - self.run.began_at) / 1000

    @property
    def failed(self) -> list[Step]:
        return [step for step in self.steps if step.state == FAILED]

    @property
    def committed(self) -> list[Step]:
        """The steps whose tables have a new version, whatever became of the others."""
        return committed(self.steps)

    @property
    def idle(self) -> bool:
        """Whether there was nothing new to do."""
        return self.ok and all(step.state == SKIPPED for step in self.steps if step.kind == "output")

    def as_record(self) -> dict[str, Any]:
        run = asdict(self.run)
        del run["graph"], run["id"]
        return {
            **run,
            "ok": self.ok,
            "continued": self.continued,
            "rows": self.rows,
            "seconds": self.seconds,
            "committed": [{"table": step.table_name, "version": step.version} for step in self.committed],
            "steps": [step_record(step) for step in self.steps],
            "reads": [asdict(read) for read in self.reads],
        }


def committed(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step.state == DONE and step.version]


def of(connection: Connection, run: Run) -> Report:
    """What is known of a run by now."""
    return Report(run, list(runs.steps(connection, run.id)), list(runs.reads(connection, run.id)))


def step_record(step: Step) -> dict[str, Any]:
    """A step with what is known of it."""
    found = {key: value for key, value in asdict(step).items() if value not in (None, {}) and key != "position"}
    if step.began_at is not None and step.ended_at is not None:
        found["seconds"] = (step.ended_at - step.began_at) / 1000
    return found
