"""`lanceway audit`: who asked for which change, and who was refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.words import counted
from lanceway.cli.server.desks.desk import AuditChoice
from lanceway.cli.server.homes import Home, read_duration
from lanceway.cli.server.rights import opened, show_pages
from lanceway.cli.session import Limit, PageToken, Session

app = group("The audit trail: every change before and after it was made, and every denial.")

_COLUMNS = {
    "at": "time",
    "user": "user",
    "via": "through",
    "operation": "operation",
    "object": "object",
    "outcome": "outcome",
    "reason": "reason",
}


@command(app, "list")
def list_(
    session: Session,
    user: Annotated[str | None, typer.Option("--user", help="Only what this user asked for.")] = None,
    object_: Annotated[
        str | None, typer.Option("--object", metavar="NAME", help="Only this object, and everything inside it.")
    ] = None,
    operation: Annotated[str | None, typer.Option("--operation", help="Only this one, such as drop_table.")] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="Only these: attempted, done, denied or failed.")
    ] = None,
    request: Annotated[str | None, typer.Option("--request", metavar="ID", help="Only this request.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="From this time on: 2026-01-31T12:00, or how long ago: 2h, 7d."),
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time.")] = None,
    limit: Limit = None,
    page_token: PageToken = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """List what was asked for, the newest first."""
    first, last = _moment(since, "--since"), _moment(until, "--until")
    path = None if object_ is None else session.id(object_)
    choice = AuditChoice(user, path, operation, outcome, request, first, last)
    with opened(session, home, uri) as desk:
        show_pages(session, _COLUMNS, "events", partial(desk.list_audit, choice), limit, page_token)


@command(app, "purge")
def purge(
    session: Session,
    older: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="Delete rows that are older than this: 12h, 30d, 8w.")
    ],
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Delete old rows of the trail. A server does it by itself, as audit_retention says."""
    age = read_duration(older, "--older-than")
    with opened(session, home, uri) as desk:
        count = desk.purge_audit(age)
    session.output.done(f"Deleted {counted(count, 'row')} of the audit trail.", {"deleted": count})


def _moment(text: str | None, option: str) -> int | None:
    """Return a time in milliseconds since 1970."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = datetime.now(UTC) - read_duration(text, option)
    if moment.tzinfo is None:
        moment = moment.astimezone()  # as the clock on the wall says
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
