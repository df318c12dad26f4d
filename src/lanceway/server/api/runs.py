"""`/lanceway/v1/pipelines`, `runs` and `lineage`: what pipelines have done.

    GET /lanceway/v1/pipelines              by name, each with its newest run
    GET /lanceway/v1/pipelines/{name}       one, and who holds it
    GET /lanceway/v1/runs                   newest first; of one `pipeline`, in one `state`
    GET /lanceway/v1/runs/{key}             one with its steps, what they read, and the results of expectations
    POST /lanceway/v1/runs/{key}/cancel     stop one that is running, wherever that is
    GET /lanceway/v1/runs/{key}/had         the latest version of each source that each output has had
    GET /lanceway/v1/runs/{key}/last-steps  the newest step of each name that has ended, in any run of the pipeline
    GET /lanceway/v1/runs/{key}/files       the files of a source
    GET /lanceway/v1/runs/{key}/changed     whether files of a source changed
    GET /lanceway/v1/lineage                of one `table` or `location`: upstream and downstream, as JSON or SVG

An admin sees everything, others the runs they started and those of pipelines that they were the first to run.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct
from sqlalchemy import Connection
from starlette.responses import Response

from lanceway.catalogs.contract.requests import page_of, page_start, page_start_id
from lanceway.errors import InvalidInputError
from lanceway.lake.runs import leases, lineage, listing, recorder, runs, source_files
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.listing import Listed
from lanceway.lake.runs.runs import Read, Run, StepRow
from lanceway.lake.runs.source_files import File
from lanceway.lake.tree.names import checked_text
from lanceway.server.api.endpoints import LARGEST_NUMBER, Call, PageQuery, PathPart, RunKey, derive, endpoint, page_type

Result = TypeVar("Result")

SVG = "image/svg+xml"
# A drawing is opened as a page: nothing in it may run or be fetched.
_INERT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}
STATES = (runs.RUNNING, runs.DONE, runs.FAILED, runs.STOPPED, runs.GIVEN_UP, listing.KILLED)
RunState = Literal[STATES]  # type: ignore[valid-type]
Number = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]


class RunNotFoundError(InvalidInputError):
    """There is no such run or pipeline, or it is not one's own."""

    status = 404


# -- pipelines -----------------------------------------------------------------------------------


class PipelineHolder(Struct):
    """A pipeline, and who holds it; null where it is free. `process` is for others on the holder's machine."""

    name: str
    held_by: str | None
    held_since: int | None
    process: str | None


@endpoint("GET", "/pipelines", page_type("Pipelines", "pipelines", Listed))
async def list_pipelines(call: Call, query: PageQuery) -> object:
    """List the pipelines that were run, by name."""
    list_ = f"pipelines\0{call.owner or ''}"
    after = page_start(list_, query.page_token)
    list_page = partial(listing.pipelines_after, name=after, user=call.owner, limit=query.size + 1)
    items, token = page_of(await call.run(call.store.snapshot, list_page), query.size, list_, lambda item: item.name)
    return {"pipelines": items, "page_token": token}


@endpoint("GET", "/pipelines/{name:path}", PipelineHolder)
async def get_pipeline(call: Call, name: PathPart) -> PipelineHolder:
    """Return who holds a pipeline."""
    await call.run(call.guard.require, "run job")

    def find(connection: Connection) -> PipelineHolder:
        row = leases.find(connection, name)
        if row is None:
            raise RunNotFoundError(f"No pipeline {name} was ever run here.")
        if call.owner is not None:
            recorder.require_own(connection, row, call.owner)
        return PipelineHolder(row.name, row.held_by, row.held_since, row.process)

    return await call.run(call.store.snapshot, find)


# -- runs ----------------------------------------------------------------------------------------


class RunQuery(PageQuery):
    pipeline: Annotated[str, Meta(description="Only the runs of this one.")] | None = None
    state: Annotated[RunState, Meta(description="Only runs in this state.")] | None = None


class SourceQuery(Struct):
    source: Annotated[str, Meta(description="The source's name.")]
    after: Annotated[Number, Meta(description="Only what later runs saw first.")] = 0
    until: Annotated[Number, Meta(description="As this run knew it.")] = 0


class Had(Struct):
    """The latest version of a source that an output has had."""

    step: str
    source: str
    location: str | None
    version: int


class FilesChanged(Struct):
    """Whether a file was added, changed or removed."""

    changed: bool


class Written(Struct):
    """A version that a run has committed."""

    table: str | None
    version: int | None


RunSummary = derive(
    "RunSummary",
    Run,
    "A run and its results. Times are milliseconds since 1970; `written` are tables with their new versions.",
    without=("id", "graph", "pins"),
    sparse=True,
    seconds=float | None,
    rows=int,
    written=list[str],
)
Step = derive(
    "Step",
    StepRow,
    "A step of a run.",
    without=("position", "details"),
    sparse=True,
    details=Mapping[str, Any] | None,
    seconds=float | None,
)
RunReport = derive(
    "RunReport",
    Run,
    "A run with its steps, what they read, and the results of expectations (in a step's details).",
    without=("id",),
    ok=bool,
    continued=bool,
    rows=int,
    seconds=float,
    warnings=list[str],
    committed=list[Written],
    steps=list[Step],  # type: ignore[valid-type]
    reads=list[Read],
)


@endpoint("GET", "/runs", page_type("Runs", "runs", RunSummary))
async def list_runs(call: Call, query: RunQuery) -> object:
    """List runs, newest first."""
    list_ = f"runs\0{call.owner or ''}\0{query.pipeline or ''}\0{query.state or ''}"
    before = page_start_id(list_, query.page_token)

    def list_page(connection: Connection) -> tuple[list[dict[str, Any]], str | None]:
        rows = listing.page(
            connection,
            pipeline=query.pipeline,
            state=query.state,
            user=call.owner,
            before=before,
            limit=query.size + 1,
        )
        items, token = page_of(rows, query.size, list_, lambda run: str(run.id))
        return listing.summaries(connection, items), token

    items, token = await call.run(call.store.snapshot, list_page)
    return {"runs": items, "page_token": token}


@endpoint("GET", "/runs/{key}/had", list[Had])
async def get_had(call: Call, key: RunKey) -> list[Had]:
    """Return what each output has had of each source."""
    versions = await _look(call, key, lambda connection, run: runs.had(connection, _pipeline(connection, run)))
    return [Had(*place, version) for place, version in versions.items()]


@endpoint("GET", "/runs/{key}/last-steps", list[Step])  # type: ignore[valid-type]
async def get_last_steps(call: Call, key: RunKey) -> object:
    """Return the newest step of each name that is done or was skipped, in any run of the same pipeline."""
    steps = await _look(call, key, lambda connection, run: runs.last_steps(connection, _pipeline(connection, run)))
    return [runs.step_record(step) for step in steps]


@endpoint("GET", "/runs/{key}/files", list[File])
async def get_files(call: Call, key: RunKey, query: SourceQuery) -> object:
    """Return the files of a source."""
    return [asdict(file) for file in await _look(call, key, partial(_of_source, source_files.between, query))]


@endpoint("GET", "/runs/{key}/changed", FilesChanged)
async def get_changed(call: Call, key: RunKey, query: SourceQuery) -> FilesChanged:
    """Return whether files of a source changed."""
    return FilesChanged(await _look(call, key, partial(_of_source, source_files.has_changed, query)))


@endpoint("POST", "/runs/{key}/cancel", RunReport)
async def cancel_run(call: Call, key: RunKey) -> object:
    """Cancel a run: the process that executes it stops soon. What it has committed stays, and it can be resumed."""

    def cancel(connection: Connection) -> object:
        run = _find(call, connection, key)
        recorder.cancel(connection, run, by=call.principal.name)
        return _report(connection, runs.load(connection, run.id))

    return await call.run(call.store.transact, cancel)


@endpoint("GET", "/runs/{key:path}", RunReport)
async def get_run(call: Call, key: RunKey) -> object:
    """Return one run."""
    return await _look(call, key, _report)


def _report(connection: Connection, run: Run) -> Mapping[str, Any]:
    return {**runs.of(connection, run).as_record(), "graph": run.graph}


async def _look(call: Call, key: str, read: Callable[[Connection, Run], Result]) -> Result:
    """Read something of a run that the caller may see. Raises RunNotFoundError."""

    return await call.run(call.store.snapshot, lambda connection: read(connection, _find(call, connection, key)))


def _find(call: Call, connection: Connection, key: str) -> Run:
    run = listing.find(connection, key, user=call.owner) if _is_uuid(key) else None
    if run is None:
        raise RunNotFoundError(f"There is no run {key[:40]}{' of yours' if call.owner else ''}.")
    return run


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _pipeline(connection: Connection, run: Run) -> int:
    row = leases.find(connection, run.pipeline)
    assert row is not None, "a run has its pipeline"
    return row.id


def _of_source(read: Callable[..., Result], query: SourceQuery, connection: Connection, run: Run) -> Result:
    source = checked_text("`source`", query.source)
    if not source:
        raise InvalidInputError("`source` is empty: give the name of a source of the pipeline.")
    return read(connection, _pipeline(connection, run), source, after=query.after, until=query.until)


# -- lineage -------------------------------------------------------------------------------------


class LineageQuery(Struct):
    table: Annotated[str, Meta(description="A table by a name that pipelines use; or give location.")] | None = None
    location: Annotated[str, Meta(description="The location of a table; or give table.")] | None = None
    direction: Annotated[Literal["both", "upstream", "downstream"], Meta(description="Which way.")] = "both"
    depth: Annotated[int, Meta(ge=1, le=LARGEST_NUMBER, description="How many steps; all if left out.")] | None = None
    every: Annotated[bool, Meta(description="Every run's, and not only the newest between two tables.")] = False
    format: Annotated[Literal["json", "svg"], Meta(description=f"svg is a drawing, as with Accept: {SVG}.")] | None = (
        None
    )


class Lineage(Struct):
    """What led to a table, and what was made from it."""

    locations: list[str]
    upstream: list[LineageEdge]
    downstream: list[LineageEdge]


@endpoint("GET", "/lineage", Lineage, other_media=(SVG,))
async def get_lineage(call: Call, query: LineageQuery) -> Lineage | Response:
    """Return what led to a table, and what was made from it."""
    table, location = checked_text("`table`", query.table), checked_text("`location`", query.location)
    if (table is None) == (location is None):
        raise InvalidInputError("Give `table`, a name as pipelines have it, or `location`, one of the two.")

    def find(connection: Connection) -> Lineage:
        places = {location} if location is not None else lineage.places(connection, str(table), user=call.owner)
        around = partial(lineage.around, connection, places, depth=query.depth, every=query.every, user=call.owner)
        return Lineage(
            sorted(places),
            around(downstream=False) if query.direction != "downstream" else [],
            around(upstream=False) if query.direction != "upstream" else [],
        )

    edges: Lineage = await call.run(call.store.snapshot, find)
    accepted: Mapping[str, str] = call.request.headers
    if query.format == "json" or (query.format is None and SVG not in accepted.get("accept", "")):
        return edges
    draw = partial(lineage.svg, title=f"Lineage of {table or location}")
    text = await call.run(draw, lineage.nodes([*edges.upstream, *edges.downstream]))
    return Response(text, headers=_INERT, media_type=SVG)


ENDPOINTS = (
    list_pipelines,
    get_pipeline,
    list_runs,
    get_had,
    get_last_steps,
    get_files,
    get_changed,
    cancel_run,
    get_run,
    get_lineage,
)
