"""`/lanceway/v1/jobs`: background jobs. A user sees their own, an admin all.

GET  /lanceway/v1/jobs                 ?state=, ?table=lake$team$orders (with ?delimiter=), ?all=true for an admin
GET  /lanceway/v1/jobs/{id}
POST /lanceway/v1/jobs/{id}/cancel
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta

from lanceway.catalogs.contract.jobs import Job, JobQueue
from lanceway.errors import PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake.runs.job_states import STATES
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, endpoint, page_type
from lanceway.server.home import METALAKE
from lanceway.wire.lance import DELIMITER

JobState = Literal[STATES]  # type: ignore[valid-type]


class JobQuery(PageQuery):
    state: Annotated[JobState, Meta(description="Only jobs in this state.")] | None = None
    table: Annotated[str, Meta(description="Only jobs of this table; the delimiter joins its names.")] | None = None
    delimiter: Annotated[str, Meta(description="What joins the names of a table; $ without it.")] | None = None
    all: Annotated[bool, Meta(description="Everybody's jobs; only for an admin.")] = False


def _queue(call: Call, *, own: bool) -> JobQueue:
    return JobQueue(call.store, METALAKE, None, call.principal.name, own=own)


@endpoint("GET", "/jobs", page_type("Jobs", "jobs", Job))
async def list_jobs(call: Call, query: JobQuery) -> object:
    """List background jobs, the newest first."""
    if query.all and not call.principal.admin:
        raise PermissionDeniedError("Only an admin may list the jobs of others. Leave `all` out for your own.")
    list_page = partial(
        _queue(call, own=not query.all).page,
        state=query.state,
        table=Identifier.parse(query.table, query.delimiter or DELIMITER) if query.table else None,
        limit=query.size,
        page_token=query.page_token,
    )
    jobs, token = await call.run(list_page)
    return {"jobs": [job.as_record() for job in jobs], "page_token": token}


@endpoint("GET", "/jobs/{id}", Job)
async def describe_job(call: Call, id: PathPart) -> object:  # noqa: A002 - the path's name for it
    """Return a background job."""
    job = await call.run(_queue(call, own=not call.principal.admin).find, id)
    return job.as_record()


@endpoint("POST", "/jobs/{id}/cancel", Job)
async def cancel_job(call: Call, id: PathPart) -> object:  # noqa: A002
    """Cancel a background job: at once if it waits, soon if it runs."""
    job = await call.run(_queue(call, own=not call.principal.admin).cancel, id)
    return job.as_record()


ENDPOINTS = (list_jobs, describe_job, cancel_job)
