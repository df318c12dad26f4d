"""`lanceway tables versions …`"""

from __future__ import annotations

from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.options import Branch, Limit, PageToken, Table, Yes, agreed
from lanceway.cli.session import Session

app = group("Versions: list them, go back to one, delete old ones.")

_Number = Annotated[int, typer.Argument(metavar="VERSION", min=0, help="A version's number.")]
_COLUMNS = {
    "version": "version",
    "timestamp_millis": "time",
    "manifest_size": "manifest",
    "metadata": "metadata",
}


@command(app, "list")
def list_(
    session: Session,
    table: Table,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Begin with the first version.")] = False,
    limit: Limit = None,
    page_token: PageToken = None,
    branch: Branch = None,
) -> None:
    """List a table's versions, the latest first."""
    id_, fields = session.id(table), {"descending": not oldest_first, "branch": branch}
    if limit is None and page_token is None:
        pages = session.pages("list_table_versions", id_, **fields)
        session.output.records(_COLUMNS, (entry for page in pages for entry in page["versions"]))
        return
    answer = session.page("list_table_versions", id_, limit, page_token, **fields)
    session.output.records_page(_COLUMNS, "versions", answer["versions"], answer.get("page_token"))


@command(app, "describe")
def describe(session: Session, table: Table, version: _Number, branch: Branch = None) -> None:
    """Show one version."""
    answer = session.ask("describe_table_version", session.id(table), version=version, branch=branch)
    session.output.record(answer["version"])


@command(app, "restore")
def restore(session: Session, table: Table, version: _Number, branch: Branch = None) -> None:
    """Make a table what it was at a version, as a new version; nothing is lost."""
    answer = session.ask("restore_table", session.id(table), version=version, branch=branch)
    session.output.done(f"{table} is again what it was at version {version}.", {"restored_version": version, **answer})


@command(app, "delete")
def delete(
    session: Session,
    table: Table,
    start: Annotated[int, typer.Argument(metavar="FROM", min=0, help="The first version to delete.")],
    end: Annotated[int, typer.Argument(metavar="UNTIL", min=0, help="The version after the last one to delete.")],
    branch: Branch = None,
    yes: Yes = False,
) -> None:
    """Delete the versions from FROM up to, but without, UNTIL, for good."""
    id_ = session.id(table)
    agreed(f"Delete the versions {start} to {end - 1} of {table}?", yes)
    ranges = [{"start_version": start, "end_version": end}]
    answer = session.ask("batch_delete_table_versions", id_, ranges=ranges, branch=branch)
    session.output.done(f"Deleted {answer.get('deleted_count', 0):,} versions of {table}.", answer)
