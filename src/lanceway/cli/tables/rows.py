"""Verbs that write rows: create, insert, merge, update, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output import words as spoken
from lanceway.cli.output.progress import meter, stoppable
from lanceway.cli.session import Branch, Files, Format, Properties, Session, Table, Where, completed, pairs, words

if TYPE_CHECKING:
    from lanceway.cli.files import FileRows

app = group("Rows")


@command(app, "create")
def create(
    session: Session,
    table: Table,
    files: Files,
    mode: Annotated[
        str,
        typer.Option("--mode", help="If it exists: create refuses, exist_ok keeps it, overwrite replaces its rows."),
    ] = "create",
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            "--vector-column",
            metavar="COLUMN",
            help="Store this column of lists as vectors to search; may be repeated.",
        ),
    ] = None,
    properties: Properties = None,
    format_: Format = None,
) -> None:
    """Create a table from files.

    Example: lanceway tables create team.fruit fruit.parquet
    lanceway tables create team.fruit "part-*.csv" --vector-column taste
    """
    from lanceway.cli.files import read, with_vectors

    rows = with_vectors(read(files, format_), words(vectors))
    metadata = pairs(properties, "--property") or None
    kept = mode.lower() == "exist_ok" and _has_rows(session, table)
    response, count = _send(session, "create_table", table, rows, mode=mode, properties=metadata)
    facts = {**response, "num_inserted_rows": 0 if kept else count}
    if kept:
        session.output.done(f"Kept {table} as it is (version {response.get('version')}).", facts)
        return
    verb = "Replaced" if mode.lower() == "overwrite" else "Created"
    session.output.done(f"{verb} {table}: {_rows(count)} (version {response.get('version')}).", facts)


@command(app, "insert")
def insert(
    session: Session,
    table: Table,
    files: Files,
    mode: Annotated[str, typer.Option("--mode", help="append adds rows, overwrite replaces all there are.")] = "append",
    branch: Branch = None,
    format_: Format = None,
) -> None:
    """Insert the rows of files; their values take the types of the table's columns."""
    rows = _fitting(session, table, files, format_, branch)
    response, count = _send(session, "insert_into_table", table, rows, mode=mode, branch=branch)
    facts = {"num_inserted_rows": count, **response}
    session.output.done(f"Inserted {_rows(count)} into {table} (version {response.get('version')}).", facts)


@command(app, "merge")
def merge(
    session: Session,
    table: Table,
    files: Files,
    on: Annotated[
        list[str],
        typer.Option(
            "--on",
            metavar="COLUMN",
            help="The key: column whose equal values match; may be repeated.",
            autocompletion=completed("columns"),
        ),
    ],
    update: Annotated[bool, typer.Option("--update/--no-update", help="Rows that match are replaced.")] = True,
    insert: Annotated[bool, typer.Option("--insert/--no-insert", help="Rows that match none are inserted.")] = True,
    update_if: Annotated[
        str | None,
        typer.Option("--update-if", metavar="SQL", help="Replace a match only if this holds of target.* and source.*."),
    ] = None,
    delete_missing: Annotated[
        bool,
        typer.Option("--delete-missing", help="Rows of the table that the files do not have are deleted."),
    ] = False,
    delete_missing_if: Annotated[
        str | None,
        typer.Option("--delete-missing-if", metavar="SQL", help="Delete only those of them where this holds."),
    ] = None,
    use_index: Annotated[bool, typer.Option("--use-index", help="Match through an index on the key.")] = False,
    timeout: Annotated[
        str | None, typer.Option("--timeout", help="Give up after this time, such as 30s or 5m.")
    ] = None,
    branch: Branch = None,
    format_: Format = None,
) -> None:
    """Merge the rows of files into a table: replace those whose key is there, insert the others.

    Example: lanceway tables merge team.fruit new.parquet --on id
    """
    rows = _fitting(session, table, files, format_, branch)
    response, _ = _send(
        session,
        "merge_insert_into_table",
        table,
        rows,
        on=words(on),
        when_matched_update_all=update and update_if is None,
        when_matched_update_all_filt=update_if,
        when_not_matched_insert_all=insert,
        when_not_matched_by_source_delete=delete_missing,
        when_not_matched_by_source_delete_filt=delete_missing_if,
        use_index=use_index,
        timeout=timeout,
        branch=branch,
    )
    session.output.done(f"Merged into {table}: {_counts(response)}.", response)


def _counts(answer: dict[str, Any]) -> str:
    kinds = ("inserted", "updated", "deleted")
    return ", ".join(f"{answer.get(f'num_{kind}_rows', 0):,} {kind}" for kind in kinds)


@command(app, "update")
def update(
    session: Session,
    table: Table,
    assignments: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="COLUMN=SQL",
            help="A column and the expression of its new value; may be repeated.",
        ),
    ],
    where: Where = None,
    branch: Branch = None,
) -> None:
    """Change values by SQL expressions.

    Example: lanceway tables update team.fruit --set "price = price * 2" --where "id > 10"
    """
    updates = [[key.strip(), value.strip()] for key, value in pairs(assignments, "--set").items()]
    response = session.ask("update_table", session.id(table), updates=updates, predicate=where, branch=branch)
    sentence = f"Updated {_rows(response['updated_rows'])} of {table} (version {response['version']})."
    session.output.done(sentence, response)


@command(app, "delete")
def delete(
    session: Session,
    table: Table,
    where: Annotated[
        str,
        typer.Option("--where", "--filter", metavar="SQL", help="Delete the rows where this holds; 'true' for all."),
    ],
    branch: Branch = None,
) -> None:
    """Delete rows. Earlier versions keep them: `versions restore` brings them back."""
    response = session.ask("delete_from_table", session.id(table), predicate=where, branch=branch)
    deleted = response.get("num_deleted_rows")
    what = "the rows" if deleted is None else _rows(deleted)  # not every server counts them
    session.output.done(f"Deleted {what} of {table} (version {response.get('version')}).", response)


def _rows(count: int) -> str:
    return spoken.counted(count, "row")


def _has_rows(session: Session, table: str) -> bool:
    """Return whether a table exists, and is not only declared."""
    from lanceway.errors import PermissionDeniedError, TableNotFoundError

    try:
        described = session.ask("describe_table", session.id(table), check_declared=True, vend_credentials=False)
    except (TableNotFoundError, PermissionDeniedError):
        return False
    return not described.get("is_only_declared")


def _fitting(session: Session, table: str, files: Sequence[str], format_: str | None, branch: str | None) -> FileRows:
    """Return the files' rows with the types of the table into which they go."""
    from lanceway.cli.files import fitted, read
    from lanceway.errors import InvalidTableStateError

    rows = read(files, format_)
    try:
        # A query tells the exact Arrow types; none of its rows is read.
        schema = session.query(session.id(table), k=1, vector={}, branch=branch).schema
    except InvalidTableStateError:
        return rows  # Declared, and without columns yet: the rows bring their own.
    return fitted(rows, schema, table)


def _send(session: Session, operation: str, table: str, rows: FileRows, **fields: object) -> tuple[dict[str, Any], int]:
    """Send the rows as they are read; return the response and their number."""
    import pyarrow as pa

    id_ = session.id(table)
    with stoppable() as stop, meter(table, rows.total) as counted:
        reader = pa.RecordBatchReader.from_batches(rows.schema, stop.between(counted.over(rows.batches)))
        return session.send(operation, id_, reader, **fields), counted.rows
