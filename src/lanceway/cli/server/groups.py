"""`lanceway groups …`: groups of users. They work on the server's database, as `users` does."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.rights import Group, opened, show_pages
from lanceway.cli.server.tokens import PAGE, Home
from lanceway.cli.session import Limit, PageToken, Session

app = group(
    "Groups of users, which are given roles and own objects. A group that an OpenID Connect issuer names has members "
    "by that alone; create a group of the same name here to give it roles."
)

Users = Annotated[list[str], typer.Argument(metavar="USER...", help="The users, by their names.")]
_COLUMNS = {"name": "group", "created_by": "by", "created_at": "made"}


@command(app, "list")
def list_(
    session: Session, limit: Limit = None, page_token: PageToken = None, home: Home = None, uri: Uri = None
) -> None:
    """List the groups, in order of their names."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        list_page = partial(groups.described_page, desk.store, desk.actor)
        show_pages(session, _COLUMNS, "groups", list_page, limit, page_token)


@command(app, "create")
def create(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Make a group without members: `lanceway groups add` puts users into it."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        record = groups.create(desk.store, desk.actor, name)
    session.output.done(f"The group {record['name']} is made.", record)


@command(app, "show")
def show(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Show a group with its members. Those who are in it by their issuer alone are not known here."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        show_page = partial(groups.show, desk.store, desk.actor, name, limit=PAGE)
        record = show_page(page_token=None)
        while token := record.pop("page_token"):
            more = show_page(page_token=token)
            record = {**record, "members": [*record["members"], *more["members"]], "page_token": more["page_token"]}
    session.output.record(record)


@command(app, "delete")
def delete(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Delete a group with its roles. Its members stay; what it owns becomes the administrator's."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        gone = groups.delete(desk.store, desk.actor, name)
    session.output.done(f"The group {gone['name']} is deleted.", gone)


@command(app, "add")
def add(session: Session, name: Group, users: Users, home: Home = None, uri: Uri = None) -> None:
    """Put users into a group: all of them, or none. They have all that its roles are granted, from the next request on.

    Example: lanceway groups add analysts ada grace
    """
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        changed = groups.add(desk.store, desk.actor, name, users)
    session.output.done(f"In the group {name} now: {', '.join(users)}.", {"group": name, "changed": changed})


@command(app, "remove")
def remove(session: Session, name: Group, users: Users, home: Home = None, uri: Uri = None) -> None:
    """Take users out of a group."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import groups

        changed = groups.remove(desk.store, desk.actor, name, users)
    session.output.done(f"No longer in the group {name}: {', '.join(users)}.", {"group": name, "changed": changed})
