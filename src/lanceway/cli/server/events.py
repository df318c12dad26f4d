"""`lanceway events`: what happened in a lake, in order. It asks a server, or reads the server's database."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.renderers import printable
from lanceway.cli.server.homes import Home, chosen_server, opened_to_purge, server_place
from lanceway.cli.session import Session

app = group("Events.")
purge_app = group("Old events.")

Page = tuple[Sequence[dict[str, Any]], str, bool]
# Reads a page after a position; with `wait`, it may wait for one.
ReadPage = Callable[[str | None, bool], Page]

_PAGE = 1_000
_WAIT = 20.0  # seconds that a server is asked to wait
_PAUSE = 0.5  # seconds between two looks into a database
_LATEST = "latest"


@command(app, "events")
def events(
    session: Session,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, and print it as it comes.")] = False,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="ID", help="Only what came after the event with this id; latest: from now on."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only these: table.created, or table for all; may be repeated."),
    ] = None,
    under: Annotated[
        str | None, typer.Option("--under", metavar="NAME", help="Only this object, and everything inside it.")
    ] = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Print what happened: changes of the tree, of versions, rights, jobs and runs, the oldest first.

    It asks the server that is chosen, and shows what you may see; otherwise it reads a server's database. With --json
    each event is a CloudEvent on a line of its own, and its id is what --after takes.
    """
    path = None if under is None else session.id(under)
    with _reading(session, types or [], path, home, uri) as read:
        for event in _all(read, after, follow=follow):
            typer.echo(json.dumps(event, ensure_ascii=False) if session.json else _line(event))


@command(purge_app, "purge-events")
def purge(
    session: Session,
    older: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="Delete events that are older than this: 12h, 30d, 8w.")
    ],
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Delete old events. A server does it by itself, as event_retention says."""
    with opened_to_purge(session, older, home, uri) as (store, age):
        from lanceway.access.records import feed

        count = feed.purge(store, age)
    session.output.done(f"Deleted {count:,} {'event' if count == 1 else 'events'}.", {"deleted": count})


def _all(read: ReadPage, after: str | None, *, follow: bool) -> Iterator[dict[str, Any]]:
    while True:
        page, after, more = read(after, follow)
        yield from page
        if not more and not follow:
            return


def _reading(
    session: Session, types: Sequence[str], under: list[str] | None, home: Path | None, uri: str | None
) -> AbstractContextManager[ReadPage]:
    if chosen_server(session, home, uri) is not None:
        return _from_server(session, types, under)
    return _from_database(session, types, under, home, uri)


@contextmanager
def _from_server(session: Session, types: Sequence[str], under: list[str] | None) -> Iterator[ReadPage]:
    catalog: Any = session.catalog

    def read(after: str | None, wait: bool) -> Page:
        answer = catalog.list_events(after=after, types=types, under=under, limit=_PAGE, wait=_WAIT if wait else 0.0)
        return answer["events"], answer["cursor"], answer["more"]

    try:
        yield read
    finally:
        catalog.close()


@contextmanager
def _from_database(
    session: Session, types: Sequence[str], under: list[str] | None, home: Path | None, uri: str | None
) -> Iterator[ReadPage]:
    where = server_place(session, home, uri)
    from lanceway.access.records import feed
    from lanceway.access.rights.actor import Actor
    from lanceway.identifiers import Identifier
    from lanceway.lake.access.facts import Caller
    from lanceway.lake.feed import reading
    from lanceway.lake.feed.reading import FeedFilter, FeedPosition

    actor = Actor(Caller(where.user), where.metalake, trusted=True)
    wanted = FeedFilter.of(where.metalake, types, None if under is None else Identifier(under))
    with where.opened() as store:
        source = feed.source_of(store)

        def read(after: str | None, wait: bool) -> Page:
            if after == _LATEST:
                position: FeedPosition | None = store.snapshot(reading.newest)
            else:
                position = None if after is None else FeedPosition.parse(after)
            page = feed.read_page(store, actor, wanted, position, _PAGE)
            if wait and not page.events and page.is_end:
                time.sleep(_PAUSE)
            cloud_events = [feed.cloud_event(row, data, str(row.position), source) for row, data in page.events]
            return cloud_events, str(page.end), not page.is_end

        yield read


def _line(event: dict[str, Any]) -> str:
    """Return an event as a line for people."""
    from lanceway.lake.feed.types import PREFIX

    shown = {"kind", "object", "actor"}
    details = " ".join(f"{key}={value}" for key, value in event["data"].items() if key not in shown and value != "")
    actor = event["data"].get("actor", "")
    words = (
        event["time"],
        event["type"].removeprefix(PREFIX),
        event["subject"],
        f"by {actor}" if actor else "",
        details,
    )
    return printable("  ".join(word for word in words if word))
