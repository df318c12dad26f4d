"""`lanceway login | logout | use | connections`: servers that need not be named on each command line."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output.renderers import printable
from lanceway.cli.session import Session, WrongUse, completed

if TYPE_CHECKING:
    from lanceway.config import Connection

app = group("Connections")

# A host by its name or number, with a port or without.
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?|localhost(?::\d{1,5})?|[\w-]+:\d{1,5}")
_COLUMNS = {"name": "name", "uri": "address", "in_use": "in use"}


@command(app, "login")
def login(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL", help="The server, such as https://lance.example.com.")],
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A file with the token, which is asked for on a terminal if left out, or else read from standard "
            "input.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call it; the server's host if left out.")
    ] = None,
) -> None:
    """Save a server and your token for it, and use it from now on.

    The token is checked first. It is kept in ~/.config/lanceway/connections.json, which you alone can read.

    Example: lanceway login https://lance.example.com --name prod
    """
    from lanceway.config import connections

    uri = connections.server_uri(_with_scheme(url))
    host = urlsplit(uri).hostname
    connection = connections.Connection(name or _free_name(uri, host or url), uri, _token(token_file, uri) or None)
    if connection.token is None:
        _check_without_token(connection)
    else:
        _check(connection)
    connections.save(connection)
    if connection.token and uri.startswith("http://") and not connections.is_loopback(host or ""):
        typer.secho(
            f"lanceway: {host} is reached without TLS: others can read the token on its way.", err=True, fg="red"
        )
    facts = {"name": connection.name, "uri": uri}
    session.output.done(f"Logged in to {uri} as {connection.name}, which is used from now on.", facts)


@command(app, "logout")
def logout(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The connection; the one in use if left out.",
            autocompletion=completed("connections"),
        ),
    ] = None,
) -> None:
    """Forget a server and your token for it. The token itself stays valid: lanceway tokens revoke ends it."""
    from lanceway.config import connections

    chosen = name
    if chosen is None:
        current = connections.in_use()
        if current is None:
            raise WrongUse("No connection is in use. Name one: lanceway connections lists them.")
        chosen = current.name
    connection = connections.forget(chosen)
    session.output.done(f"Logged out of {connection.uri}.", {"name": chosen, "uri": connection.uri})


@command(app, "use")
def use(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A saved connection.", autocompletion=completed("connections"))
    ],
) -> None:
    """Use another saved connection from now on."""
    from lanceway.config import connections

    connection = connections.use(name)
    session.output.done(f"Using {name} at {connection.uri} from now on.", {"name": name, "uri": connection.uri})


@command(app, "connections")
def list_(session: Session) -> None:
    """List the saved connections. Tokens are not shown."""
    from lanceway.config import connections

    current = connections.in_use()
    records = [
        {"name": name, "uri": connection.uri, "in_use": current is not None and current.name == name}
        for name, connection in sorted(connections.saved().items())
    ]
    session.output.records(_COLUMNS, records)


def _with_scheme(url: str) -> str:
    """Return an address. Raises BadParameter for a host alone, such as `127.0.0.1:8400`, with the address it may be."""
    from lanceway.config import connections

    host = urlsplit(f"//{url}").hostname if _HOST.fullmatch(url) else None
    if host is None:
        return url
    scheme = "http" if connections.is_loopback(host) else "https"
    raise typer.BadParameter(
        f"{url!r} does not say how the server is reached. Did you mean {scheme}://{url}?", param_hint="'URL'"
    )


def _free_name(uri: str, host: str) -> str:
    """Return the host as a name, with its port where another connection has that name."""
    from lanceway.config import connections

    other = connections.saved().get(host)
    return host if other is None or other.uri == uri else urlsplit(uri).netloc


def _token(file: Path | None, uri: str) -> str:
    if file is not None:
        return file.read_text(encoding="utf-8").strip()
    if sys.stdin.isatty():
        return str(
            typer.prompt(f"Token for {printable(uri)}", hide_input=True, default="", show_default=False, err=True)
        )
    return sys.stdin.readline().strip()


def _check_without_token(connection: Connection) -> None:
    from lanceway.errors import UnauthenticatedError

    try:
        _check(connection)
    except UnauthenticatedError as error:
        raise UnauthenticatedError(
            f"{connection.uri} wants a token, and none was given. Pass --token-file FILE, or pipe the token in."
        ) from error


def _check(connection: Connection) -> None:
    """Ask the server for a page of its names. Raises what it answers to a token that is not good."""
    from lanceway import config

    config.quiet_lance()
    from lance_namespace import ListNamespacesRequest

    from lanceway.catalogs.connect import connect
    from lanceway.errors import PermissionDeniedError

    catalog = connect("rest", settings={**connection.settings, "retries": "0"})
    with suppress(PermissionDeniedError):  # which says that it knows the user
        catalog.list_namespaces(ListNamespacesRequest(id=[], limit=1))
