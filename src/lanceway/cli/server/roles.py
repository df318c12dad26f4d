"""`lanceway roles …`: roles, and who has them. They work on the server's database, as `users` does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.rights import Role, opened, show_pages
from lanceway.cli.server.tokens import Home
from lanceway.cli.session import Limit, PageToken, Session

app = group("Roles: what is granted to a role holds for all users and groups that have it.")

Holder = Annotated[str, typer.Argument(metavar="NAME", help="The user; with --group, the group.")]
AsGroup = Annotated[bool, typer.Option("--group", help="NAME is a group, and not a user.")]
_COLUMNS = {"name": "role", "comment": "comment", "created_by": "by", "created_at": "made"}


@command(app, "list")
def list_(
    session: Session, limit: Limit = None, page_token: PageToken = None, home: Home = None, uri: Uri = None
) -> None:
    """List the roles, in order of their names."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import roles

        list_page = partial(roles.described_page, desk.store, desk.actor)
        show_pages(session, _COLUMNS, "roles", list_page, limit, page_token)


@command(app, "create")
def create(
    session: Session,
    name: Role,
    comment: Annotated[str | None, typer.Option("--comment", help="What the role is for.")] = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Make a role, which may do nothing yet: `lanceway grants add` grants privileges to it."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import roles

        role = roles.create(desk.store, desk.actor, name, comment=comment)
    session.output.done(f"The role {role['name']} is made.", role)


@command(app, "show")
def show(session: Session, name: Role, home: Home = None, uri: Uri = None) -> None:
    """Show a role and who has it. What it is granted: `lanceway grants list --role ROLE`."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import roles

        role = roles.show(desk.store, desk.actor, name)
    if not session.json:
        role["holders"] = [f"{holder['kind']} {holder['name']}" for holder in role["holders"]]
    session.output.record(role)


@command(app, "delete")
def delete(session: Session, name: Role, home: Home = None, uri: Uri = None) -> None:
    """Delete a role with all that it was granted and denied, and take it from all who have it."""
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import roles

        gone = roles.delete(desk.store, desk.actor, name)
    session.output.done(f"The role {gone['name']} is deleted.", gone)


@command(app, "give")
def give(
    session: Session, name: Role, holder: Holder, as_group: AsGroup = False, home: Home = None, uri: Uri = None
) -> None:
    """Give a role to a user, or with --group to a group.

    Example: lanceway roles give reader analysts --group
    """
    _change(session, home, uri, name, holder, as_group, taken=False)


@command(app, "take")
def take(
    session: Session, name: Role, holder: Holder, as_group: AsGroup = False, home: Home = None, uri: Uri = None
) -> None:
    """Take a role from a user, or with --group from a group."""
    _change(session, home, uri, name, holder, as_group, taken=True)


def _change(
    session: Session, home: Path | None, uri: str | None, role: str, holder: str, as_group: bool, *, taken: bool
) -> None:
    kind = "group" if as_group else "user"
    with opened(session, home, uri) as desk:
        from lanceway.access.rights import roles

        changed = (roles.take if taken else roles.give)(desk.store, desk.actor, role, holder, kind)
    verb = "does not have" if taken else "has"
    before = "" if changed else ", as before"
    facts = {"role": role, "name": holder, "kind": kind, "changed": changed}
    session.output.done(f"The {kind} {holder} {verb} the role {role} now{before}.", facts)
