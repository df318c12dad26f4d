"""What somebody who watches a run is told meanwhile; and what it came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lanceway.lake.runs.report import Report
from lanceway.lake.runs.runs import Run, Step

__all__ = ["BEGUN", "ENDED", "UNDER_WAY", "WRITTEN", "Event", "Listener", "Report", "unheard"]

# Moments of a step: it begins; Spark is so far with it; its table has a new version, which is not yet recorded; it is
# over.
BEGUN, UNDER_WAY, WRITTEN, ENDED = "begun", "under way", "written", "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `moment` is begun, under way, written or ended; `step` has what is known by then.

    Of a step under way, `tasks` of Spark's are known by then, of which so many are `done`; and so many `rows` and
    `bytes` were read, where Spark knows that.
    """

    moment: str
    step: Step
    run: Run
    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0


Listener = Callable[[Event], None]


def unheard(event: Event) -> None:
    """Nobody listens."""
