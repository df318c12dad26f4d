"""`lanceway users …`: who is known to a server, and who is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.words import counted
from lanceway.cli.server.homes import Home
from lanceway.cli.server.rights import opened, show_pages
from lanceway.cli.session import Limit, PageToken, Session

if TYPE_CHECKING:
    from lanceway.cli.server.desks.desk import UserChange

app = group(
    "Users of a server: those of the lake itself, and those of an OpenID Connect issuer, who are called name@alias. A "
    "change holds for every server on the lake from its next request on."
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The user's name; name@alias for one of an OpenID Connect issuer.")
]
_COLUMNS = {
    "name": "user",
    "admin": "admin",
    "enabled": "enabled",
    "issuer": "issuer",
    "created_at": "made",
    "disabled_at": "disabled",
}


@command(app, "list")
def list_(
    session: Session,
    disabled: Annotated[
        bool | None, typer.Option("--disabled/--enabled", help="Only users that are disabled, or only the others.")
    ] = None,
    limit: Limit = None,
    page_token: PageToken = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """List the users, in order of their names. Those of an issuer are listed once something is recorded of them."""
    with opened(session, home, uri) as desk:
        show_pages(session, _COLUMNS, "users", partial(desk.list_users, disabled), limit, page_token)


@command(app, "show")
def show(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Show a user."""
    with opened(session, home, uri) as desk:
        user = desk.get_user(name)
    session.output.record(user)


@command(app, "create")
def create(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name, without @; or name@alias for one of an issuer.")
    ],
    admin: Annotated[bool, typer.Option("--admin", help="Make the user an admin, who may manage all users.")] = False,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Create a user, who has no token yet: `lanceway tokens create` creates one."""
    with opened(session, home, uri) as desk:
        user = desk.create_user(name, admin=admin)
    session.output.done(f"Created {'admin' if user['admin'] else 'user'} {user['name']}.", user)


@command(app, "disable")
def disable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Refuse a user with all of its tokens, and those of its issuer, until it is enabled again.

    Servers that are running do so from their next request on. Its tables, jobs and views stay.
    """
    _change(session, home, uri, name, "disable")


@command(app, "enable")
def enable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Let a user that is disabled in again, with the tokens that it had."""
    _change(session, home, uri, name, "enable")


@command(app, "promote")
def promote(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Make a user an admin, who may manage all users and their tokens."""
    _change(session, home, uri, name, "promote")


@command(app, "demote")
def demote(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Make an admin a user like others. The last one who is enabled stays an admin."""
    _change(session, home, uri, name, "demote")


@command(app, "delete")
def delete(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Delete a user with its tokens.

    What it owns becomes the administrator's. To keep someone out, disable the user instead.
    """
    with opened(session, home, uri) as desk:
        user = desk.delete_user(name)
    session.output.done(f"Deleted user {user['name']}.", user)


@command(app, "rename")
def rename(
    session: Session,
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW-NAME", help="The new name of the user.")],
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Give a user another name, with its tokens, tables, jobs and runs.

    It also moves what belongs to a name without a user, as from before an issuer's users were called name@alias.
    """
    with opened(session, home, uri) as desk:
        renamed = desk.rename_user(name, new_name)
    what = f"{counted(renamed['moved'], 'thing')} of their own"
    session.output.done(f"Renamed user {name} to {renamed['name']}, with {what}.", renamed)


@command(app, "issuers")
def issuers(session: Session, home: Home = None, uri: Uri = None) -> None:
    """List the OpenID Connect issuers that this lake knows, by the aliases in the names of their users."""
    with opened(session, home, uri) as desk:
        by_alias = desk.known_issuers()
    records = ({"alias": alias, "issuer": issuer} for alias, issuer in by_alias.items())
    session.output.records({"alias": "alias", "issuer": "issuer"}, records)


@command(app, "issuer")
def issuer(
    session: Session,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="The alias: lanceway users issuers")],
    address: Annotated[str, typer.Argument(metavar="ISSUER", help="The issuer, as oidc_issuer has it from now on.")],
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Let an alias stand for an issuer that has another address now, but the same users."""
    with opened(session, home, uri) as desk:
        desk.move_issuer(alias, address)
    session.output.done(f"Moved alias {alias} to {address}.", {"alias": alias, "issuer": address})


_DONE: dict[UserChange, str] = {
    "disable": "Disabled user {name}.",
    "enable": "Enabled user {name}.",
    "promote": "Promoted user {name} to admin.",
    "demote": "Demoted admin {name} to user.",
}


def _change(session: Session, home: Path | None, uri: str | None, name: str, change: UserChange) -> None:
    with opened(session, home, uri) as desk:
        user = desk.change_user(name, change)
    session.output.done(_DONE[change].format(name=user["name"]), user)
