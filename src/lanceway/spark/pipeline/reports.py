"""What a run came to, and what somebody who watches is told meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from lanceway.lake.runs import DONE, FAILED, SKIPPED, Read, Run, Step

# Moments of a step: it begins; Spark is so far with it; its table has a new version, which is not yet recorded; it is
# over.
BEGUN, UNDER_WAY, WRITTEN, ENDED = "begun", "under way", "written", "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `moment` is begun, under way, written or ended; `step` has what is known by then.

    Of a step under way, `tasks` of Spark's are known by then, of which so many are `done`.
    """

    moment: str
    step: Step
    run: Run
    done: int = 0
    tasks: int = 0


Listener = Callable[[Event], None]


def unheard(event: Event) -> None:
    """Nobody listens."""


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
            "steps": [step_record(step) for step in self.steps],
            "reads": [asdict(read) for read in self.reads],
        }


def step_record(step: Step) -> dict[str, Any]:
    """A step with what is known of it."""
    found = {key: value for key, value in asdict(step).items() if value not in (None, {}) and key != "position"}
    if step.began_at is not None and step.ended_at is not None:
        found["seconds"] = (step.ended_at - step.began_at) / 1000
    return found
