"""`lanceway owners …`: who owns an object. They work on the server's database, as `users` does."""

from __future__ import annotations

from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.rights import Kind, Object, opened, written
from lanceway.cli.server.tokens import Home
from lanceway.cli.session import Session

app = group("Owners: each object has one, a user or a group, who may do everything to it and to all that is inside.")


@command(app, "show")
def show(session: Session, object_: Object, kind: Kind = None, home: Home = None, uri: Uri = None) -> None:
    """Show the owner of an object."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import owners

        owner = owners.show(desk.store, desk.actor, desk.places, written(session, object_, kind))
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
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import owners
        from lanceway.lake.access.owners import Owner

        owner = Owner(name, "group" if as_group else "user")
        changed = owners.change(desk.store, desk.actor, desk.places, written(session, object_, kind), owner)
    sentence = f"The {owner.kind} {name} owns {object_} now; before, it was the {changed['previous_owner_kind']}"
    session.output.done(f"{sentence} {changed['previous_owner']}.", changed)
