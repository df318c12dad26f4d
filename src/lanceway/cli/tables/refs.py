"""`lanceway tables tags …` and `lanceway tables branches …`: names for versions and lines of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.options import Branch, Limit, PageToken, Table
from lanceway.cli.session import Session

tags = group("Tags: names for versions that are to stay.")
branches = group("Branches: lines of versions of their own.")

_TAGS = {"name": "tag", "version": "version", "branch": "branch"}
_BRANCHES = {"name": "branch", "parentBranch": "made from", "parentVersion": "at version", "createAt": "made"}
_Tag = Annotated[str, typer.Argument(metavar="TAG", help="The tag's name.")]
_Name = Annotated[str, typer.Argument(metavar="BRANCH", help="The branch's name.")]
_Number = Annotated[int, typer.Argument(metavar="VERSION", min=0, help="The version's number.")]


@command(tags, "list")
def list_tags(session: Session, table: Table, limit: Limit = None, page_token: PageToken = None) -> None:
    """List a table's tags."""
    _list(session, table, "tags", _TAGS, limit, page_token)


@command(tags, "describe")
def describe_tag(session: Session, table: Table, tag: _Tag) -> None:
    """Show the version that a tag names."""
    session.output.record({"tag": tag, **session.ask("get_table_tag_version", session.id(table), tag=tag)})


@command(tags, "create")
def create_tag(session: Session, table: Table, tag: _Tag, version: _Number, branch: Branch = None) -> None:
    """Give a version a name."""
    response = session.ask("create_table_tag", session.id(table), tag=tag, version=version, branch=branch)
    session.output.done(f"{tag} is version {version} of {table}.", {"tag": tag, "version": version, **response})


@command(tags, "update")
def update_tag(session: Session, table: Table, tag: _Tag, version: _Number, branch: Branch = None) -> None:
    """Let a tag name another version."""
    response = session.ask("update_table_tag", session.id(table), tag=tag, version=version, branch=branch)
    session.output.done(f"{tag} is now version {version} of {table}.", {"tag": tag, "version": version, **response})


@command(tags, "delete")
def delete_tag(session: Session, table: Table, tag: _Tag) -> None:
    """Delete a tag; the version stays."""
    response = session.ask("delete_table_tag", session.id(table), tag=tag)
    session.output.done(f"Deleted the tag {tag} of {table}.", {"tag": tag, **response})


@command(branches, "list")
def list_branches(session: Session, table: Table, limit: Limit = None, page_token: PageToken = None) -> None:
    """List a table's branches beside main."""
    _list(session, table, "branches", _BRANCHES, limit, page_token)


@command(branches, "create")
def create_branch(
    session: Session,
    table: Table,
    name: _Name,
    from_branch: Annotated[
        str | None, typer.Option("--from-branch", help="The branch to begin from, instead of main.")
    ] = None,
    from_version: Annotated[
        int | None,
        typer.Option("--from-version", min=0, help="The version to begin from, instead of the latest."),
    ] = None,
) -> None:
    """Begin a branch."""
    response = session.ask(
        "create_table_branch",
        session.id(table),
        name=name,
        from_branch=from_branch,
        from_version=from_version,
    )
    session.output.done(f"{table} has a branch {name}; work on it with --branch {name}.", {"branch": name, **response})


@command(branches, "delete")
def delete_branch(session: Session, table: Table, name: _Name) -> None:
    """Delete a branch."""
    response = session.ask("delete_table_branch", session.id(table), name=name)
    session.output.done(f"Deleted the branch {name} of {table}.", {"branch": name, **response})


def _list(
    session: Session, table: str, key: str, columns: dict[str, str], limit: int | None, token: str | None
) -> None:
    id_, operation = session.id(table), f"list_table_{key}"
    if limit is None and token is None:
        pages = session.pages(operation, id_)
        session.output.records(columns, (entry for page in pages for entry in _named(page[key])))
        return
    response = session.page(operation, id_, limit, token)
    session.output.records_page(columns, key, list(_named(response[key])), response.get("page_token"))


def _named(entries: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({"name": name, **entry} for name, entry in entries.items())
