"""The states of a background job, for those too who ask for jobs over HTTP and need no database."""

from __future__ import annotations

QUEUED, RUNNING, DONE, FAILED, CANCELLED = STATES = ("queued", "running", "done", "failed", "cancelled")
ENDED = frozenset({DONE, FAILED, CANCELLED})
