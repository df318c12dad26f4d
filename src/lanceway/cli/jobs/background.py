"""`lanceway jobs list | show | cancel | wait`: background jobs, which a worker runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import Limit, PageToken, Session

if TYPE_CHECKING:
    from lanceway.catalogs.contract.jobs import Job

app = group("Background jobs: list, show, wait for and cancel them, and run a worker.")

_Id = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, such as job-0123456789abcdef0123.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the job has ended, and show its result.")]
_COLUMNS = {
    "id": "job",
    "kind": "kind",
    "table": "table",
    "state": "state",
    "requested_by": "requested by",
    "created_at": "requested",
    "ended_at": "ended",
}
_SPARE = ("requested_by", "ended_at", "created_at")
_PAGE = 1_000
_DONE = "done"


@command(app, "list")
def list_(
    session: Session,
    state: Annotated[
        Literal["queued", "running", "done", "failed", "cancelled"] | None,
        typer.Option("--state", help="Only those queued, running, done, failed or cancelled."),
    ] = None,
    table: Annotated[str | None, typer.Option("--table", help="Only those of this table.")] = None,
    everybody: Annotated[
        bool, typer.Option("--all", help="On a server: the jobs of all users, if you may see them.")
    ] = False,
    limit: Limit = None,
    page_token: PageToken = None,
) -> None:
    """List background jobs, the newest first."""
    filters: dict[str, Any] = {"state": state, "table": None if table is None else session.id(table)}
    if everybody and session.root[0] == "rest":
        filters["everybody"] = True
    if limit is None and page_token is None:
        session.output.records(_COLUMNS, (_shown(session, job) for job in _every(session, filters)), spare=_SPARE)
        return
    page, token = session.catalog.list_jobs(limit=limit, page_token=page_token, **filters)
    session.output.records_page(_COLUMNS, "jobs", [_shown(session, job) for job in page], token, spare=_SPARE)


@command(app, "show")
def show(session: Session, job: _Id) -> None:
    """Show a background job: its state, its progress and its result."""
    session.output.record(_shown(session, session.catalog.describe_job(job)))


@command(app, "cancel")
def cancel(session: Session, job: _Id) -> None:
    """End a background job: at once if it waits, soon if it runs."""
    cancelled = session.catalog.cancel_job(job)
    session.output.done(f"The job {job} is {cancelled.state}{_soon(cancelled)}.", _shown(session, cancelled))


@command(app, "wait")
def wait(
    session: Session,
    job: _Id,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="How many seconds to wait at most.")] = None,
) -> None:
    """Wait until a background job has ended; exit code 1 if it did not end well, or not in time."""
    follow(session, job, timeout)


def follow(session: Session, job: str, timeout: float | None = None) -> None:
    """Wait for a job, show its result, and exit with 1 if it did not end well."""
    ended = session.catalog.wait_for_job(job, timeout)
    reason = f": {ended.error}" if ended.error else ""
    session.output.done(f"The job {job} is {ended.state}{reason}.".replace("..", "."), _shown(session, ended))
    if ended.state != _DONE:
        raise typer.Exit(FAILED)


def show_recorded(session: Session, response: dict[str, Any], what: str, *, wait: bool) -> None:
    """Show which job was recorded, or with `wait` its result."""
    if wait:
        follow(session, response["job_id"])
    else:
        session.output.done(
            f"{what}: {response['job_id']} waits for a worker. Without a server, start one with lanceway jobs worker.",
            response,
        )


def _every(session: Session, filters: dict[str, Any]) -> Iterator[Job]:
    """Yield the jobs of every page, each requested when the one before has been read."""
    token = None
    while True:
        page, token = session.catalog.list_jobs(limit=_PAGE, page_token=token, **filters)
        yield from page
        if not token:
            return


def _shown(session: Session, job: Job) -> dict[str, Any]:
    from lanceway.identifiers import Identifier

    record = job.as_record()
    return record if session.json else {**record, "table": Identifier(job.table).format(session.delimiter)}


def _soon(job: Job) -> str:
    return " and will end soon" if not job.has_ended else ""
