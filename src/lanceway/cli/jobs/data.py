"""`lanceway jobs …` on what a table holds: fill a column, delete doubles, export to Parquet and import from it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import options, progress_one
from lanceway.cli.jobs.between import DryRun
from lanceway.cli.jobs.options import Master, State, Threads
from lanceway.cli.jobs.progress_many import labelled
from lanceway.cli.options import Table, pairs, words
from lanceway.cli.session import Session

app = group("Jobs on what a table holds.")

_Storage = Annotated[
    list[str] | None,
    typer.Option("--storage", metavar="KEY=VALUE", help="An option of the files' storage, but no secret."),
]


@command(app, "backfill")
def backfill(
    session: Session,
    table: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column to add.")],
    function: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION", help="package.module:function; it gets a batch and answers a value for each row."
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="A column that the function needs, instead of all; may be repeated."),
    ] = None,
    type_: Annotated[
        str | None,
        typer.Option("--type", help="The column's type, as int64, float32[384] or JSON; told by the function else."),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Fill a column that is there, in the rows where it is null.")
    ] = False,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="With --update: in the rows that this holds for.")
    ] = None,
    branch: Annotated[str | None, typer.Option("--branch", help="With --update: the branch, instead of main.")] = None,
    batch_rows: Annotated[int, typer.Option("--batch-rows", min=1, help="How many rows a batch has at most.")] = 1024,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
    state: State = None,
) -> None:
    """Add a column that a Python function computes; run it again to go on after a kill."""
    target, spark = options.target(session, table), options.spark_session(master, dry_run)
    from lanceway import jobs

    chosen = None if type_ is None else options.data_type(type_)
    progress_one.carry_out(
        session,
        labelled("Backfill", dry_run),
        lambda watch, stop: jobs.backfill(
            target,
            column,
            function,
            inputs=words(inputs) or None,
            data_type=chosen,
            batch_rows=batch_rows,
            update=update,
            where=where,
            branch=branch,
            folder=os.getcwd(),
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            state=state,
            watch=watch,
            stop=stop,
        ),
    )


@command(app, "dedupe")
def dedupe(
    session: Session,
    table: Table,
    on: Annotated[list[str], typer.Option("--on", help="A column by which rows are the same; may be repeated.")],
    order: Annotated[
        str | None, typer.Option("--order", metavar="COLUMN", help="The column that says which of them is the last.")
    ] = None,
    keep: Annotated[str, typer.Option("--keep", help="Which one stays: last or first.")] = "last",
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Delete all rows but one of those with the same keys."""
    target, spark = options.target(session, table), options.spark_session(master, dry_run)
    from lanceway import jobs

    progress_one.carry_out(
        session,
        labelled("Dedupe", dry_run),
        lambda watch, stop: jobs.dedupe(
            target,
            words(on),
            order=order,
            keep=keep.lower(),
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            watch=watch,
            stop=stop,
        ),
    )


@command(app, "export")
def export(
    session: Session,
    table: Table,
    to: Annotated[str, typer.Argument(metavar="FOLDER", help="Where Parquet files go: an empty folder or URI.")],
    columns: Annotated[
        list[str] | None, typer.Option("--column", help="A column to export, instead of all; may be repeated.")
    ] = None,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only rows that this holds for.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="The version, instead of the latest.")] = None,
    storage: _Storage = None,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Write a table's rows to Parquet files, counted; run it again to go on after a kill."""
    target, spark = options.target(session, table), options.spark_session(master, dry_run)
    from lanceway import jobs

    progress_one.carry_out(
        session,
        labelled("Export", dry_run),
        lambda watch, stop: jobs.export(
            target,
            to,
            columns=words(columns) or None,
            where=where,
            version=version,
            storage_options=pairs(storage, "--storage") or None,
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            watch=watch,
            stop=stop,
        ),
    )


@command(app, "import")
def import_(
    session: Session,
    table: Table,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A Parquet file, or a folder or URI of them.")],
    mode: Annotated[
        str, typer.Option("--mode", help="append to the table or make it, create it, or overwrite it.")
    ] = "append",
    storage: _Storage = None,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
    state: State = None,
) -> None:
    """Bring Parquet files into a table in one version, counted; run it again to go on after a kill."""
    target, spark = options.target(session, table), options.spark_session(master, dry_run)
    from lanceway import jobs

    progress_one.carry_out(
        session,
        labelled("Import", dry_run),
        lambda watch, stop: jobs.import_(
            target,
            source,
            mode=mode.lower(),
            storage_options=pairs(storage, "--storage") or None,
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            state=state,
            watch=watch,
            stop=stop,
        ),
    )
