"""`lanceway jobs worker`: runs background jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri, place
from lanceway.cli.output.words import counted
from lanceway.cli.server.homes import refuse_without_home, server_database
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.jobs.worker.catalogs import Places
    from lanceway.lake.runs.jobs import JobRow

app = group("Worker")

_LAKE = "lake"


@command(app, "worker")
def worker(
    session: Session,
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", file_okay=False, help="The server's folder, as lanceway up has it."),
    ] = None,
    uri: Uri = None,
    functions: Annotated[
        list[str] | None,
        typer.Option("--functions", metavar="MODULE", help="A package whose functions may be run; may be repeated."),
    ] = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Refresh views by free SQL: all who can make a view let Spark compute here.")
    ] = False,
    master: Annotated[
        str | None, typer.Option("--master", help="Let a Spark session with this master work, such as local[4].")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="FILE", help="Where finished parts are remembered, if not in the cache."),
    ] = None,
    refresh_every: Annotated[
        float, typer.Option("--refresh-every", min=0.1, help="Seconds between two looks at a view kept fresh.")
    ] = 30.0,
    idle: Annotated[
        float | None, typer.Option("--idle", min=0, help="End after so many seconds without any job.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Do what there is to do, and end.")] = False,
) -> None:
    """Run background jobs, one at a time, until Ctrl-C or SIGTERM; any number of workers may run.

    The database is that of a lake by --uri or --in, or the one that the setting jobs of a namespace names, whose jobs
    the worker takes then; --in may be left out where the configuration has one namespace. Else it is the server's, as
    lanceway up would find it, or by --home.
    """
    with _opened(session, home, uri) as places:
        from lanceway.jobs.worker.loop import Worker, stop_on_signals

        loop = Worker(
            places, functions or [], sql, master, state, refresh_every, listen=lambda job: _tell(session, job)
        )
        with stop_on_signals(loop):
            count = loop.run(idle=idle, once=once)
    sentence = f"Carried out {counted(count, 'job')}." if count else "No jobs were queued."
    session.output.done(sentence, {"jobs": count})


@contextmanager
def _opened(session: Session, home: Path | None, uri: str | None) -> Iterator[Places]:
    from lanceway import config

    config.quiet_lance()
    only = session.only_namespace
    if uri is None and home is None and only is not None and (only.type == _LAKE or only.jobs):
        session = session.narrowed(name=only.name)
    if uri is None and session.name is not None and session.root[0] != _LAKE:
        with _namespace(session, session.name) as places:
            yield places
        return
    if uri is not None or session.name is not None or session.type is not None:
        where = place(session, uri=uri)
        from lanceway.jobs.worker.catalogs import Places, audited, confined

        settings = config.server(session.config, {})
        with where.opened() as store, confined(settings, store), audited(settings, store) as trail:
            yield Places(store, where.metalake, where.storage_options, trail=trail)
        return
    settings = config.server(session.config, {"home": home})
    refuse_without_home(settings)
    database = server_database(settings)
    from lanceway.jobs.worker.catalogs import server_places

    with server_places(settings, database) as places:
        yield places


@contextmanager
def _namespace(session: Session, name: str) -> Iterator[Places]:
    """Open a namespace of the configuration that records its jobs in a database."""
    from lanceway import config
    from lanceway.catalogs.connect import attached_queue
    from lanceway.catalogs.contract.jobs import HOME
    from lanceway.config import CatalogSettings
    from lanceway.jobs.worker.catalogs import Places, audited, confined

    with session.catalog as catalog:
        attached = attached_queue(catalog)
        if attached is None:
            raise typer.BadParameter(
                f"[namespaces.{name}] records no jobs. Set jobs in it to {HOME!r}, or to a database.",
                param_hint="'--in'",
            )
        queue, (type_, settings) = attached.opened(), session.root
        mount = {key: value for key, value in settings.items() if key not in ("at", "jobs")}
        mounted = {name: CatalogSettings(type_, mount, settings.get("at"))}
        # Jobs are recorded there by those who can write to the database, not through a server.
        server = config.server(session.config, {})
        with confined(server, queue.store), audited(server, queue.store) as trail:
            yield Places(queue.store, queue.metalake, mounted=mounted, operator=config.login(), trail=trail)


@contextmanager
def beside_server(settings: ServerSettings) -> Iterator[None]:
    """Run the jobs of a server in a process beside it, unless its settings say that others do."""
    if not settings.worker:
        yield
        return
    from lanceway.jobs.worker.supervisor import supervised
    from lanceway.server.http import log

    with supervised(settings, server_database(settings), log.settings()):
        yield


def _tell(session: Session, job: JobRow) -> None:
    """Print a line for a job that has ended. Programs read the database instead."""
    if session.json:
        return
    reason = f": {job.error}" if job.error else ""
    typer.echo(f"{job.kind} of {'.'.join((job.catalog, *job.path))} is {job.state}{reason}", err=True)
