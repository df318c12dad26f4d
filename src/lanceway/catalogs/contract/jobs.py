"""Background jobs as whoever asked for them sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lanceway.errors import InvalidInputError
from lanceway.lake.runs.job_states import ENDED, STATES

BACKFILL, REFRESH, AUTO_REFRESH = "backfill", "refresh", "auto_refresh"
_PAUSE = 0.25  # seconds


class JobNotFoundError(InvalidInputError):
    """There is no such job, or it is not one's own."""

    status = 404

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id[:60]!r}, or not one of yours. Those there are: lanceway jobs list")


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `table` is its table's identifier where it was asked for; times are milliseconds since 1970.

    `result` is what it came to once it is done, `error` what was wrong in one sentence, `progress` how far it is.
    """

    id: str
    kind: str
    table: list[str]
    state: str
    request: Mapping[str, Any]
    requested_by: str
    created_at: int
    attempts: int = 0
    cancelled_by: str | None = None
    worker: str | None = None
    began_at: int | None = None
    ended_at: int | None = None
    progress: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    def as_record(self) -> dict[str, Any]:
        """As it goes over the wire: what it has not is left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Job:
        known = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in record.items() if key in known})


def checked_state(state: str | None) -> str | None:
    if state is not None and state not in STATES:
        raise InvalidInputError(f"A job is never {state!r}. Its state is one of {', '.join(STATES)}.")
    return state


def wait(describe: Callable[[str], Job], job_id: str, timeout: float | None) -> Job:
    """The job once it has ended, whatever it came to; or as it is after so many seconds."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        job = describe(job_id)
        if job.has_ended or (until is not None and time.monotonic() >= until):
            return job
        time.sleep(_PAUSE)
