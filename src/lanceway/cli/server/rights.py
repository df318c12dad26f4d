"""What the verbs about rights share: the server's database, its mounted catalogs, and objects as people write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.server.tokens import PAGE, all_pages, server_place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.access.rights.actor import Actor
    from lanceway.access.rights.places import PlaceFinder, WrittenPlace
    from lanceway.lake.store.database import LakeStore

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


class Desk:
    """An opened database of a server, with the one who works on it, and its objects."""

    def __init__(self, store: LakeStore, actor: Actor, places: PlaceFinder) -> None:
        self.store, self.actor, self.places = store, actor, places


@contextmanager
def opened(session: Session, home: Path | None, uri: str | None) -> Iterator[Desk]:
    """Open the server's database. Who has its credentials may do everything."""
    where = server_place(session, home, uri)
    from lanceway import config
    from lanceway.access.rights.actor import Actor
    from lanceway.access.rights.places import PlaceFinder
    from lanceway.catalogs.federated.mounts import canonical
    from lanceway.lake.access.facts import Caller

    mounts = frozenset(canonical(name) for name in config.server(session.config, {"home": home}).catalogs)
    with where.opened() as store:
        yield Desk(store, Actor(Caller(where.user), where.metalake, trusted=True), PlaceFinder(where.metalake, mounts))


def written(session: Session, text: str, kind: str | None) -> WrittenPlace:
    """Return an object as it is written on the command line."""
    from lanceway.access.rights.places import WrittenPlace

    return WrittenPlace(text, kind, session.delimiter)


def show_pages(
    session: Session,
    columns: dict[str, str],
    key: str,
    list_page: Callable[..., tuple[list[dict[str, Any]], str | None]],
    limit: int | None,
    page_token: str | None,
) -> None:
    """Show a list: all of it, or one page."""
    if limit is None and page_token is None:
        session.output.records(columns, all_pages(partial(list_page, limit=PAGE)))
        return
    items, token = list_page(limit=limit, page_token=page_token)
    session.output.records_page(columns, key, items, token)
