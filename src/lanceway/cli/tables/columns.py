"""`lanceway tables columns …`"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import background
from lanceway.cli.jobs.background import Wait
from lanceway.cli.options import Branch, Table, pairs
from lanceway.cli.session import Session

app = group("Columns: add, fill, alter and drop them.")


@command(app, "add")
def add(
    session: Session,
    table: Table,
    expressions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=SQL]...",
            help="A new column and the expression of its values in the rows there are.",
            show_default=False,
        ),
    ] = None,
    computed: Annotated[
        list[str] | None,
        typer.Option("--computed", metavar="NAME=SQL", help="A column that backfills compute; may be repeated."),
    ] = None,
    branch: Branch = None,
) -> None:
    """Add columns: `lanceway tables columns add orders "total = price * amount"`."""
    plain = pairs(expressions, "NAME=SQL")
    kept = pairs(computed, "--computed")
    if not plain and not kept:
        raise typer.BadParameter("name at least one column.", param_hint="'NAME=SQL'")
    new = [{"name": name.strip(), "expression": sql.strip()} for name, sql in plain.items()]
    new += [{"name": name.strip(), "computed": sql.strip()} for name, sql in kept.items()]
    answer = session.ask("alter_table_add_columns", session.id(table), new_columns=new, branch=branch)
    session.output.done(f"Added {len(new)} columns; {table} is at version {answer['version']}.", answer)


@command(app, "backfill")
def backfill(
    session: Session,
    table: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A computed or virtual column.")],
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Which rows, instead of those without a value.")
    ] = None,
    branch: Branch = None,
    wait: Wait = False,
) -> None:
    """Let a worker fill a computed or virtual column in the rows that have no value yet."""
    answer = session.ask("alter_table_backfill_columns", session.id(table), column=column, where=where, branch=branch)
    background.recorded(session, answer, f"Backfill of {column}", wait=wait)


@command(app, "alter")
def alter(
    session: Session,
    table: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column to alter.")],
    rename: Annotated[str | None, typer.Option("--rename", help="Its new name.")] = None,
    type_: Annotated[
        str | None,
        typer.Option("--type", help='Its new type: a word such as int64, or JSON such as {"type": "int64"}.'),
    ] = None,
    nullable: Annotated[
        bool | None,
        typer.Option("--nullable/--not-null", help="Whether it may hold nulls.", show_default=False),
    ] = None,
    branch: Branch = None,
) -> None:
    """Rename a column, change its type, or whether it may hold nulls."""
    change = {"path": column, "rename": rename, "data_type": _type(type_), "nullable": nullable}
    given = {key: value for key, value in change.items() if value is not None}
    if len(given) == 1:
        raise typer.BadParameter("say what to change.", param_hint="'--rename', '--type' or '--nullable'")
    answer = session.ask("alter_table_alter_columns", session.id(table), alterations=[given], branch=branch)
    session.output.done(f"Altered {column}; {table} is at version {answer['version']}.", answer)


def _type(text: str | None) -> dict[str, Any] | None:
    if text is None or not text.lstrip().startswith("{"):
        return text if text is None else {"type": text}
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no JSON: {error}.", param_hint="'--type'") from None
    return found


@command(app, "drop")
def drop(
    session: Session,
    table: Table,
    columns: Annotated[list[str], typer.Argument(metavar="COLUMN...", help="The columns to drop.")],
    branch: Branch = None,
) -> None:
    """Drop columns. Earlier versions keep them: `versions restore` brings them back."""
    answer = session.ask("alter_table_drop_columns", session.id(table), columns=columns, branch=branch)
    session.output.done(f"Dropped {', '.join(columns)}; {table} is at version {answer['version']}.", answer)
