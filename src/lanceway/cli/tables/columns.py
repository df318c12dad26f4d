"""`lanceway tables columns …`"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import background
from lanceway.cli.jobs.background import Wait
from lanceway.cli.output.words import counted
from lanceway.cli.session import Branch, Session, Table, completed, pairs
from lanceway.cli.tables.versions import of_a_lake

if TYPE_CHECKING:
    from lanceway.lake.tree.definitions import Definition

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
    """Add columns, computed from others or empty until they are filled.

    Example: lanceway tables columns add team.orders "total = price * amount"
    """
    plain = pairs(expressions, "NAME=SQL")
    backfilled = pairs(computed, "--computed")
    if not plain and not backfilled:
        raise typer.BadParameter("name at least one column.", param_hint="'NAME=SQL'")
    new = [{"name": name.strip(), "expression": sql.strip()} for name, sql in plain.items()]
    new += [{"name": name.strip(), "computed": sql.strip()} for name, sql in backfilled.items()]
    response = session.ask("alter_table_add_columns", session.id(table), new_columns=new, branch=branch)
    session.output.done(f"Added {counted(len(new), 'column')} to {table} (version {response['version']}).", response)


@command(app, "backfill")
def backfill(
    session: Session,
    table: Table,
    column: Annotated[
        str, typer.Argument(metavar="COLUMN", help="A computed or virtual column.", autocompletion=completed("columns"))
    ],
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Which rows, instead of those without a value.")
    ] = None,
    branch: Branch = None,
    wait: Wait = False,
) -> None:
    """Let a worker fill a computed or virtual column in the rows that have no value yet."""
    response = session.ask("alter_table_backfill_columns", session.id(table), column=column, where=where, branch=branch)
    background.show_recorded(session, response, f"Backfill of {column}", wait=wait)


@command(app, "alter")
def alter(
    session: Session,
    table: Table,
    column: Annotated[
        str, typer.Argument(metavar="COLUMN", help="The column to alter.", autocompletion=completed("columns"))
    ],
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
    alteration = {key: value for key, value in change.items() if value is not None}
    if len(alteration) == 1:
        raise typer.BadParameter("say what to change.", param_hint="'--rename', '--type' or '--nullable'")
    response = session.ask("alter_table_alter_columns", session.id(table), alterations=[alteration], branch=branch)
    session.output.done(f"Altered {column} of {table} (version {response['version']}).", response)


def _type(text: str | None) -> dict[str, Any] | None:
    if text is None or not text.lstrip().startswith("{"):
        return text if text is None else {"type": text}
    try:
        value: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not JSON: {error}.", param_hint="'--type'") from None
    return value


@command(app, "drop")
def drop(
    session: Session,
    table: Table,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN...", help="The columns to drop.", autocompletion=completed("columns"))
    ],
    branch: Branch = None,
) -> None:
    """Drop columns. Earlier versions keep them: `versions restore` brings them back."""
    response = session.ask("alter_table_drop_columns", session.id(table), columns=columns, branch=branch)
    session.output.done(f"Dropped {', '.join(columns)} of {table} (version {response['version']}).", response)


metadata = group("Metadata: notes kept in a table's schema and with its columns.")
transactions = group("Transactions: what made a version.")

_Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        help="The column whose metadata is meant, instead of the table's.",
        autocompletion=completed("columns"),
    ),
]
_Transaction = Annotated[
    str, typer.Argument(metavar="TRANSACTION", help="The version that the transaction made, or its uuid.")
]


@command(metadata, "show")
def show(session: Session, table: Table, branch: Branch = None) -> None:
    """Show the metadata of a table and of its columns."""
    response = session.ask("describe_table", session.id(table), branch=branch, load_detailed_metadata=True)
    schema = response.get("schema", {"fields": []})
    columns = {field["name"]: field["metadata"] for field in schema["fields"] if field.get("metadata")}
    session.output.record({"table": schema.get("metadata") or {}, "columns": columns})


@command(metadata, "set")
def set_(
    session: Session,
    table: Table,
    entries: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="What to note.", show_default=False)
    ] = None,
    column: _Column = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="A key to remove; may be repeated.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Forget all other keys.")] = False,
    branch: Branch = None,
) -> None:
    """Set and remove metadata of a table, or of a column with --column; other keys stay."""
    new, old = pairs(entries, "KEY=VALUE"), remove or []
    if not new and not old and not replace:
        raise typer.BadParameter("give at least one KEY=VALUE, --remove or --replace.", param_hint="'KEY=VALUE'")
    if column is None:
        response = _set_of_table(session, table, new, old, replace, branch)
    else:
        update = {"path": column, "metadata": {**new, **dict.fromkeys(old)}, "replace": replace}
        response = session.ask("update_field_metadata", session.id(table), updates=[update], branch=branch)
    session.output.done(f"The metadata of {column or table} is set.", response)


def _set_of_table(
    session: Session, table: str, new: dict[str, str], old: list[str], replace: bool, branch: str | None
) -> dict[str, Any]:
    """Set a table's metadata. The contract replaces it as a whole, so the keys that stay are sent again."""
    existing = {} if replace else _of_table(session, table, branch)
    merged = {key: value for key, value in {**existing, **new}.items() if key not in old}
    response: dict[str, Any] = session.ask(
        "update_table_schema_metadata", session.id(table), metadata=merged, branch=branch
    )
    return response


def _of_table(session: Session, table: str, branch: str | None) -> dict[str, str]:
    response = session.ask("describe_table", session.id(table), branch=branch, load_detailed_metadata=True)
    return response.get("schema", {}).get("metadata") or {}


@command(transactions, "describe")
def describe_transaction(session: Session, table: Table, transaction: _Transaction) -> None:
    """Show what a transaction did."""
    session.output.record(session.ask("describe_transaction", [*session.id(table), transaction]))


@command(transactions, "alter")
def alter_transaction(
    session: Session,
    table: Table,
    transaction: _Transaction,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Its new status: Queued, Running, Succeeded, Failed or Canceled."),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A property to set; may be repeated."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="KEY", help="A property to remove; may be repeated."),
    ] = None,
) -> None:
    """Change a transaction's status or properties, where the catalog keeps them."""
    actions: list[dict[str, Any]] = [{"setStatusAction": {"status": status}}] if status else []
    actions += [{"setPropertyAction": {"key": k, "value": v}} for k, v in pairs(properties, "--set").items()]
    actions += [{"unsetPropertyAction": {"key": key}} for key in remove or ()]
    if not actions:
        raise typer.BadParameter("say what to change.", param_hint="'--status', '--set' or '--remove'")
    session.output.record(session.ask("alter_transaction", [*session.id(table), transaction], actions=actions))


definitions = group("Definitions of views and computed columns, which a lake keeps and workers run.")

_DEFINITIONS = {
    "kind": "kind",
    "name": "column",
    "branch": "branch",
    "owner": "owner",
    "created_at": "made",
    "definition": "definition",
}


@command(definitions, "list")
def list_definitions(session: Session, table: Table) -> None:
    """List how a view, and the computed columns of a table, come about, and whose the definitions are."""
    _show_definitions(session, of_a_lake(session, "list_definitions")(session.id(table)))


@command(definitions, "adopt")
def adopt_definitions(session: Session, table: Table) -> None:
    """Make the definitions in a table's metadata that the lake does not have your own, and list them.

    A table that was registered brings none, since any writer may have set its metadata: look at it first.
    """
    _show_definitions(session, of_a_lake(session, "adopt_definitions")(session.id(table)))


@command(definitions, "drop")
def drop_definition(
    session: Session,
    table: Table,
    column: Annotated[
        str | None,
        typer.Argument(
            metavar="[COLUMN]",
            help="The column; without it, the view.",
            show_default=False,
            autocompletion=completed("columns"),
        ),
    ] = None,
    branch: Branch = None,
) -> None:
    """Make a computed column a plain one, or a view a plain table; rows and values stay."""
    of_a_lake(session, "drop_definition")(session.id(table), column, branch=branch)
    what = table if column is None else f"the column {column} of {table}"
    session.output.done(f"Dropped the definition of {what}.", {"table": table, "column": column})


def _show_definitions(session: Session, found: Sequence[Definition]) -> None:
    records = [{key: value for key, value in asdict(each).items() if key != "table"} for each in found]
    session.output.records(_DEFINITIONS, records)
