"""`lanceway users …`: who is known to a server, and who is refused. They work on its database, as `tokens` does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.tokens import PAGE, Home, all_pages, server_place
from lanceway.cli.session import Limit, PageToken, Session

if TYPE_CHECKING:
    from lanceway.lake.store.database import LakeStore
    from lanceway.lake.users import User

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
    where = server_place(session, home, uri)
    from lanceway.access import users

    list_page = partial(users.described_page, disabled=disabled)
    with where.opened() as store:
        if limit is None and page_token is None:
            session.output.records(_COLUMNS, all_pages(partial(list_page, store, limit=PAGE)))
            return
        items, token = list_page(store, limit=limit, page_token=page_token)
    session.output.records_page(_COLUMNS, "users", items, token)


@command(app, "show")
def show(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Show a user."""
    where = server_place(session, home, uri)
    from lanceway.access import users

    with where.opened() as store:
        user = users.find(store, name)
    session.output.record(users.described(user))


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
    """Make a user, who has no token yet: `lanceway tokens create` makes one."""
    where = server_place(session, home, uri)
    from lanceway.access import users

    with where.opened() as store:
        user = users.create(store, name, by=where.user, admin=admin)
    session.output.done(f"The user {user.name} is made{', an admin' if user.admin else ''}.", users.described(user))


@command(app, "disable")
def disable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Refuse a user with all of its tokens, and those of its issuer, until it is enabled again.

    Servers that are running do so from their next request on. Its tables, jobs and views stay.
    """
    _change(session, home, uri, "is disabled", lambda store, by: _users().disable(store, name, by=by))


@command(app, "enable")
def enable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Let a user that is disabled in again, with the tokens that it had."""
    _change(session, home, uri, "is enabled", lambda store, by: _users().enable(store, name))


@command(app, "promote")
def promote(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Make a user an admin, who may manage all users and their tokens."""
    _change(session, home, uri, "is an admin", lambda store, by: _users().promote(store, name, by=by))


@command(app, "demote")
def demote(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Make an admin a user like others. The last one who is enabled stays an admin."""
    _change(session, home, uri, "is not an admin", lambda store, by: _users().demote(store, name))


@command(app, "delete")
def delete(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Delete a user with its tokens.

    What it owns becomes the administrator's. To keep someone out, disable the user instead.
    """
    _change(session, home, uri, "is deleted", lambda store, by: _users().delete(store, name))


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
    where = server_place(session, home, uri)
    with where.opened() as store:
        new, moved = _users().rename(store, name, new_name)
    what = "1 thing that is its own" if moved == 1 else f"{moved} things that are its own"
    session.output.done(f"The user {name} is called {new} now, with {what}.", {"name": new, "moved": moved})


@command(app, "issuers")
def issuers(session: Session, home: Home = None, uri: Uri = None) -> None:
    """List the OpenID Connect issuers that this lake knows, by the aliases in the names of their users."""
    where = server_place(session, home, uri)
    with where.opened() as store:
        by_alias = _users().known_issuers(store)
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
    where = server_place(session, home, uri)
    with where.opened() as store:
        _users().move_issuer(store, alias, address)
    session.output.done(f"The alias {alias} stands for {address} now.", {"alias": alias, "issuer": address})


def _change(
    session: Session,
    home: Path | None,
    uri: str | None,
    is_now: str,
    change: Callable[[LakeStore, str], User],
) -> None:
    where = server_place(session, home, uri)
    with where.opened() as store:
        user = change(store, where.user)
    session.output.done(f"The user {user.name} {is_now}.", _users().described(user))


def _users() -> ModuleType:
    """Load what works on users, and SQLAlchemy with it, only when a verb needs it."""
    from lanceway.access import users

    return users
