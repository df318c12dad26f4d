"""`lanceway tokens …`: the tokens by which users are known to a server."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.words import counted
from lanceway.cli.server.desks.desk import TokenWish
from lanceway.cli.server.homes import Home, read_duration
from lanceway.cli.server.rights import opened, show_pages
from lanceway.cli.session import Limit, PageToken, Session

app = group("Manage API tokens. Each is shown once, and kept as a hash.")

_COLUMNS = {
    "prefix": "token",
    "user": "user",
    "label": "label",
    "created_at": "made",
    "expires_at": "expires",
    "last_used_at": "last used",
}
_ENDED = {"revoked_at": "revoked"}


@command(app, "create")
def create(
    session: Session,
    user: Annotated[
        str,
        typer.Argument(metavar="USER", help="Whose it is; a new name makes a new user, name@alias one of an issuer."),
    ],
    label: Annotated[str | None, typer.Option("--label", help="A word for what it is used for.")] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="How long it lives: 90s, 30m, 12h, 30d, 8w. For ever without."),
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="Make the user an admin, who may manage all tokens.")] = False,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Create a token and print it, this once.

    Clients send it as `Authorization: Bearer TOKEN` or as `x-api-key: TOKEN`.
    """
    lifetime = None if expires is None else read_duration(expires, "--expires")
    with opened(session, home, uri) as desk:
        created = desk.create_token(TokenWish(user, label, lifetime, admin))
    session.output.token(created)


@command(app, "list")
def list_(
    session: Session,
    user: Annotated[str | None, typer.Option("--user", help="Only the tokens of this user.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that have expired or were revoked.")] = False,
    limit: Limit = None,
    page_token: PageToken = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """List the tokens by their prefixes, the oldest first."""
    columns = _COLUMNS | _ENDED if everything else _COLUMNS
    with opened(session, home, uri) as desk:
        list_page = partial(desk.list_tokens, user, dead=everything)
        show_pages(session, columns, "tokens", list_page, limit, page_token)


@command(app, "revoke")
def revoke(
    session: Session,
    prefix: Annotated[
        str | None,
        typer.Argument(metavar="PREFIX", help="The token's prefix, such as lw_0123456789ab; never the whole token."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Revoke all tokens of this user instead.")] = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Revoke a token, or all of a user. Servers that are running refuse them at once."""
    if (prefix is None) == (user is None):
        raise typer.BadParameter("give either the prefix of a token or --user.", param_hint="'PREFIX'")
    with opened(session, home, uri) as desk:
        if user is not None:
            count = desk.revoke_tokens(user)
            session.output.done(f"Revoked {counted(count, 'token')} of {user}.", {"user": user, "revoked": count})
            return
        assert prefix is not None
        revoked = desk.revoke_token(prefix)
    session.output.done(f"Revoked token {revoked['prefix']} of {revoked['user']}.", revoked)
