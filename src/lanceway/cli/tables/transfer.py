"""`lanceway tables import | export`: whole tables from and to Parquet files, or tables of Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import on_table
from lanceway.cli.jobs.options import DryRun
from lanceway.cli.session import Properties, Session, Table, Version, completed, pairs
from lanceway.cli.tables import iceberg

app = group("Transfer")

_THREADS = 4
_PARQUET, _ICEBERG = "Parquet files", "Iceberg tables"

_Warehouse = Annotated[
    str | None,
    typer.Option(
        "--warehouse", help="The warehouse of that Iceberg catalog, if it has several.", rich_help_panel=_ICEBERG
    ),
]
_Storage = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="KEY=VALUE",
        help="An option of the files' storage, but no secret.",
        rich_help_panel=_PARQUET,
    ),
]
_Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help=f"How many parts are worked on at a time, here or by Spark; {_THREADS} if left out.",
        rich_help_panel=_PARQUET,
    ),
]
_Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="Let a Spark session with this master work, such as local[4].",
        rich_help_panel=_PARQUET,
    ),
]


@command(app, "import")
def import_(
    session: Session,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A Parquet file, a folder or URI of them, or an Iceberg table such as sales.events."
        ),
    ],
    table: Table,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            help="If the table exists: append (of Parquet files, the default), overwrite, or create, which refuses "
            "(the default of Iceberg tables).",
        ),
    ] = None,
    dry_run: DryRun = False,
    storage: _Storage = None,
    threads: _Threads = None,
    master: _Master = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Where finished parts are remembered, if not in the cache.",
            rich_help_panel=_PARQUET,
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME|URI",
            help="The Iceberg REST catalog that has it: of lanceway.toml, or its address; else the lake itself.",
            rich_help_panel=_ICEBERG,
        ),
    ] = None,
    warehouse: _Warehouse = None,
    snapshot: Annotated[
        int | None,
        typer.Option(
            "--snapshot",
            metavar="ID",
            help="The snapshot to read, instead of the current one.",
            rich_help_panel=_ICEBERG,
        ),
    ] = None,
) -> None:
    """Import Parquet files, or a table of an Iceberg catalog, into a Lance table; run it again to resume.

    What contains a slash, begins with a dot or ends in .parquet is a file or a folder, such as ./out; anything else is
    an Iceberg table, which stays as it is and is compared by checksum.
    """
    of_parquet = {"--storage": storage, "--threads": threads, "--master": master, "--state": state}
    of_iceberg = {"--from": from_, "--warehouse": warehouse, "--snapshot": snapshot}
    if from_ is None and _is_file(source):
        _refuse(of_iceberg, "an Iceberg table", source)
        on_table.import_(session, table, source, mode or "append", storage, dry_run, threads or _THREADS, master, state)
    else:
        _refuse(of_parquet, "Parquet files", source)
        iceberg.import_table(
            session,
            source,
            table,
            from_=from_,
            warehouse=warehouse,
            snapshot=snapshot,
            mode=(mode or "create").lower(),
            dry_run=dry_run,
        )


@command(app, "export")
def export(
    session: Session,
    table: Table,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="An empty folder or URI for Parquet files, or a new Iceberg table: sales.events."
        ),
    ],
    version: Version = None,
    dry_run: DryRun = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="A column to export, instead of all; may be repeated.",
            rich_help_panel=_PARQUET,
            autocompletion=completed("columns"),
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", help="Only rows that this holds for.", rich_help_panel=_PARQUET),
    ] = None,
    storage: _Storage = None,
    threads: _Threads = None,
    master: _Master = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME|URI",
            help="The Iceberg REST catalog that gets it: of lanceway.toml, or its address; else the lake itself.",
            rich_help_panel=_ICEBERG,
        ),
    ] = None,
    warehouse: _Warehouse = None,
    properties: Properties = None,
) -> None:
    """Export a table to Parquet files, or as a table of an Iceberg catalog; run it again to resume.

    What contains a slash or begins with a dot is a folder, such as ./out; anything else is an Iceberg table, which is
    compared by checksum.
    """
    of_parquet = {
        "--column": columns,
        "--where": where,
        "--storage": storage,
        "--threads": threads,
        "--master": master,
    }
    of_iceberg = {"--to": to, "--warehouse": warehouse, "--property": properties}
    if to is None and _is_file(target):
        _refuse(of_iceberg, "an Iceberg table", target)
        on_table.export(session, table, target, columns, where, version, storage, dry_run, threads or _THREADS, master)
    else:
        _refuse(of_parquet, "Parquet files", target)
        iceberg.export_table(
            session,
            table,
            target,
            to=to,
            warehouse=warehouse,
            version=version,
            properties=pairs(properties, "--property"),
            dry_run=dry_run,
        )


def _is_file(text: str) -> bool:
    return "/" in text or text.startswith(".") or text.endswith(".parquet")


def _refuse(options: Mapping[str, object], kind: str, place: str) -> None:
    """Refuse options of the other kind: `place` is not `kind`, for which they are."""
    given = next((option for option, value in options.items() if value), None)
    if given is not None:
        hint = f" Write ./{place} for a folder." if kind == "Parquet files" else ""
        raise typer.BadParameter(f"it is for {kind}, which {place} is not.{hint}", param_hint=f"'{given}'")
