"""`lanceway tables …`: what a catalog knows of tables. Their rows are in `rows.py` and `query.py`."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import (
    Branch,
    Limit,
    Namespace,
    PageToken,
    Properties,
    Session,
    Table,
    Tag,
    Version,
    Yes,
    agreed,
    pairs,
)

app = group(
    "Tables: find, create, fill, query, change and drop them.\n\n"
    "Example: lanceway tables create team.fruit fruit.parquet\n"
    "lanceway tables describe team.fruit\n"
    'lanceway tables query team.fruit --where "price < 3"\n'
    "lanceway tables versions list team.fruit",
    {
        "Find": ("list", "describe", "schema", "stats", "exists"),
        "Rows": ("query", "count", "create", "insert", "merge", "update", "delete"),
        "Names": ("rename", "drop", "declare", "register", "deregister", "clone"),
        "Columns and indices": ("columns", "indices", "definitions", "metadata"),
        "History": ("versions", "tags", "branches", "transactions", "versioning", "reconcile"),
        "Maintenance": ("compact", "clean", "index", "backfill", "dedupe"),
        "Transfer": ("import", "export"),
    },
)

# Parts of a description that its other lines have in a better form.
_SAID_ELSEWHERE = frozenset({"table", "namespace", "table_uri", "stats", "is_only_declared"})
_Location = Annotated[
    str | None, typer.Option("--location", help="Where the data is put; the catalog chooses if left out.")
]


@command(app, "list")
def list_(
    session: Session,
    namespace: Namespace = "",
    everywhere: Annotated[
        bool, typer.Option("--all", help="Also those of all namespaces below, as identifiers.")
    ] = False,
    declared: Annotated[
        bool,
        typer.Option("--declared/--no-declared", help="Show tables that are declared and have no data yet."),
    ] = True,
    limit: Limit = None,
    page_token: PageToken = None,
) -> None:
    """List the tables of a namespace."""
    id_, operation = session.id(namespace), "list_all_tables" if everywhere else "list_tables"
    if limit is None and page_token is None:
        pages = session.pages(operation, id_, include_declared=declared)
        session.output.names(name for page in pages for name in session.table_names(page["tables"], everywhere))
        return
    response = session.page(operation, id_, limit, page_token, include_declared=declared)
    session.output.page("tables", session.table_names(response["tables"], everywhere), response.get("page_token"))


@command(app, "describe")
def describe(
    session: Session,
    table: Table,
    detailed: Annotated[
        bool | None,
        typer.Option(
            "--detailed/--brief",
            help="Open the table: version, columns, statistics; or say only where it is, as --json does by itself.",
            show_default=False,
        ),
    ] = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Show a table: where it is, its version, rows, size, indices, tags and columns."""
    id_, opened = session.id(table), not session.json if detailed is None else detailed
    response = session.ask(
        "describe_table",
        id_,
        version=version,
        tag=tag,
        branch=branch,
        with_table_uri=True,
        check_declared=True,
        load_detailed_metadata=opened or None,
        vend_credentials=False,  # they are for programs, and not for a terminal
    )
    described = {**response, **session.full_name(id_, table=True)}
    if opened and not session.json and not response.get("is_only_declared"):
        described = _for_people(session, id_, described, {"version": version, "branch": branch} if tag is None else {})
    session.output.record(described)


def _for_people(session: Session, id_: list[str], description: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """Return what people want to know of a table first, and leave out what is empty or said twice."""
    from lanceway.errors import UnsupportedOperationError

    numbers = description.pop("metadata", {})
    shown = {key: value for key, value in description.items() if key not in _SAID_ELSEWHERE and value not in ({}, [])}
    shown = {"table": session.format(id_), **shown}
    if "total_rows" in numbers:
        shown |= {"rows": int(numbers["total_rows"]), "total_bytes": int(numbers.get("total_files_size", 0))}
    with suppress(UnsupportedOperationError):  # some catalogs list neither
        pages = list(session.pages("list_table_indices", id_, **place))
        shown["indices"] = {index["index_name"]: _index(index) for page in pages for index in page["indexes"]}
        pages = list(session.pages("list_table_tags", id_))
        shown["tags"] = {tag: entry["version"] for page in pages for tag, entry in page["tags"].items()}
    schema = shown.pop("schema", None)
    return shown if schema is None else {**shown, "schema": schema}


def _index(index: dict[str, Any]) -> str:
    columns = ", ".join(index["columns"])
    return f"{index['index_type']} on {columns}" if index.get("index_type") else f"on {columns}"


@command(app, "schema")
def schema(session: Session, table: Table, version: Version = None, tag: Tag = None, branch: Branch = None) -> None:
    """Show a table's columns with their types."""
    id_ = session.id(table)
    response = session.ask("describe_table", id_, **session.at(id_, version, tag, branch), load_detailed_metadata=True)
    session.output.schema(response.get("schema", {"fields": []}))


@command(app, "stats")
def stats(session: Session, table: Table, branch: Branch = None) -> None:
    """Show how large a table is and how its data is divided into fragments."""
    session.output.record(session.ask("get_table_stats", session.id(table), branch=branch))


@command(app, "exists")
def exists(session: Session, table: Table, version: Version = None) -> None:
    """Check whether a table exists: exit code 0 if it does, 1 if not."""
    from lanceway.errors import NamespaceNotFoundError, TableNotFoundError, TableVersionNotFoundError

    try:
        session.ask("table_exists", session.id(table), version=version)
    except (TableNotFoundError, NamespaceNotFoundError, TableVersionNotFoundError):
        session.output.done(f"There is no table {table}.", {"exists": False})
        raise typer.Exit(FAILED) from None
    session.output.done(f"The table {table} exists.", {"exists": True})


@command(app, "declare")
def declare(session: Session, table: Table, location: _Location = None, properties: Properties = None) -> None:
    """Reserve a name for a table that is written later."""
    metadata = pairs(properties, "--property") or None
    response = session.ask("declare_table", session.id(table), location=location, properties=metadata)
    session.output.done(f"Declared {table} at {response.get('location')}.", response)


@command(app, "register")
def register(
    session: Session,
    table: Table,
    location: Annotated[str, typer.Argument(metavar="LOCATION", help="The table's location.")],
    mode: Annotated[
        str, typer.Option("--mode", help="If the name is taken: create refuses, overwrite replaces.")
    ] = "create",
    properties: Properties = None,
) -> None:
    """Register a table that exists in storage."""
    metadata = pairs(properties, "--property") or None
    response = session.ask("register_table", session.id(table), location=location, mode=mode, properties=metadata)
    session.output.done(f"Registered {table} at {response.get('location', location)}.", response)


@command(app, "clone")
def clone(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The table to clone, of a lake.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new table, in the same catalog.")],
    version: Version = None,
    tag: Annotated[str | None, typer.Option("--tag", help="The tag to clone, instead of the latest version.")] = None,
    branch: Annotated[str | None, typer.Option("--branch", help="The main one: no other can be cloned.")] = None,
) -> None:
    """Make a table that shares the files of another one: a shallow clone, which copies nothing.

    The source cannot be dropped as long as it has clones. Later changes of one do not show in the other.
    """
    from lanceway.catalogs.contract import clones

    names = session.id(source), session.id(target)
    description = clones.require(session.catalog).clone_table(*names, version=version, tag=tag, branch=branch)
    session.output.done(f"Cloned {source} as {target}.", {"id": names[1], "location": description.location})


@command(app, "deregister")
def deregister(session: Session, table: Table) -> None:
    """Forget a table and keep its data; `register` brings it back."""
    response = session.ask("deregister_table", session.id(table))
    session.output.done(f"Deregistered {table}; its data stays at {response.get('location')}.", response)


@command(app, "drop")
def drop(session: Session, table: Table, yes: Yes = False) -> None:
    """Drop a table and delete its data, for good."""
    id_ = session.id(table)
    agreed(f"Drop {table} and delete its data?", yes)
    session.output.done(f"Dropped {table}.", session.ask("drop_table", id_))


@command(app, "rename")
def rename(
    session: Session,
    table: Table,
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The whole new identifier; it may be in another namespace.")
    ],
) -> None:
    """Rename a table, or move it to another namespace."""
    target = session.id(new)
    response = session.ask(
        "rename_table", session.id(table), new_table_name="".join(target[-1:]), new_namespace_id=target[:-1]
    )
    session.output.done(f"Renamed {table} to {new}.", response)
