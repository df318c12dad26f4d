"""`lanceway up` serves; `lanceway console` prints a link that signs in to the console of the server that runs."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs.worker import beside_server
from lanceway.cli.lake.options import place
from lanceway.cli.server.homes import Home, refuse_without_home, server_database
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.server.home import Home as ServerHome

app = group("Up")

_File = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", dir_okay=False, exists=True, help="The configuration file."),
]


@command(app, "up")
def up(
    session: Session,
    home: Annotated[
        Path | None, typer.Option("--home", metavar="FOLDER", help="Where state is kept, instead of ~/.lanceway.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on, instead of 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port, instead of 8400; 0 takes a free one.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="How many processes serve.")] = None,
    file: _File = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate to serve HTTPS with (PEM).")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key.")] = None,
    root_path: Annotated[
        str | None, typer.Option("--root-path", metavar="PREFIX", help="The path prefix of a proxy in front.")
    ] = None,
    allowed_locations: Annotated[
        str | None,
        typer.Option(
            "--allowed-locations",
            metavar="LIST",
            help="Below which locations those who ask may have tables, instead of the warehouse alone; separated by "
            "commas.",
        ),
    ] = None,
    anonymous: Annotated[
        bool | None, typer.Option("--anonymous", help="Serve requests without credentials, on loopback only.")
    ] = None,
    allow_public_anonymous: Annotated[
        bool | None,
        typer.Option("--allow-public-anonymous", help="Serve them on any address. Every client is an owner."),
    ] = None,
    worker: Annotated[
        bool | None,
        typer.Option("--worker/--no-worker", help="Whether background jobs are carried out here.", show_default=False),
    ] = None,
) -> None:
    """Serve every catalog over HTTP, until Ctrl-C or SIGTERM; what was begun is finished first.

    Settings come from [server] and [catalogs.NAME] of the configuration file, from the environment as
    LANCEWAY_SERVER__PORT, and from these options, which win.
    """
    from lanceway import config

    config.quiet_lance()
    options = {
        "home": home,
        "host": host,
        "port": port,
        "workers": workers,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "root_path": root_path,
        "allowed_locations": allowed_locations,
        "anonymous": anonymous,
        "allow_public_anonymous": allow_public_anonymous,
        "worker": worker,
    }
    settings = config.server(file or session.config, options)
    _serve(session, settings)


@command(app, "console")
def console(
    session: Session,
    user: Annotated[str, typer.Option("--user", help="Who signs in: a user of the server.")] = "admin",
    home: Home = None,
) -> None:
    """Print a link that opens the web console of the server that runs on this machine, and signs in.

    It is good for one sign-in within ten minutes, in a browser on this machine; make another whenever one is needed.
    It holds a code, and no token. The session ends after half a day, when the tab is closed, or by signing out.
    """
    from lanceway import config
    from lanceway.config import connections
    from lanceway.errors import InvalidInputError

    settings = config.server(session.config, {"home": home})
    refuse_without_home(settings)
    running = connections.of_this_machine(settings.home.absolute())
    if running is None:
        raise InvalidInputError(
            f"No server of the home {settings.home} runs on this machine, on loopback. Start it with lanceway up; on "
            "another machine, open its address and sign in with a token."
        )
    where = place(session, uri=server_database(settings))
    from lanceway.access import issuing

    with where.opened() as store:
        code = issuing.create_code(store, user, by=where.user)
    link = f"{running.uri.removesuffix('/lance')}/#/sign-in?code={code}"
    if session.json:
        session.output.record({"link": link, "user": user, "seconds": int(issuing.CODE_LIFETIME.total_seconds())})
        return
    typer.echo(link)
    typer.echo(f"It signs {user} in once, within ten minutes, in a browser on this machine.", err=True)


def _serve(session: Session, settings: ServerSettings) -> None:
    _require_packages()
    from lanceway.access.exposure import check_exposure
    from lanceway.config import connections
    from lanceway.server.home import prepare
    from lanceway.server.run import listening, serve

    warning = check_exposure(settings)
    if warning:
        typer.secho(f"lanceway: {warning}", err=True, fg="red", bold=True)
    # Refuse what can be refused here, in one line, before anything is started; a taken port before there is a home.
    with listening(settings) as listener:
        home = prepare(settings)
        complete = home.complete(settings)
        _check_storages(complete)
        with ExitStack() as running, beside_server(complete):

            def started(address: str) -> None:
                running.enter_context(connections.running(home.path, address, home.token_file))
                _announce(session, home, address)

            serve(complete, listener, started)


def _check_storages(settings: ServerSettings) -> None:
    """Say what each storage does with credentials, before any are vended. A server starts all the same."""
    from lanceway.access.credentials import checks

    sites = [site for site in checks.sites_of(settings) if site.credentials is not None]
    for site, results in zip(sites, checks.run_all(sites), strict=True):
        for result in results:
            text = f"lanceway: storage of {site.name}: {result}"
            typer.secho(text, err=True, fg="red" if result.is_wrong else None)


def _require_packages() -> None:
    from lanceway.errors import InvalidInputError

    try:
        import msgspec  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"The server needs the package {error.name!r}. Install what it needs: pip install 'lanceway[server]'"
        ) from error


def _announce(session: Session, home: ServerHome, address: str) -> None:
    """Print where everything is. The token itself is shown once, and only on a terminal."""
    facts = {
        "console": f"{address}/",
        "address": address,
        "lance": f"{address}/lance",
        "iceberg": f"{address}/iceberg",
        "home": str(home.path),
        "admin_token": str(home.token_file),
    }
    session.output.record(facts)
    if not session.json:
        if home.first_token and sys.stdout.isatty():
            typer.echo(f"\nThe token of the user admin, shown this once:\n  {home.first_token}")
        typer.echo(f"\nA link that signs in to the console: {_console_command(home.path)}")
        typer.echo("\nTry next")
        for line in next_steps(address, home.token_file, is_chosen=_is_chosen(session, home)):
            typer.echo(f"  {line}" if line else "")
    session.output.flush()


def _is_chosen(session: Session, home: ServerHome) -> bool:
    """Return whether a command without options asks this server, as it runs on this machine."""
    from lanceway import config
    from lanceway.config import connections

    others = connections.of_environment() or connections.in_use() or config.namespaces(session.config)
    return not others and config.server().home.expanduser().absolute() == home.path


def _console_command(home: Path) -> str:
    is_usual = home == Path("~/.lanceway").expanduser()
    return shlex.join(["lanceway", "console", *(() if is_usual else ("--home", str(home)))])


def next_steps(address: str, token_file: Path, *, is_chosen: bool) -> list[str]:
    """Return commands for a shell and lines for Python that work as they are printed, the first with a new table."""
    row = '{"id": 1, "name": "apple", "taste": [0.9, 0.2]}'
    return [
        *([] if is_chosen else [f"$ lanceway login {address} --token-file {token_file}"]),
        f"$ echo '{row}' | lanceway tables create lake.fruit - --format ndjson --vector-column taste",
        "$ lanceway tables query lake.fruit --vector 1,0",
        "$ lanceway namespaces tree",
        "",
        ">>> import lanceway",
        f'>>> root = lanceway.connect("{address}", token_file="{token_file}")',
        '>>> root.create("lake.team.vegetables", [{"id": 1, "name": "leek"}])',
        '>>> root["lake.team.vegetables"].scan().to_list()',
        *(_lancedb_steps(f"{address}/lance", token_file) if find_spec("lancedb") else ()),
    ]


def _lancedb_steps(uri: str, token_file: Path) -> list[str]:
    key = f'Path("{token_file}").read_text().strip()'
    return [
        "",
        ">>> import lancedb; from pathlib import Path",
        f'>>> db = lancedb.connect("db://lake", api_key={key}, host_override="{uri}")',
        '>>> db.open_table("fruit").search([1, 0]).limit(5).to_list()',
    ]
