"""`lanceway namespaces …`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import Limit, Namespace, PageToken, Properties, Session, Yes, agreed, pairs

app = group("Namespaces: list and draw them, create and drop them.")

_Name = Annotated[str, typer.Argument(metavar="NAMESPACE", help="A namespace, such as team.sales.")]


@command(app, "list")
def list_(session: Session, namespace: Namespace = "", limit: Limit = None, page_token: PageToken = None) -> None:
    """List the namespaces directly inside a namespace."""
    id_ = session.id(namespace)
    if limit is None and page_token is None:
        session.output.names(_all(session, "list_namespaces", "namespaces", id_))
        return
    response = session.page("list_namespaces", id_, limit, page_token)
    session.output.page("namespaces", response["namespaces"], response.get("page_token"))


@command(app, "tree")
def tree(
    session: Session,
    namespace: Namespace = "",
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="Draw at most this many levels.")] = None,
    tables: Annotated[bool, typer.Option("--tables/--no-tables", help="Draw the tables too.")] = True,
) -> None:
    """Draw everything inside a namespace as a tree."""
    id_ = session.id(namespace)
    session.output.tree(_node(session, id_, namespace, depth, tables))


def _node(session: Session, id_: list[str], name: str, depth: int | None, tables: bool) -> dict[str, Any]:
    below = depth if depth is None else depth - 1
    names = [] if depth == 0 else list(_all(session, "list_namespaces", "namespaces", id_))
    shown = list(_all(session, "list_tables", "tables", id_)) if tables and depth != 0 else []
    children = [_node(session, [*id_, child], child, below, tables) for child in names]
    return {"name": name, "namespaces": children, "tables": shown}


def _all(session: Session, operation: str, key: str, id_: list[str]) -> Iterator[str]:
    for response in session.pages(operation, id_):
        yield from response[key]


@command(app, "describe")
def describe(session: Session, namespace: Namespace = "") -> None:
    """Show a namespace's properties."""
    response = session.ask("describe_namespace", session.id(namespace))
    session.output.record({"namespace": namespace, "properties": response.get("properties", {})})


@command(app, "exists")
def exists(session: Session, namespace: Namespace = "") -> None:
    """Tell whether a namespace exists: exit code 0 if it does, 1 if not."""
    from lanceway.errors import NamespaceNotFoundError

    try:
        session.ask("namespace_exists", session.id(namespace))
    except NamespaceNotFoundError:
        session.output.done(f"There is no namespace {session.shown(namespace)}.", {"exists": False})
        raise typer.Exit(FAILED) from None
    session.output.done(f"The namespace {session.shown(namespace)} exists.", {"exists": True})


@command(app, "create")
def create(
    session: Session,
    namespace: _Name,
    properties: Properties = None,
    mode: Annotated[
        str,
        typer.Option("--mode", help="If it exists: create refuses, exist_ok keeps it, overwrite empties it."),
    ] = "create",
    yes: Yes = False,
) -> None:
    """Create a namespace inside an existing one."""
    if mode.lower() == "overwrite":
        agreed(f"Drop everything in {namespace}, should it exist?", yes)
    metadata = pairs(properties, "--property") or None
    response = session.ask("create_namespace", session.id(namespace), mode=mode, properties=metadata)
    session.output.done(f"The namespace {namespace} is there.", response)


@command(app, "drop")
def drop(
    session: Session,
    namespace: _Name,
    cascade: Annotated[bool, typer.Option("--cascade", help="Drop all that is inside too, data included.")] = False,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Succeed if there is no such namespace.")] = False,
    yes: Yes = False,
) -> None:
    """Drop a namespace; it must be empty unless --cascade is given."""
    id_ = session.id(namespace)
    if cascade:
        agreed(f"Drop {namespace} with every namespace and table in it, and their data?", yes)
    behavior, mode = "cascade" if cascade else "restrict", "skip" if missing_ok else "fail"
    response = session.ask("drop_namespace", id_, behavior=behavior, mode=mode)
    session.output.done(f"Dropped {namespace}.", response)
