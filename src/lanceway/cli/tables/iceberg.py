"""Verbs between the two worlds: import an Iceberg table as a Lance table, export a Lance table as an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import options as job_options
from lanceway.cli.jobs import progress
from lanceway.cli.jobs.options import DryRun
from lanceway.cli.session import Properties, Session, Table, Version, pairs

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.jobs import JobSummary

app = group("Iceberg")

_Warehouse = Annotated[
    str | None, typer.Option("--warehouse", help="The warehouse of that Iceberg catalog, if it has several.")
]
_COLUMNS = {"column": "column", "iceberg": "Iceberg", "lance": "Lance"}


@command(app, "import")
def import_(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="An Iceberg table, such as sales.events.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The Lance table that it becomes.")],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME|URI",
            help="The Iceberg REST catalog that has it: of lanceway.toml, or its address; else the lake itself.",
        ),
    ] = None,
    warehouse: _Warehouse = None,
    snapshot: Annotated[
        int | None, typer.Option("--snapshot", metavar="ID", help="The snapshot to read, instead of the current one.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="If the table exists: create refuses, overwrite replaces its rows.")
    ] = "create",
    dry_run: DryRun = False,
) -> None:
    """Make a Lance table of an Iceberg table, compared by checksum; the Iceberg table stays."""
    catalog, iceberg = session.catalog, _iceberg(session, from_, warehouse)
    origin, target = _iceberg_id(session, source, iceberg), session.id(table)
    from lanceway import jobs

    def run(watch: progress.Watch, stop: progress.Stop) -> JobSummary:
        return jobs.import_iceberg(
            catalog,
            origin,
            target,
            iceberg=iceberg,
            snapshot=snapshot,
            mode=mode.lower(),
            dry_run=dry_run,
            watch=watch,
            stop=stop,
        )

    _show(session, progress.run_shown(job_options.label("Import", dry_run), run))


@command(app, "export")
def export(
    session: Session,
    table: Table,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new Iceberg table, such as sales.events.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME|URI",
            help="The Iceberg REST catalog that gets it: of lanceway.toml, or its address; else the lake itself.",
        ),
    ] = None,
    warehouse: _Warehouse = None,
    version: Version = None,
    properties: Properties = None,
    dry_run: DryRun = False,
) -> None:
    """Make an Iceberg table of a Lance table, compared by checksum; the Lance table stays.

    `jobs export` writes Parquet files without a table.
    """
    catalog, iceberg = session.catalog, _iceberg(session, to, warehouse)
    origin, name = session.id(table), _iceberg_id(session, target, iceberg)
    from lanceway import jobs

    def run(watch: progress.Watch, stop: progress.Stop) -> JobSummary:
        return jobs.export_iceberg(
            catalog,
            origin,
            name,
            iceberg=iceberg,
            version=version,
            properties=pairs(properties, "--property"),
            dry_run=dry_run,
            watch=watch,
            stop=stop,
        )

    _show(session, progress.run_shown(job_options.label("Export", dry_run), run))


def _show(session: Session, summary: JobSummary) -> None:
    if summary.dry_run and not session.json:
        session.output.records(_COLUMNS, summary.facts["columns"])
    session.output.done(progress.sentence(summary), summary.as_record())


def _iceberg(session: Session, named: str | None, warehouse: str | None) -> LanceNamespace | None:
    """Open the Iceberg catalog that an option names. Secrets stay in the file and the environment."""
    if named is None:
        if warehouse is not None:
            raise typer.BadParameter("it is that of a catalog which --from or --to names.", param_hint="'--warehouse'")
        return None
    from lanceway.catalogs.connect import connect

    settings = {} if warehouse is None else {"warehouse": warehouse}
    if named.lower().startswith(("http://", "https://")):
        return connect("iceberg", settings={"endpoint": named, **settings})
    return connect(None, name=named, config=session.config, settings=settings)


def _iceberg_id(session: Session, text: str, iceberg: LanceNamespace | None) -> list[str]:
    """Parse the identifier of an Iceberg table: of the chosen catalog itself, or of another one's warehouse."""
    from lanceway.identifiers import Identifier

    return session.id(text) if iceberg is None else list(Identifier.parse(text, session.delimiter))
