"""The background jobs of a Lanceway server, which are served beside Lance REST, below `/lanceway/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from lanceway.catalogs.contract.jobs import Job, checked_state
from lanceway.catalogs.rest.messages import cleaned
from lanceway.catalogs.rest.settings import RestSettings
from lanceway.errors import InternalError, LanceNamespaceError, UnsupportedOperationError, from_error_code
from lanceway.wire import lance
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Client, HttpAnswer, Request

_LANCE, _LANCEWAY = "/lance", "/lanceway"
_JOBS, _EVENTS = "/v1/jobs", "/v1/events"
_NOT_FOUND = 404


class RestJobs:
    """The jobs of a server. Its client has no address where the uri is not a Lanceway server's."""

    def __init__(self, settings: RestSettings) -> None:
        self._delimiter = settings.delimiter
        self._client: Client | None = None
        if settings.uri.endswith(_LANCE):
            address = settings.uri.removesuffix(_LANCE) + _LANCEWAY
            self._client = Client(address, settings.client, settings.credentials, _refuse)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

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
        page = self.send(Request("list_jobs", "GET", _JOBS, query, repeat=Repeat.SAFE))
        return [Job.from_record(record) for record in page["jobs"]], page.get("page_token")

    def describe(self, job_id: str) -> Job:
        """Describe a job. Raises InvalidInputError where no job has this id, or it belongs to another user."""
        path = f"{_JOBS}/{quote(job_id, safe='')}"
        return Job.from_record(self.send(Request(f"describe_job {job_id}", "GET", path, repeat=Repeat.SAFE)))

    def cancel(self, job_id: str) -> Job:
        """Cancel a job: at once if it waits, soon if it runs. One that has ended stays as it is."""
        path = f"{_JOBS}/{quote(job_id, safe='')}/cancel"
        # Cancelling twice has the effect of cancelling once.
        return Job.from_record(self.send(Request(f"cancel_job {job_id}", "POST", path, repeat=Repeat.SAFE)))

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
        return self.send(Request("list_events", "GET", _EVENTS, query, repeat=Repeat.SAFE))

    def send(self, request: Request) -> Any:
        """Send a request to `/lanceway`, and return the JSON of its answer."""
        if self._client is None:
            raise _unsupported(request)
        try:
            return self._client.send(request).json()
        except ValueError as error:
            raise InternalError(f"{request.what}: the answer cannot be read. Is this a Lanceway server?") from error


def _refuse(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    body, code = lance.read_error(answer.content)
    if code is not None:
        return from_error_code(code, cleaned(body.get("error")))
    if answer.status == _NOT_FOUND:
        return _unsupported(request)
    return from_error_code(lance.CODE_OF_STATUS.get(answer.status, 18), f"{request.what}: {answer.status}.")


def _unsupported(request: Request) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{request.what}: only a Lanceway server has this beside Lance REST, such as background jobs, and its uri ends "
        f"in {_LANCE}."
    )
