"""The program: its global options and its families of verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanceway import __version__
from lanceway.cli import namespaces, pipeline, views
from lanceway.cli.command import group
from lanceway.cli.jobs import background, between, on_table, worker
from lanceway.cli.lake import lake
from lanceway.cli.server import (
    access,
    audit,
    catalogs,
    doctor,
    events,
    grants,
    groups,
    owners,
    roles,
    tokens,
    up,
    users,
)
from lanceway.cli.session import Session, pairs
from lanceway.cli.tables import columns, iceberg, indices, query, rows, tables, versions
from lanceway.identifiers import DEFAULT_DELIMITER

app = group(
    "One governed namespace for every Lance table, wherever its metadata lives.\n\n"
    "Choose a root namespace with --in NAME or --path FOLDER, then a verb."
)

# Families without a name of their own are verbs of the group itself.
for _family in (rows.app, query.app, versions.versioning_app, iceberg.app):
    tables.app.add_typer(_family)
tables.app.add_typer(versions.app, name="versions")
tables.app.add_typer(versions.tags, name="tags")
tables.app.add_typer(versions.branches, name="branches")
tables.app.add_typer(indices.app, name="indices")
tables.app.add_typer(columns.app, name="columns")
tables.app.add_typer(columns.definitions, name="definitions")
tables.app.add_typer(columns.metadata, name="metadata")
tables.app.add_typer(columns.transactions, name="transactions")
for _family in (on_table.app, background.app, worker.app):
    between.app.add_typer(_family)
lake.app.add_typer(lake.nested)
lake.app.add_typer(lake.separators_app, name="separator")
lake.app.add_typer(lake.check_app)
lake.app.add_typer(events.purge_app)
app.add_typer(namespaces.app, name="namespaces")
app.add_typer(tables.app, name="tables")
app.add_typer(views.app, name="views")
app.add_typer(lake.app, name="lake")
app.add_typer(catalogs.app, name="catalogs")
app.add_typer(between.app, name="jobs")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(tokens.app, name="tokens")
app.add_typer(users.app, name="users")
app.add_typer(groups.app, name="groups")
app.add_typer(roles.app, name="roles")
app.add_typer(grants.app, name="grants")
app.add_typer(owners.app, name="owners")
app.add_typer(access.app, name="access")
app.add_typer(audit.app, name="audit")
app.add_typer(events.app)
app.add_typer(up.app)
app.add_typer(doctor.check_app)
app.add_typer(doctor.app)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"lanceway {__version__}")
        raise typer.Exit


@app.callback()
def program(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Option("--in", metavar="NAME", help="A root namespace of the configuration file.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            dir_okay=False,
            exists=True,
            help="The configuration file, instead of lanceway.toml.",
        ),
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="The catalog's type, such as dir, to work without a file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the catalog; may be repeated."),
    ] = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="FOLDER", help="Short for --type dir --set path=FOLDER.")
    ] = None,
    delimiter: Annotated[
        str, typer.Option("--delimiter", help="What separates the names of an identifier.")
    ] = DEFAULT_DELIMITER,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version of Lanceway."),
    ] = False,
) -> None:
    """Read the options that hold for every verb."""
    chosen = [option for option, value in (("--in", name), ("--type", type_), ("--path", path)) if value is not None]
    if len(chosen) > 1:
        raise typer.BadParameter(f"give only one of {' and '.join(chosen)}.", param_hint=f"'{chosen[1]}'")
    catalog_settings = pairs(settings, "--set") | ({"path": path} if path is not None else {})
    context.obj = Session(name, config, "dir" if path is not None else type_, catalog_settings, delimiter, as_json)
