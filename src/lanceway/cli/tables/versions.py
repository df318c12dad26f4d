"""`lanceway tables versions`, `tags` and `branches`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output.words import counted
from lanceway.cli.session import Branch, Limit, PageToken, Session, Table, Yes, agreed

app = group("Versions: list them, go back to one, delete old ones.")

_Number = Annotated[int, typer.Argument(metavar="VERSION", min=0, help="A version's number.")]
_COLUMNS = {"version": "version", "timestamp_millis": "time", "operation": "operation", "rows": "rows", "tags": "tags"}
# People see so many at once: each is opened for what it brought.
_SHOWN = 20


@command(app, "list")
def list_(
    session: Session,
    table: Table,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Begin with the first version.")] = False,
    limit: Limit = None,
    page_token: PageToken = None,
    branch: Branch = None,
) -> None:
    """List a table's versions, the latest first: when each was made, by what, and its rows and tags."""
    id_, fields = session.id(table), {"descending": not oldest_first, "branch": branch}
    if not session.json:
        _draw(session, id_, limit or _SHOWN, page_token, branch, fields)
        return
    if limit is None and page_token is None:
        pages = session.pages("list_table_versions", id_, **fields)
        session.output.records(_COLUMNS, (entry for page in pages for entry in page["versions"]))
        return
    response = session.page("list_table_versions", id_, limit, page_token, **fields)
    session.output.records_page(_COLUMNS, "versions", response["versions"], response.get("page_token"))


def _draw(
    session: Session, id_: list[str], limit: int, token: str | None, branch: str | None, fields: dict[str, Any]
) -> None:
    response = session.page("list_table_versions", id_, limit, token, **fields)
    tags: dict[int, list[str]] = {}
    for page in session.pages("list_table_tags", id_):
        for tag, named in page["tags"].items():
            if _branch(named.get("branch")) == _branch(branch):
                tags.setdefault(named["version"], []).append(tag)
    records = [
        {
            **entry,
            **_brought(session, id_, entry["version"], branch),
            "tags": ", ".join(sorted(tags.get(entry["version"], ()))) or None,
        }
        for entry in response["versions"]
    ]
    session.output.records_page(_COLUMNS, "versions", records, response.get("page_token"))


def _branch(name: str | None) -> str | None:
    return None if name == "main" else name


def _brought(session: Session, id_: list[str], version: int, branch: str | None) -> dict[str, Any]:
    """Return what made a version and how many rows it has, as far as the catalog knows."""
    from lanceway.errors import LanceNamespaceError

    facts: dict[str, Any] = {}
    with suppress(LanceNamespaceError):
        facts["rows"] = session.ask("count_table_rows", id_, version=version, branch=branch)["count"]
    if _branch(branch) is None:  # the contract describes the transactions of the main branch
        with suppress(LanceNamespaceError):
            transaction = session.ask("describe_transaction", [*id_, str(version)])
            facts["operation"] = transaction.get("properties", {}).get("operation")
    return facts


@command(app, "describe")
def describe(session: Session, table: Table, version: _Number, branch: Branch = None) -> None:
    """Show one version."""
    response = session.ask("describe_table_version", session.id(table), version=version, branch=branch)
    session.output.record(response["version"])


@command(app, "restore")
def restore(session: Session, table: Table, version: _Number, branch: Branch = None) -> None:
    """Make a table what it was at a version, as a new version; nothing is lost."""
    response = session.ask("restore_table", session.id(table), version=version, branch=branch)
    session.output.done(f"Restored {table} to version {version}.", {"restored_version": version, **response})


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
    response = session.ask("batch_delete_table_versions", id_, ranges=ranges, branch=branch)
    session.output.done(f"Deleted {counted(response.get('deleted_count', 0), 'version')} of {table}.", response)


versioning_app = group("Managed tables")

_RECONCILE_COLUMNS = {
    "kind": "what",
    "name": "name",
    "branch": "branch",
    "version": "version",
    "fixed": "fixed",
    "path": "path",
}


@command(versioning_app, "reconcile")
def reconcile(
    session: Session,
    table: Table,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt",
            help="Make strays that continue the latest version versions, and stray tags and branches the lake's; "
            "forget vanished versions.",
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete stray tags and branches from storage, a branch with all its data.")
    ] = False,
) -> None:
    """Show where a lake and the storage of a managed table disagree: versions, tags and branches.

    What was claimed is copied to its place, strays are moved aside, and files of tags are written as the lake has
    them, as it does whenever it meets them.
    """
    differences = of_a_lake(session, "reconcile")(session.id(table), adopt=adopt, remove=remove)
    session.output.records(_RECONCILE_COLUMNS, [asdict(difference) for difference in differences])


@command(versioning_app, "versioning")
def versioning(
    session: Session,
    table: Table,
    who: Annotated[
        str, typer.Argument(metavar="managed|storage", help="Who keeps its versions: the lake, or storage alone.")
    ],
) -> None:
    """Have a lake keep a table's versions, or leave them to storage; data and history stay as they are."""
    if who not in ("managed", "storage"):
        raise typer.BadParameter(f"{who!r} is neither managed nor storage.", param_hint="'managed|storage'")
    of_a_lake(session, "set_versioning")(session.id(table), managed=who == "managed")
    keeper = "the lake" if who == "managed" else "storage alone"
    session.output.done(f"The versions of {table} are kept by {keeper}.", {"versioning": who})


def of_a_lake(session: Session, method: str) -> Callable[..., Any]:
    """Return a method of the catalog that only a lake has."""
    from lanceway.errors import UnsupportedOperationError

    function: Callable[..., Any] | None = getattr(session.catalog, method, None)
    if function is None:
        raise UnsupportedOperationError(
            "Only a lake keeps versions of tables, and definitions, as rows. Choose one with --in NAME or --type lake."
        )
    return function


tags = group("Tags: named versions, kept by clean-up.")
branches = group("Branches: independent version histories.")

_TAGS = {"name": "tag", "version": "version", "branch": "branch"}
_BRANCHES = {"name": "branch", "parentBranch": "made from", "parentVersion": "at version", "createAt": "made"}
_Tag = Annotated[str, typer.Argument(metavar="TAG", help="The tag's name.")]
_Name = Annotated[str, typer.Argument(metavar="BRANCH", help="The branch's name.")]
_TaggedVersion = Annotated[int, typer.Argument(metavar="VERSION", min=0, help="The version's number.")]


@command(tags, "list")
def list_tags(session: Session, table: Table, limit: Limit = None, page_token: PageToken = None) -> None:
    """List a table's tags."""
    _list(session, table, "tags", _TAGS, limit, page_token)


@command(tags, "describe")
def describe_tag(session: Session, table: Table, tag: _Tag) -> None:
    """Show the version that a tag names."""
    session.output.record({"tag": tag, **session.ask("get_table_tag_version", session.id(table), tag=tag)})


@command(tags, "create")
def create_tag(session: Session, table: Table, tag: _Tag, version: _TaggedVersion, branch: Branch = None) -> None:
    """Give a version a name."""
    response = session.ask("create_table_tag", session.id(table), tag=tag, version=version, branch=branch)
    session.output.done(f"Tagged version {version} of {table} as {tag}.", {"tag": tag, "version": version, **response})


@command(tags, "update")
def update_tag(session: Session, table: Table, tag: _Tag, version: _TaggedVersion, branch: Branch = None) -> None:
    """Let a tag name another version."""
    response = session.ask("update_table_tag", session.id(table), tag=tag, version=version, branch=branch)
    session.output.done(
        f"Moved the tag {tag} of {table} to version {version}.", {"tag": tag, "version": version, **response}
    )


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
    session.output.done(
        f"Created the branch {name} of {table}; work on it with --branch {name}.", {"branch": name, **response}
    )


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
