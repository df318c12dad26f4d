"""`lanceway roles …`: roles, and who has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.homes import Home
from lanceway.cli.server.rights import Role, opened, show_pages
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
        show_pages(session, _COLUMNS, "roles", desk.list_roles, limit, page_token)


@command(app, "create")
def create(
    session: Session,
    name: Role,
    comment: Annotated[str | None, typer.Option("--comment", help="What the role is for.")] = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Create a role, which may do nothing yet: `lanceway grants add` grants privileges to it."""
    with opened(session, home, uri) as desk:
        role = desk.create_role(name, comment)
    session.output.done(f"Created role {role['name']}.", role)


@command(app, "show")
def show(session: Session, name: Role, home: Home = None, uri: Uri = None) -> None:
    """Show a role and who has it. What it is granted: `lanceway grants list --role ROLE`."""
    with opened(session, home, uri) as desk:
        role = desk.get_role(name)
    if not session.json and "holders" in role:  # users who may not manage roles do not see who has one
        role["holders"] = [f"{holder['kind']} {holder['name']}" for holder in role["holders"]]
    session.output.record(role)


@command(app, "delete")
def delete(session: Session, name: Role, home: Home = None, uri: Uri = None) -> None:
    """Delete a role with all that it was granted and denied, and take it from all who have it."""
    with opened(session, home, uri) as desk:
        gone = desk.delete_role(name)
    session.output.done(f"Deleted role {gone['name']}.", gone)


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
        changed = (desk.take_role if taken else desk.give_role)(role, holder, kind)
    facts = {"role": role, "name": holder, "kind": kind, "changed": changed}
    session.output.done(_sentence(role, f"{kind} {holder}", changed, taken=taken), facts)


def _sentence(role: str, holder: str, changed: bool, *, taken: bool) -> str:
    if not changed:
        return f"Nothing changed: {holder} {'does not have' if taken else 'already has'} role {role}."
    return f"Took role {role} from {holder}." if taken else f"Gave role {role} to {holder}."
