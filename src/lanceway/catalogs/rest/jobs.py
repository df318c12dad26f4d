"""The background jobs of a Lanceway server: asked for beside Lance REST, below `/lanceway/v1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from lanceway.catalogs.contract import jobs
from lanceway.catalogs.contract.jobs import Job
from lanceway.catalogs.rest.answers import cleaned
from lanceway.errors import InternalError, LanceNamespaceError, UnsupportedOperationError, from_error_code
from lanceway.wire import lance
from lanceway.wire.authentication import Credentials
from lanceway.wire.http import Client, HttpAnswer, Request
from lanceway.wire.retries import Repeat

_LANCE, _OWN = "/lance", "/lanceway"
_JOBS = "/v1/jobs"
_NOT_FOUND = 404


class RestJobs:
    """What a client asks a server of its jobs."""

    _settings: Mapping[str, Any]
    _beside: Client | None

    def list_jobs(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
        everybody: bool = False,
    ) -> tuple[list[Job], str | None]:
        """One's own jobs, the newest first, and the token of the page that follows; `everybody`'s for an admin."""
        delimiter = self._settings["delimiter"]
        asked = {
            "state": jobs.checked_state(state),
            "table": None if not table else lance.write_id(list(table), delimiter),
            "delimiter": delimiter if table else None,
            "limit": limit,
            "page_token": page_token,
            "all": "true" if everybody else None,
        }
        query = [(name, str(value)) for name, value in asked.items() if value is not None]
        found = self._of_jobs(Request("list_jobs", "GET", _JOBS, query, repeat=Repeat.SAFE))
        return [Job.from_record(each) for each in found["jobs"]], found.get("page_token")

    def describe_job(self, job_id: str) -> Job:
        """How a job is. Raises InvalidInputError where there is none of this id, or it is somebody else's."""
        path = f"{_JOBS}/{quote(job_id, safe='')}"
        return Job.from_record(self._of_jobs(Request(f"describe_job {job_id}", "GET", path, repeat=Repeat.SAFE)))

    def cancel_job(self, job_id: str) -> Job:
        """End a job: at once if it waits, soon if it runs. One that has ended stays as it is."""
        path = f"{_JOBS}/{quote(job_id, safe='')}/cancel"
        # To ask twice is to ask once.
        return Job.from_record(self._of_jobs(Request(f"cancel_job {job_id}", "POST", path, repeat=Repeat.SAFE)))

    def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """The job once it has ended, whatever it came to; or as it is after `timeout` seconds."""
        return jobs.wait(self.describe_job, job_id, timeout)

    def _of_jobs(self, request: Request) -> Any:
        if self._beside is None:
            raise _unsupported(request)
        try:
            return self._beside.send(request).json()
        except ValueError as error:
            raise InternalError(f"{request.what}: the answer cannot be read. Is this a Lanceway server?") from error


def client_beside(uri: str, settings: Mapping[str, Any], credentials: Callable[[], Credentials]) -> Client | None:
    """Requests to what the server has beside Lance REST; None where the address is none of a Lanceway server."""
    base = uri.rstrip("/")
    return Client(base.removesuffix(_LANCE) + _OWN, settings, credentials, _refuse) if base.endswith(_LANCE) else None


def _refuse(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    body, code = lance.read_error(answer.content)
    if code is not None:
        return from_error_code(code, cleaned(body.get("error")))
    if answer.status == _NOT_FOUND:
        return _unsupported(request)
    return from_error_code(lance.CODE_OF_STATUS.get(answer.status, 18), f"{request.what}: {answer.status}.")


def _unsupported(request: Request) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{request.what}: only a Lanceway server tells of background jobs, and its uri ends in {_LANCE}."
    )
