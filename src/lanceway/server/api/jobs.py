"""`/lanceway/v1/jobs`, and what pipelines that run elsewhere record here: leases and runs.

    POST /lanceway/v1/leases                {pipeline, key, seconds, by, ended}: hold a pipeline
    POST /lanceway/v1/leases/renew          {pipeline, key, seconds}: hold it for longer
    POST /lanceway/v1/leases/release        {pipeline, key}
    POST /lanceway/v1/runs/{key}/records    {pipeline, lease, record}: one step of a run, in one transaction

Each may be sent again where an answer was lost. A client that has lost its lease records nothing.

GET  /lanceway/v1/jobs                 ?state=, ?table=lake$team$orders (with ?delimiter=), ?all=true for an admin
GET  /lanceway/v1/jobs/{id}
POST /lanceway/v1/jobs/{id}/cancel
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from sqlalchemy import Connection

from lanceway.catalogs.contract.jobs import Job, JobQueue
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake.runs import leases, recorder
from lanceway.lake.runs.events import Record
from lanceway.lake.runs.job_states import STATES
from lanceway.lake.runs.limits import Key
from lanceway.lake.runs.recorder import Recorded
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, RunKey, endpoint, page_type
from lanceway.server.home import METALAKE
from lanceway.wire.lance import DELIMITER

_LARGEST_RECORD = 64 * 2**20  # bytes: a source may have many files

# Long enough that no one can guess the key of another.
LeaseKey = Annotated[str, Meta(min_length=32, max_length=300, pattern=r"^[\x21-\x7e]+$")]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class NewLease(Struct):
    """A pipeline to hold. `ended` is the process of a holder that the sender knows to have ended."""

    pipeline: Key
    key: LeaseKey
    seconds: Seconds
    by: Annotated[str, Meta(max_length=300)] = ""
    ended: Key | None = None


class HeldLease(Struct):
    """A pipeline that is held, and may be held for longer."""

    pipeline: Key
    key: LeaseKey
    seconds: Seconds = 60.0


class NewRecord(Struct):
    """An event of a run, with the lease on its pipeline."""

    pipeline: Key
    lease: LeaseKey
    record: Record


class Lease(Struct):
    """Whether the sender holds the pipeline now."""

    held: bool


@endpoint("POST", "/leases", Lease, audited=False)
async def take_lease(call: Call, body: NewLease) -> Lease:
    """Hold a pipeline."""
    await call.run(call.guard.require, "run job")
    take = partial(
        recorder.take,
        name=body.pipeline,
        key=body.key,
        by=f"{call.principal.name}{f', {body.by}' if body.by else ''}",
        lifetime=int(body.seconds * 1000),
        ended=body.ended,
        user=call.owner,
    )
    await call.run(call.store.transact, take)
    return Lease(held=True)


@endpoint("POST", "/leases/renew", Lease, audited=False)
async def renew_lease(call: Call, body: HeldLease) -> Lease:
    """Hold a pipeline for longer, if it is still held, and the caller may still run it."""
    await call.run(call.guard.require, "run job")

    def renew(connection: Connection) -> bool:
        pipeline = leases.find(connection, body.pipeline)
        lifetime = int(body.seconds * 1000)
        return pipeline is not None and leases.renew(connection, pipeline.id, body.key, lifetime=lifetime)

    return Lease(await call.run(call.store.transact, renew))


@endpoint("POST", "/leases/release", Lease, audited=False)
async def release_lease(call: Call, body: HeldLease) -> Lease:
    """Give a pipeline back."""

    def release(connection: Connection) -> None:
        pipeline = leases.find(connection, body.pipeline)
        if pipeline is not None:
            leases.release(connection, pipeline.id, body.key)

    await call.run(call.store.transact, release)
    return Lease(held=False)


# A union of several dataclasses, which OpenAPI from msgspec cannot describe.
@endpoint("POST", "/runs/{key}/records", Any, largest_body=_LARGEST_RECORD, audited=False)
async def record_run(call: Call, key: RunKey, body: NewRecord) -> Recorded:
    """Record an event of a run, and return what is known then: the run, the step, all steps, or null."""
    await call.run(call.guard.require, "run job")
    run = _checked(key)

    def record(connection: Connection) -> Recorded:
        return recorder.record(connection, body.pipeline, body.lease, run, body.record, by=call.principal.name)

    return await call.run(call.store.transact, record)


def _checked(key: str) -> str:
    try:
        return str(uuid.UUID(key))
    except ValueError:
        raise InvalidInputError("The key of a run must be a UUID, chosen by the client that begins it.") from None


RECORD_ENDPOINTS = (take_lease, renew_lease, release_lease, record_run)


JobState = Literal[STATES]  # type: ignore[valid-type]


class JobQuery(PageQuery):
    state: Annotated[JobState, Meta(description="Only jobs in this state.")] | None = None
    table: Annotated[str, Meta(description="Only jobs of this table; the delimiter joins its names.")] | None = None
    delimiter: Annotated[str, Meta(description="What joins the names of a table; $ without it.")] | None = None
    all: Annotated[bool, Meta(description="The jobs of all users; only for an admin.")] = False


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
