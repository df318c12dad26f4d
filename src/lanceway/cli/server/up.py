"""`lanceway up`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs.worker import beside_server
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.server.home import Home

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
        bool | None, typer.Option("--allow-public-anonymous", help="Serve them on any address. Everybody is an owner.")
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


def _serve(session: Session, settings: ServerSettings) -> None:
    _require_packages()
    from lanceway.access.exposure import check_exposure
    from lanceway.server.home import prepare
    from lanceway.server.run import serve

    warning = check_exposure(settings)
    if warning:
        typer.secho(f"lanceway: {warning}", err=True, fg="red", bold=True)
    # Refuse what can be refused here, in one line, before anything is started.
    home = prepare(settings)
    complete = home.complete(settings)
    _check_storages(complete)
    with beside_server(complete):
        serve(complete, lambda address: _announce(session, home, address))


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


def _announce(session: Session, home: Home, address: str) -> None:
    """Print where everything is. The token itself is shown once, and only on a terminal."""
    facts = {
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
        typer.echo("\nTry next")
        for line in next_steps(f"{address}/lance", home.token_file):
            typer.echo(f"  {line}" if line else "")
    session.output.flush()


def next_steps(uri: str, token_file: Path) -> list[str]:
    """Return commands for a shell and lines for Python that work as they are printed."""
    program = f"lanceway --type rest --set uri={uri} --set token_file={token_file}"
    return [
        f"$ {program} namespaces list",
        f"$ {program} tables list --all",
        "",
        ">>> import lanceway",
        f'>>> ns = lanceway.connect("rest", uri="{uri}", token_file="{token_file}")',
        '>>> ns.list_namespaces({"id": []}).namespaces',
    ]
