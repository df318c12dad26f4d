"""`lanceway owners …`: who owns an object."""

from __future__ import annotations

from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.homes import Home
from lanceway.cli.server.rights import Kind, Object, named, opened
from lanceway.cli.session import Session

app = group("Owners: each object has one, a user or a group, who may do everything to it and to all that is inside.")


@command(app, "show")
def show(session: Session, object_: Object, kind: Kind = None, home: Home = None, uri: Uri = None) -> None:
    """Show the owner of an object."""
    with opened(session, home, uri) as desk:
        owner = desk.get_owner(named(session, object_, kind))
    owner.pop("names")
    session.output.record(owner)


@command(app, "set")
def set_(
    session: Session,
    object_: Object,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new owner: a user; with --group, a group.")],
    as_group: Annotated[bool, typer.Option("--group", help="NAME is a group, and not a user.")] = False,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Give an object to another owner. What is inside keeps its own.

    Example: lanceway owners set lake.team data --group
    """
    new_kind = "group" if as_group else "user"
    with opened(session, home, uri) as desk:
        changed = desk.set_owner(named(session, object_, kind), name, new_kind)
    before = f"{changed['previous_owner_kind']} {changed['previous_owner']}"
    session.output.done(f"Changed the owner of {object_} from {before} to {new_kind} {name}.", changed)
