"""The states of a background job: in a module of their own, for clients over HTTP, which need no database."""

from __future__ import annotations

QUEUED, RUNNING, DONE, FAILED, CANCELLED = STATES = ("queued", "running", "done", "failed", "cancelled")
ENDED = frozenset({DONE, FAILED, CANCELLED})
