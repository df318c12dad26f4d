"""What the shell completes: names of tables, namespaces and columns of the catalog that the command line chooses so
far, and what a catalog may be chosen by.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import typer

from lanceway.cli.globals import narrowed
from lanceway.cli.session import Session


def tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a table, and the namespaces that may hold it."""
    return _names(ctx, incomplete, with_tables=True)


def namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a namespace."""
    return _names(ctx, incomplete, with_tables=False)


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a column of the table that the line names; in a list with commas, the last one."""
    from lanceway.errors import LanceNamespaceError

    before, comma, last = incomplete.rpartition(",")
    fields: list[Any] = []
    with suppress(LanceNamespaceError, typer.BadParameter):
        session, table = _session(ctx), _table(ctx)
        if table is not None:
            description = session.ask("describe_table", session.id(table), load_detailed_metadata=True)
            fields = description.get("schema", {}).get("fields", [])
    return [f"{before}{comma}{field['name']}" for field in fields if field["name"].startswith(last)]


def catalogs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a root namespace of the configuration, or a saved connection."""
    from lanceway import config
    from lanceway.errors import LanceNamespaceError

    names = set(connections(ctx, incomplete))
    with suppress(LanceNamespaceError, typer.BadParameter):
        names |= config.namespaces(_session(ctx).config).keys()
    return sorted(name for name in names if name.startswith(incomplete))


def connections(_: typer.Context, incomplete: str) -> list[str]:
    """Complete a saved connection."""
    from lanceway.config import connections as servers
    from lanceway.errors import LanceNamespaceError

    with suppress(LanceNamespaceError):
        return sorted(name for name in servers.saved() if name.startswith(incomplete))
    return []


def types(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a type of catalogs."""
    from lanceway.catalogs.registry import known_types

    return sorted(name for name in known_types() if name.startswith(incomplete))


def _table(ctx: typer.Context) -> str | None:
    """Return the table that a line names. Where an option still lacks its value, the arguments are not yet named."""
    return ctx.params.get("table") or ctx.params.get("source") or next(iter(ctx.args), None)


def _names(ctx: typer.Context, incomplete: str, *, with_tables: bool) -> list[str]:
    from lanceway.errors import LanceNamespaceError

    names: list[str] = []
    # A catalog that cannot be asked has nothing to complete; the command itself says why.
    session = Session()
    with suppress(LanceNamespaceError, typer.BadParameter):
        session = _session(ctx)
        above, _, _ = incomplete.rpartition(session.delimiter)
        prefix, id_ = above and f"{above}{session.delimiter}", session.id(above)
        for operation, key, end in _lists(session.delimiter, with_tables):
            for page in session.pages(operation, id_):
                names += [f"{prefix}{name}{end}" for name in page[key]]
    near = [name for name in names if name.startswith(incomplete)]
    only = near[0] if len(near) == 1 else incomplete
    # What can only be this namespace is completed by what is inside it.
    inside = (
        _names(ctx, only, with_tables=True)
        if with_tables and only != incomplete and only.endswith(session.delimiter)
        else []
    )
    return inside or near


def _lists(delimiter: str, with_tables: bool) -> Iterator[tuple[str, str, str]]:
    if with_tables:
        yield "list_tables", "tables", ""
    # One more word is likely to follow the name of a namespace where a table is wanted.
    yield "list_namespaces", "namespaces", delimiter if with_tables else ""


def _session(ctx: typer.Context) -> Session:
    """Return the session of the global options on the line so far, which no callback has read while it is completed."""
    chain: list[Any] = [ctx]
    while chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    session = Session()
    for context in reversed(chain):
        session = narrowed(session, dict(context.params))
    return session
