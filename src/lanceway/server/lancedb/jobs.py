"""Background jobs as LanceDB's client knows them: those of the lake on tables of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.contract.jobs import Job, JobNotFoundError
from lanceway.lake.runs import job_states as states
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.server.lancedb.calls import LanceDbCall, LanceDbHandler, encoded

_PAGE = 100
_SCOPE = "list_jobs"
_STATES = {states.DONE: "DONE", states.FAILED: "FAILED", states.CANCELLED: "CANCELLED"}
_UNDER_WAY = "IN_PROGRESS"


def list_jobs(call: LanceDbCall) -> EncodedAnswer:
    token = call.body.get("page_token")
    opened = call.seal.open(_SCOPE, call.database, token) if isinstance(token, str) else None
    page, following = call.jobs().page(table=call.database[:1], limit=_PAGE, page_token=opened)
    answer: dict[str, Any] = {"jobs": [_row(call, job) for job in page if _is_inside(call, job)]}
    if following:
        answer["page_token"] = call.seal.close(_SCOPE, call.database, following)
    return encoded(answer)


def describe_job(call: LanceDbCall) -> EncodedAnswer:
    job = _find(call)
    answer: dict[str, Any] = {
        "job_id": job.id,
        "job_type": job.kind,
        "job_state": _state(job),
        "creation_ms": job.created_at,
        "spec": {"table": _table(call, job), **job.request},
        "result": _result(job),
    }
    if job.error:
        answer["failure"] = {"phase": "run", "message": job.error, "retryable": False}
    return encoded(answer)


def _result(job: Job) -> Mapping[str, Any] | None:
    """Return what a job did, a backfill's with the numbers that the client waits for."""
    if job.result is None or job.kind != "backfill":
        return job.result
    version, changed = job.result["version"], job.result["changed"]
    return {
        **job.result,
        "rows_assigned": job.result["rows"],
        "rows_failed": 0,  # one that fails ends the job
        "rows_remaining": 0,
        # Jobs of earlier versions did not record it.
        "source_version": job.result.get("source_version", version - changed),
        "published_version": version if changed else None,
    }


def cancel_job(call: LanceDbCall) -> EncodedAnswer:
    job = call.jobs().cancel(_find(call).id)
    return encoded({"job_id": job.id, "job_state": _state(job)})


def _find(call: LanceDbCall) -> Job:
    """Return the job that is asked for, if it is on a table of the database."""
    job = call.jobs().find(call.text("job_id"))
    if not _is_inside(call, job):
        raise JobNotFoundError(job.id)
    return job


def _is_inside(call: LanceDbCall, job: Job) -> bool:
    return job.table[: len(call.database)] == call.database


def _row(call: LanceDbCall, job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "table": _table(call, job),
        "job_type": job.kind,
        "state": _state(job),
        "created_at_millis": job.created_at,
    }


def _table(call: LanceDbCall, job: Job) -> str:
    return "$".join(job.table[len(call.database) :])


def _state(job: Job) -> str:
    return _STATES.get(job.state, _UNDER_WAY)


JOB_HANDLERS: Mapping[str, LanceDbHandler] = {
    handler.__name__: handler for handler in (list_jobs, describe_job, cancel_job)
}
