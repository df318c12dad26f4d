"""`lanceway jobs …` on how a table is stored: compact it, clean old versions away, index it."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import options, progress_one
from lanceway.cli.jobs import options as job_options
from lanceway.cli.jobs.between import DryRun
from lanceway.cli.jobs.options import Master, State, Tables, Threads
from lanceway.cli.jobs.progress_many import labelled
from lanceway.cli.options import IndexedColumn, IndexName, IndexType, Table, pairs, words
from lanceway.cli.session import Session

app = group("Jobs on how a table is stored.")

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@command(app, "compact")
def compact(
    session: Session,
    table: Tables,
    target_rows: Annotated[
        int, typer.Option("--target-rows", min=1, help="Fragments with fewer rows are joined to ones with so many.")
    ] = 1024 * 1024,
    deleted: Annotated[
        float, typer.Option("--deleted", min=0, max=1, help="Rewrite fragments of which this share is deleted.")
    ] = 0.1,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Rewrite small fragments as large ones, and leave deleted rows out. Indices go on working."""
    spark = job_options.spark_session(master, dry_run)
    from lanceway import jobs

    _each(
        session,
        labelled("Compact", dry_run),
        table,
        lambda target, watch, stop: jobs.compact(
            target,
            target_rows=target_rows,
            deleted=deleted,
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            watch=watch,
            stop=stop,
        ),
    )


@command(app, "clean")
def clean(
    session: Session,
    table: Tables,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help="Only versions of this age, such as 12h or 30d (default 14d)."
        ),
    ] = None,
    keep: Annotated[int | None, typer.Option("--keep", min=1, help="Never the last so many versions.")] = None,
    uncommitted: Annotated[
        bool,
        typer.Option("--uncommitted", help="Files of writes that never ended, too: only where nobody is writing."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Remove old versions and the files that only they need. Tagged versions stay."""
    age = _age(older_than)
    from lanceway import jobs

    _each(
        session,
        labelled("Clean", dry_run),
        table,
        lambda target, watch, stop: jobs.clean(
            target, older_than=age, keep=keep, uncommitted=uncommitted, dry_run=dry_run
        ),
    )


@command(app, "index")
def index(
    session: Session,
    table: Table,
    column: IndexedColumn,
    type_: IndexType,
    name: IndexName = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="KEY=VALUE", help="As distance_type=cosine, num_partitions=256; may be repeated."
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of an index of that name.")] = False,
    segments: Annotated[
        int | None, typer.Option("--segments", min=1, help="From how many segments; as many as --threads if left out.")
    ] = None,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
    state: State = None,
) -> None:
    """Index a column from segments that are built side by side; run it again to go on after a kill."""
    target, spark = job_options.target(session, table), job_options.spark_session(master, dry_run)
    given = {key: _value(value) for key, value in pairs(options, "--option").items()}
    from lanceway import jobs

    progress_one.carry_out(
        session,
        labelled("Index", dry_run),
        lambda watch, stop: jobs.index(
            target,
            column,
            type_,
            name=name,
            options=given,
            replace=replace,
            segments=segments,
            dry_run=dry_run,
            threads=threads,
            spark=spark,
            state=state,
            watch=watch,
            stop=stop,
        ),
    )


@command(app, "refresh-index")
def refresh_index(
    session: Session,
    table: Tables,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INDEX]...", help="Which indices; all if left out.", show_default=False),
    ] = None,
    retrain: Annotated[bool, typer.Option("--retrain", help="Make them anew over all rows.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Add the rows that came after an index to it."""
    from lanceway import jobs

    _each(
        session,
        labelled("Refresh", dry_run),
        table,
        lambda target, watch, stop: jobs.refresh_index(
            target, names or (), retrain=retrain, dry_run=dry_run, watch=watch, stop=stop
        ),
    )


def _each(session: Session, label: str, table: str, run: progress_one.RunOn) -> None:
    """One table, or one after the other where a pattern is given."""
    if job_options.is_pattern(table):
        progress_one.carry_out_each(session, label, job_options.matching(session, table), run)
    else:
        target = job_options.target(session, table)
        progress_one.carry_out(session, label, lambda watch, stop: run(target, watch, stop))


def _age(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no age; write a number and s, m, h, d or w, such as 30d.", param_hint="'--older-than'"
        )
    return timedelta(**{_UNITS[found[2]]: float(found[1])})


def _value(text: str) -> Any:
    """Numbers and truths as such, and all else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


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
