"""`lanceway tables …` that is long work on one table: compact, clean, index, backfill, dedupe, export and import it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import options as job_options
from lanceway.cli.jobs import progress
from lanceway.cli.jobs.options import DryRun, Master, State, Tables, Threads
from lanceway.cli.session import IndexedColumn, IndexName, IndexType, Session, Table, completed, pairs, words

if TYPE_CHECKING:
    from lanceway.jobs import JobSummary
    from lanceway.writes.table_ref import TableRef

app = group("Long work")
indices_app = group("Long work on indices")

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
        float,
        typer.Option("--deleted", min=0, max=1, help="Rewrite fragments with at least this share of deleted rows."),
    ] = 0.1,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Rewrite small fragments as large ones, and leave deleted rows out. Indices keep working."""
    _run_each(
        session,
        "compact",
        table,
        target_rows=target_rows,
        deleted=deleted,
        dry_run=dry_run,
        threads=threads,
        master=master,
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
        typer.Option("--uncommitted", help="Files of writes that never ended, too: only while no other one runs."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Remove old versions and the files that only they need. Tagged versions stay."""
    age = _age(older_than)
    _run_each(session, "clean", table, older_than=age, keep=keep, uncommitted=uncommitted, dry_run=dry_run)


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
    """Index a large column in segments that are built in parallel; run it again to resume."""
    _run(
        session,
        "index",
        table,
        column,
        type_,
        name=name,
        options={key: _value(value) for key, value in pairs(options, "--option").items()},
        replace=replace,
        segments=segments,
        dry_run=dry_run,
        threads=threads,
        master=master,
        state=state,
    )


@command(indices_app, "refresh")
def refresh_index(
    session: Session,
    table: Tables,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INDEX]...", help="Which indices; all if left out.", show_default=False),
    ] = None,
    retrain: Annotated[bool, typer.Option("--retrain", help="Rebuild them over all rows.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Add the rows that came after an index to it."""
    _run_each(session, "refresh_index", table, names or (), retrain=retrain, dry_run=dry_run)


def _run(session: Session, job: str, table: str, *arguments: Any, dry_run: bool, **options: Any) -> None:
    """Run a job of `lanceway.jobs`, by its name there, on one table, and show it."""
    target = job_options.target(session, table)
    progress.run_on_table(session, _label(job, dry_run), target, _runner(job, arguments, dry_run, options))


def _run_each(session: Session, job: str, table: str, *arguments: Any, dry_run: bool, **options: Any) -> None:
    """Run a job on one table, or on one after the other where a pattern is given."""
    if not job_options.is_pattern(table):
        _run(session, job, table, *arguments, dry_run=dry_run, **options)
        return
    tables = job_options.matching(session, table)
    progress.run_on_each(session, _label(job, dry_run), tables, _runner(job, arguments, dry_run, options))


def _runner(job: str, arguments: Sequence[Any], dry_run: bool, options: dict[str, Any]) -> progress.RunOnTable:
    if "master" in options:
        options["spark"] = job_options.spark_session(options.pop("master"), dry_run)
    from lanceway import jobs

    def run(target: TableRef, watch: progress.Watch, stop: progress.Stop) -> JobSummary:
        # To clean is one call of pylance, without parts to watch or to stop between.
        callbacks = {} if job == "clean" else {"watch": watch, "stop": stop}
        summary: JobSummary = getattr(jobs, job)(target, *arguments, dry_run=dry_run, **options, **callbacks)
        return summary

    return run


def _label(job: str, dry_run: bool) -> str:
    return job_options.label(job.partition("_")[0].capitalize(), dry_run)


def _age(text: str | None) -> timedelta | None:
    if text is None:
        return None
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise typer.BadParameter(
            f"{text!r} is not an age; write a number and s, m, h, d or w, such as 30d.", param_hint="'--older-than'"
        )
    return timedelta(**{_UNITS[match[2]]: float(match[1])})


def _value(text: str) -> Any:
    """Parse numbers and truth values; leave all else as text."""
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
        typer.Option(
            "--input",
            help="A column that the function needs, instead of all; may be repeated.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="The column's type, as int64, float32[384] or JSON; the function's if left out.",
        ),
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
    """Add a column that a Python function computes here; run it again to resume."""
    _run(
        session,
        "backfill",
        table,
        column,
        function,
        inputs=words(inputs) or None,
        data_type=None if type_ is None else job_options.data_type(type_),
        batch_rows=batch_rows,
        update=update,
        where=where,
        branch=branch,
        folder=os.getcwd(),
        dry_run=dry_run,
        threads=threads,
        master=master,
        state=state,
    )


@command(app, "dedupe")
def dedupe(
    session: Session,
    table: Table,
    on: Annotated[
        list[str],
        typer.Option(
            "--on", help="A column that rows are compared by; may be repeated.", autocompletion=completed("columns")
        ),
    ],
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="COLUMN",
            help="The column that says which of them is the last.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    keep: Annotated[str, typer.Option("--keep", help="Which one stays: last or first.")] = "last",
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Delete all rows but one of those with the same keys."""
    _run(
        session,
        "dedupe",
        table,
        words(on),
        order=order,
        keep=keep.lower(),
        dry_run=dry_run,
        threads=threads,
        master=master,
    )


def export(
    session: Session,
    table: Table,
    to: Annotated[str, typer.Argument(metavar="FOLDER", help="Where Parquet files go: an empty folder or URI.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="A column to export, instead of all; may be repeated.", autocompletion=completed("columns")
        ),
    ] = None,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only rows that this holds for.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="The version, instead of the latest.")] = None,
    storage: _Storage = None,
    dry_run: DryRun = False,
    threads: Threads = 4,
    master: Master = None,
) -> None:
    """Write a table's rows to Parquet files, counted; run it again to resume."""
    _run(
        session,
        "export",
        table,
        to,
        columns=words(columns) or None,
        where=where,
        version=version,
        storage_options=pairs(storage, "--storage") or None,
        dry_run=dry_run,
        threads=threads,
        master=master,
    )


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
    """Bring Parquet files into a table in one version, counted; run it again to resume."""
    _run(
        session,
        "import_",
        table,
        source,
        mode=mode.lower(),
        storage_options=pairs(storage, "--storage") or None,
        dry_run=dry_run,
        threads=threads,
        master=master,
        state=state,
    )
