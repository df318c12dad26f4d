"""`lanceway tables metadata …` and `lanceway tables transactions …`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.options import Branch, Table, pairs
from lanceway.cli.session import Session

metadata = group("Metadata: notes kept in a table's schema and with its columns.")
transactions = group("Transactions: what made a version.")

_Column = Annotated[
    str | None, typer.Option("--column", help="The column whose metadata is meant, instead of the table's.")
]
_Transaction = Annotated[
    str, typer.Argument(metavar="TRANSACTION", help="The version that the transaction made, or its uuid.")
]


@command(metadata, "show")
def show(session: Session, table: Table, branch: Branch = None) -> None:
    """Show the metadata of a table and of its columns."""
    answer = session.ask("describe_table", session.id(table), branch=branch, load_detailed_metadata=True)
    schema = answer.get("schema", {"fields": []})
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
        answer = _set_of_table(session, table, new, old, replace, branch)
    else:
        update = {"path": column, "metadata": {**new, **dict.fromkeys(old)}, "replace": replace}
        answer = session.ask("update_field_metadata", session.id(table), updates=[update], branch=branch)
    session.output.done(f"The metadata of {column or table} is set.", answer)


def _set_of_table(
    session: Session, table: str, new: dict[str, str], old: list[str], replace: bool, branch: str | None
) -> dict[str, Any]:
    """The contract replaces a table's metadata whole, so what is to stay is sent again."""
    kept = {} if replace else _of_table(session, table, branch)
    wanted = {key: value for key, value in {**kept, **new}.items() if key not in old}
    answer: dict[str, Any] = session.ask(
        "update_table_schema_metadata", session.id(table), metadata=wanted, branch=branch
    )
    return answer


def _of_table(session: Session, table: str, branch: str | None) -> dict[str, str]:
    answer = session.ask("describe_table", session.id(table), branch=branch, load_detailed_metadata=True)
    return answer.get("schema", {}).get("metadata") or {}


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
