"""`lanceway tokens …`: who may use a server. They work on its database, so the server need not run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import LakePlace, Uri, place, refuse_without_packages
from lanceway.cli.session import Limit, PageToken, Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.lake.store.database import LakeStore

app = group("Manage API tokens. Each is shown once, and kept as a hash.")

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", file_okay=False, help="The server's folder, as lanceway up has it: ~/.lanceway."
    ),
]
_COLUMNS = {
    "prefix": "token",
    "user": "user",
    "label": "label",
    "created_at": "made",
    "expires_at": "expires",
    "last_used_at": "last used",
}
_ENDED = {"revoked_at": "revoked"}
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"([0-9]{1,9})([smhdw])")
PAGE = 1_000


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
    """Make a token and print it, this once.

    Clients send it as `Authorization: Bearer TOKEN` or as `x-api-key: TOKEN`.
    """
    lifetime = None if expires is None else read_duration(expires, "--expires")
    where = server_place(session, home, uri)
    from lanceway.access import tokens

    with where.opened() as store:
        created = tokens.create(store, user, by=where.user, label=label, lifetime=lifetime, admin=admin)
    session.output.token({"token": created.secret, **tokens.described(created.token)})


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
    where = server_place(session, home, uri)
    from lanceway.access import tokens

    columns = _COLUMNS | _ENDED if everything else _COLUMNS
    list_page = partial(tokens.described_page, user=user, dead=everything)
    with where.opened() as store:
        if limit is None and page_token is None:
            session.output.records(columns, all_pages(partial(list_page, store, limit=PAGE)))
            return
        items, token = list_page(store, limit=limit, page_token=page_token)
    session.output.records_page(columns, "tokens", items, token)


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
    where = server_place(session, home, uri)
    from lanceway.access import tokens
    from lanceway.errors import InvalidInputError

    if user is not None:
        with where.opened() as store:
            count = tokens.revoke_all(store, user, by=where.user)
        what = "1 token" if count == 1 else f"{count} tokens"
        session.output.done(f"Revoked {what} of {user}.", {"user": user, "revoked": count})
        return
    assert prefix is not None
    with where.opened() as store:
        revoked = tokens.revoke(store, prefix, by=where.user)
    if revoked is None:
        raise InvalidInputError(f"There is no token {prefix}. Those there are: lanceway tokens list")
    name = tokens.shown(revoked.prefix)
    session.output.done(f"The token {name} of {revoked.user} is revoked.", tokens.described(revoked))


def server_place(session: Session, home: Path | None, uri: str | None) -> LakePlace:
    """Find the server's database: from options, from the chosen namespace, or where `lanceway up` would."""
    from lanceway import config

    if uri is not None or session.name is not None or session.type is not None:
        return place(session, uri=uri)
    settings = config.server(session.config, {"home": home})
    refuse_without_home(settings)
    return place(session, uri=server_database(settings))


def refuse_without_home(settings: ServerSettings) -> None:
    """Refuse settings with which no server was ever started (BadParameter)."""
    if settings.database is None and not _own_database(settings).exists():
        raise typer.BadParameter(
            f"no server was ever started in {settings.home}. Start one with lanceway up, or say what is meant: --home "
            "DIR, --uri for its database, or --in NAME.",
            param_hint="'--home'",
        )


def _own_database(settings: ServerSettings) -> Path:
    return settings.home.absolute() / "lake.db"


def server_database(settings: ServerSettings) -> str:
    """Return the database URL of a server with these settings."""
    refuse_without_packages()
    from sqlalchemy import URL

    return settings.database or URL.create("sqlite", database=str(_own_database(settings))).render_as_string()


def read_duration(text: str, option: str) -> timedelta:
    """Return how long a text such as 30d means. Raises BadParameter, which names the option."""
    match = _DURATION.fullmatch(text)
    try:
        if match:
            return timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        pass
    raise typer.BadParameter(
        f"{text!r} is not a time to live; write a number and one of s, m, h, d, w, such as 30d.",
        param_hint=f"'{option}'",
    )


@contextmanager
def opened_to_purge(
    session: Session, older: str, home: Path | None, uri: str | None
) -> Iterator[tuple[LakeStore, timedelta]]:
    """Open the server's database, and read the age from which on something is deleted."""
    age = read_duration(older, "--older-than")
    with server_place(session, home, uri).opened() as store:
        yield store, age


def all_pages(ask: Callable[..., tuple[list[dict[str, Any]], str | None]]) -> Iterator[dict[str, Any]]:
    """Yield the items of every page, each requested when the one before has been read."""
    page, token = ask(page_token=None)
    yield from page
    while token:
        page, token = ask(page_token=token)
        yield from page
