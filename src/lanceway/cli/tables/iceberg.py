"""Between the two worlds: import an Iceberg table as a Lance table, export a Lance table as an Iceberg table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from lanceway.cli.jobs import options as job_options
from lanceway.cli.jobs import progress
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.jobs import JobSummary

_COLUMNS = {"column": "column", "iceberg": "Iceberg", "lance": "Lance"}


def import_table(
    session: Session,
    source: str,
    table: str,
    *,
    from_: str | None,
    warehouse: str | None,
    snapshot: int | None,
    mode: str,
    dry_run: bool,
) -> None:
    """Make a Lance table of an Iceberg table."""
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
            mode=mode,
            dry_run=dry_run,
            watch=watch,
            stop=stop,
        )

    _show(session, progress.run_shown(job_options.label("Import", dry_run), run))


def export_table(
    session: Session,
    table: str,
    target: str,
    *,
    to: str | None,
    warehouse: str | None,
    version: int | None,
    properties: Mapping[str, str],
    dry_run: bool,
) -> None:
    """Make an Iceberg table of a Lance table."""
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
            properties=properties,
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
