"""What the verbs about users and rights share: the desk that they work at, and objects as people write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.server.desks.desk import NamedObject, Record
from lanceway.cli.server.homes import PAGE, all_pages, chosen_server, server_place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.cli.server.desks.desk import Desk

Object = Annotated[
    str,
    typer.Argument(
        metavar="OBJECT", help="metalake, a catalog such as lake, or a schema, table or view in it: lake.team.sales."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        help="What the object is: metalake, catalog, schema, table or view. Looked up if left out, but not in mounted "
        "catalogs.",
    ),
]
User = Annotated[
    str, typer.Argument(metavar="USER", help="The user's name; name@alias for one of an OpenID Connect issuer.")
]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]
Role = Annotated[str, typer.Argument(metavar="ROLE", help="The role's name.")]


@contextmanager
def opened(session: Session, home: Path | None, uri: str | None) -> Iterator[Desk]:
    """Connect to the server that is chosen, with the user's own token; else open a server's database.

    Who has the database's credentials may do everything.
    """
    settings = chosen_server(session, home, uri)
    if settings is not None:
        from lanceway.cli.server.desks.requests import connected
        from lanceway.cli.server.desks.server import ServerDesk

        with connected(settings) as server:
            yield ServerDesk(server)
        return
    where = server_place(session, home, uri)
    from lanceway.cli.server.desks.database import DatabaseDesk

    with where.opened() as store:
        yield DatabaseDesk(store, where, session, home)


def named(session: Session, text: str, kind: str | None) -> NamedObject:
    """Return an object as it is written on the command line."""
    return NamedObject(text, kind, session.delimiter)


def show_pages(
    session: Session,
    columns: dict[str, str],
    key: str,
    list_page: Callable[..., tuple[list[Record], str | None]],
    limit: int | None,
    page_token: str | None,
) -> None:
    """Show a list: all of it, or one page."""
    if limit is None and page_token is None:
        session.output.records(columns, all_pages(partial(list_page, limit=PAGE)))
        return
    items, token = list_page(limit=limit, page_token=page_token)
    session.output.records_page(columns, key, items, token)
