"""`lanceway jobs worker`: carries background jobs out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri, place
from lanceway.cli.server.tokens import refuse_without_home, server_database
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.jobs.worker.catalogs import Places
    from lanceway.jobs.worker.loop import Worker
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
        bool, typer.Option("--sql", help="Refresh views by free SQL, which can read all that this process can.")
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
    """Carry background jobs out, one at a time, until Ctrl-C or SIGTERM; any number of workers may run.

    The database is the server's, as lanceway up would find it, or that of a lake by --uri or --in. Of a namespace
    with the setting jobs, chosen by --in, it is the one that jobs names, and the worker takes the jobs of that
    namespace.
    """
    with _opened(session, home, uri) as places:
        from lanceway.jobs.worker.loop import Worker

        made = Worker(
            places, functions or [], sql, master, state, refresh_every, listen=lambda job: _tell(session, job)
        )
        with stopping(made):
            count = made.run(idle=idle, once=once)
    session.output.done(f"Carried out {count:,} {'job' if count == 1 else 'jobs'}.", {"jobs": count})


@contextmanager
def _opened(session: Session, home: Path | None, uri: str | None) -> Iterator[Places]:
    from lanceway import config

    config.quiet_lance()
    if uri is None and session.name is not None and session.root[0] != _LAKE:
        with _namespace(session, session.name) as places:
            yield places
        return
    if uri is not None or session.name is not None or session.type is not None:
        where = place(session, uri=uri)
        from lanceway.jobs.worker.catalogs import Places

        with where.opened() as store:
            yield Places(store, where.metalake, where.storage_options)
        return
    settings = config.server(session.config, {"home": home})
    refuse_without_home(settings)
    with serving(settings) as places:
        yield places


@contextmanager
def _namespace(session: Session, name: str) -> Iterator[Places]:
    """A namespace of the configuration that records its jobs in a database."""
    from lanceway.catalogs.contract import lazy_job_queue
    from lanceway.config import CatalogSettings
    from lanceway.jobs.worker.catalogs import Places

    with session.catalog as catalog:
        lent = lazy_job_queue.lent(catalog)
        if lent is None:
            raise typer.BadParameter(
                f"[namespaces.{name}] records no jobs here. Set jobs to {lazy_job_queue.HOME!r} or to a database.",
                param_hint="'--in'",
            )
        desk, (type_, settings) = lent.opened(), session.root
        own = {key: value for key, value in settings.items() if key not in ("at", "jobs")}
        mounted = {name: CatalogSettings(type_, own, settings.get("at"))}
        yield Places(desk.store, desk.metalake, mounted=mounted)


@contextmanager
def serving(settings: ServerSettings) -> Iterator[Places]:
    """The catalogs of a server with these settings."""
    from lanceway.catalogs.federated.tree import canonical
    from lanceway.jobs.worker.catalogs import Places
    from lanceway.lake.store.database import open_store

    store = open_store(server_database(settings), upgrade=False)
    try:
        mounted = {canonical(name): each for name, each in settings.catalogs.items()}
        yield Places(store, storage=settings.storage, mounted=mounted)
    finally:
        store.close()


@contextmanager
def stopping(made: Worker) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop a worker: the job that runs is given back."""
    before = {number: signal.signal(number, lambda *_: made.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(session: Session, job: JobRow) -> None:
    """A line for each job, as it ends; programs read the database."""
    if session.json:
        return
    reason = f": {job.error}" if job.error else ""
    typer.echo(f"{job.kind} of {'.'.join((job.catalog, *job.path))} is {job.state}{reason}", err=True)
