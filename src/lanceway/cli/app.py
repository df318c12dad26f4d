"""The program: its global options and its families of verbs."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from lanceway import __version__
from lanceway.cli import connections, namespaces, pipeline, sql, views
from lanceway.cli.command import group, moved
from lanceway.cli.globals import hold, narrowed, parameters, with_signature
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
from lanceway.cli.session import Session
from lanceway.cli.tables import columns, indices, query, rows, tables, transfer, versions

app = group(
    "One governed namespace for every Lance table, wherever its metadata is.\n\n"
    "Choose a root namespace with --path FOLDER, --url URL or --in NAME, or log in to a server once with lanceway "
    "login URL. A server that lanceway up runs on this machine is found by itself.\n\n"
    "Example: lanceway up\n"
    "lanceway --path ./warehouse tables create fruit fruit.parquet\n"
    'lanceway --path ./warehouse tables query fruit --where "price < 3" --limit 5\n'
    'lanceway --path ./warehouse sql "SELECT count(*) FROM fruit"',
    {
        "Tables": ("tables", "namespaces", "views", "sql"),
        "Work in the background": ("jobs", "pipeline"),
        "Catalogs": ("catalogs", "lake"),
        "Connections": ("login", "logout", "use", "connections"),
        "Server": ("up", "console", "events", "check", "doctor"),
        "Users and rights": ("users", "groups", "roles", "grants", "owners", "access", "tokens", "audit"),
    },
)


def _add(parent: typer.Typer, family: typer.Typer, name: str) -> None:
    parent.add_typer(family, name=name, callback=hold)


# Families without a name of their own are verbs of the group itself.
for _family in (rows.app, query.app, on_table.app, transfer.app, versions.versioning_app):
    tables.app.add_typer(_family)
_add(tables.app, versions.app, "versions")
_add(tables.app, versions.tags, "tags")
_add(tables.app, versions.branches, "branches")
_add(tables.app, indices.app, "indices")
_add(tables.app, columns.app, "columns")
_add(tables.app, columns.definitions, "definitions")
_add(tables.app, columns.metadata, "metadata")
_add(tables.app, columns.transactions, "transactions")
indices.app.add_typer(on_table.indices_app)
catalogs.app.add_typer(between.app)
background.app.add_typer(worker.app)
lake.app.add_typer(lake.nested)
_add(lake.app, lake.separators_app, "separator")
lake.app.add_typer(lake.check_app)
lake.app.add_typer(events.purge_app)
_add(app, namespaces.app, "namespaces")
_add(app, tables.app, "tables")
_add(app, views.app, "views")
_add(app, lake.app, "lake")
_add(app, catalogs.app, "catalogs")
_add(app, background.app, "jobs")
_add(app, pipeline.app, "pipeline")
_add(app, tokens.app, "tokens")
_add(app, users.app, "users")
_add(app, groups.app, "groups")
_add(app, roles.app, "roles")
_add(app, grants.app, "grants")
_add(app, owners.app, "owners")
_add(app, access.app, "access")
_add(app, audit.app, "audit")
app.add_typer(connections.app)
app.add_typer(events.app)
app.add_typer(sql.app)
app.add_typer(up.app)
app.add_typer(doctor.check_app)
app.add_typer(doctor.app)

for _old, _new, _function in (
    ("jobs crawl", "catalogs crawl", between.crawl),
    ("jobs sync", "catalogs sync", between.sync),
    ("jobs migrate", "catalogs migrate", between.migrate),
    ("jobs compact", "tables compact", on_table.compact),
    ("jobs clean", "tables clean", on_table.clean),
    ("jobs index", "tables index", on_table.index),
    ("jobs refresh-index", "tables indices refresh", on_table.refresh_index),
    ("jobs backfill", "tables backfill", on_table.backfill),
    ("jobs dedupe", "tables dedupe", on_table.dedupe),
    ("jobs export", "tables export", on_table.export),
    ("jobs import", "tables import SOURCE TABLE", on_table.import_),
):
    moved(background.app, _old, _new, _function)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"lanceway {__version__}")
        raise typer.Exit


def _program(context: typer.Context, version: bool, **values: Any) -> None:
    """Read the options that hold for every verb."""
    context.obj = narrowed(Session(), values)


_Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version of Lanceway.")
]
_version = inspect.Parameter("version", inspect.Parameter.KEYWORD_ONLY, annotation=_Version, default=False)
app.callback()(with_signature(_program, [*parameters(shown=True), _version]))
