"""The background jobs of a Lanceway server, which are served beside Lance REST, below `/lanceway/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from lanceway.catalogs.contract.jobs import Job, checked_state
from lanceway.catalogs.rest.interface import LancewayInterface
from lanceway.wire import lance
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Request

_JOBS, _EVENTS = "/v1/jobs", "/v1/events"


class RestJobs:
    """The jobs of a server, and its events. Identifiers are joined by the delimiter."""

    def __init__(self, server: LancewayInterface, delimiter: str) -> None:
        self._server, self._delimiter = server, delimiter

    def list(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
        everybody: bool = False,
    ) -> tuple[list[Job], str | None]:
        """List the user's own jobs, the newest first, with the token of the next page; `everybody`'s for an admin."""
        filters = {
            "state": checked_state(state),
            "table": None if not table else lance.write_id([*table], self._delimiter),
            "delimiter": self._delimiter if table else None,
            "limit": limit,
            "page_token": page_token,
            "all": "true" if everybody else None,
        }
        query = [(name, str(value)) for name, value in filters.items() if value is not None]
        page = self._server.send(Request("list_jobs", "GET", _JOBS, query, repeat=Repeat.SAFE))
        return [Job.from_record(record) for record in page["jobs"]], page.get("page_token")

    def describe(self, job_id: str) -> Job:
        """Describe a job. Raises InvalidInputError where no job has this id, or it belongs to another user."""
        path = f"{_JOBS}/{quote(job_id, safe='')}"
        return Job.from_record(self._server.send(Request(f"describe_job {job_id}", "GET", path, repeat=Repeat.SAFE)))

    def cancel(self, job_id: str) -> Job:
        """Cancel a job: at once if it waits, soon if it runs. One that has ended stays as it is."""
        path = f"{_JOBS}/{quote(job_id, safe='')}/cancel"
        # Cancelling twice has the effect of cancelling once.
        return Job.from_record(self._server.send(Request(f"cancel_job {job_id}", "POST", path, repeat=Repeat.SAFE)))

    def events(
        self, after: str | None, types: Sequence[str], under: Sequence[str] | None, limit: int | None, wait: float
    ) -> Any:
        """Return a page of what happened, with the cursor of the next."""
        filters = {
            "after": after,
            "types": ",".join(types) or None,
            "under": None if not under else lance.write_id([*under], self._delimiter),
            "delimiter": self._delimiter if under else None,
            "limit": limit,
            "wait": wait or None,
        }
        query = [(name, str(value)) for name, value in filters.items() if value is not None]
        return self._server.send(Request("list_events", "GET", _EVENTS, query, repeat=Repeat.SAFE))
