"""`lanceway groups …`: groups of users."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.homes import PAGE, Home
from lanceway.cli.server.rights import Group, opened, show_pages
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
        show_pages(session, _COLUMNS, "groups", desk.list_groups, limit, page_token)


@command(app, "create")
def create(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Create a group without members: `lanceway groups add` puts users into it."""
    with opened(session, home, uri) as desk:
        record = desk.create_group(name)
    session.output.done(f"Created group {record['name']}.", record)


@command(app, "show")
def show(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Show a group with its members. Those who are in it by their issuer alone are not known here."""
    with opened(session, home, uri) as desk:
        show_page = partial(desk.get_group, name, limit=PAGE)
        record = show_page(page_token=None)
        while token := record.pop("page_token"):
            more = show_page(page_token=token)
            record = {**record, "members": [*record["members"], *more["members"]], "page_token": more["page_token"]}
    session.output.record(record)


@command(app, "delete")
def delete(session: Session, name: Group, home: Home = None, uri: Uri = None) -> None:
    """Delete a group with its roles. Its members stay; what it owns becomes the administrator's."""
    with opened(session, home, uri) as desk:
        gone = desk.delete_group(name)
    session.output.done(f"Deleted group {gone['name']}.", gone)


@command(app, "add")
def add(session: Session, name: Group, users: Users, home: Home = None, uri: Uri = None) -> None:
    """Put users into a group: all of them, or none. They have all that its roles are granted, from the next request on.

    Example: lanceway groups add analysts ada grace
    """
    with opened(session, home, uri) as desk:
        changed = desk.add_members(name, users)
    session.output.done(f"Added {', '.join(users)} to group {name}.", {"group": name, "changed": changed})


@command(app, "remove")
def remove(session: Session, name: Group, users: Users, home: Home = None, uri: Uri = None) -> None:
    """Take users out of a group."""
    with opened(session, home, uri) as desk:
        changed = desk.remove_members(name, users)
    session.output.done(f"Removed {', '.join(users)} from group {name}.", {"group": name, "changed": changed})
