"""`lanceway namespaces …`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import Limit, Namespace, PageToken, Properties, Session, Yes, agreed, completed, pairs
from lanceway.identifiers import Identifier

app = group("Namespaces: list and draw them, create, alter and drop them.")

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAMESPACE", help="A namespace, such as team.sales.", autocompletion=completed("namespaces")
    ),
]


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
    """Show a namespace's properties; of a lake also its full name, and the separator of names in a path."""
    id_ = session.id(namespace)
    response = session.ask("describe_namespace", id_)
    naming = session.naming(id_)
    facts: dict[str, Any] = {"namespace": namespace, "properties": response.get("properties", {})}
    if naming is not None:
        facts |= {
            **session.full_name(id_, table=False),
            "separator": naming.separator,
            "policy": naming.policy,
            "nested": naming.nested,
        }
    session.output.record(facts)


@command(app, "exists")
def exists(session: Session, namespace: Namespace = "") -> None:
    """Check whether a namespace exists: exit code 0 if it does, 1 if not."""
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
    parents: Annotated[
        bool, typer.Option("--parents", "-p", help="Make what is missing above it too: all of it, or nothing.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Create a namespace inside an existing one, or with --parents also what is missing above it.

    Example: lanceway namespaces create team.sales --parents
    """
    if parents:
        _create_chain(session, namespace, pairs(properties, "--property"), mode)
        return
    if mode.lower() == "overwrite":
        agreed(f"Drop everything in {namespace}, should it exist?", yes)
    metadata = pairs(properties, "--property") or None
    response = session.ask("create_namespace", session.id(namespace), mode=mode, properties=metadata)
    session.output.done(f"Created namespace {namespace}.", response)


def _create_chain(session: Session, namespace: str, properties: dict[str, str], mode: str) -> None:
    from lanceway.catalogs.contract.schemas import HasSchemas
    from lanceway.errors import NamespaceAlreadyExistsError

    if mode.lower() == "overwrite":
        raise typer.BadParameter("--parents makes namespaces and replaces none.", param_hint="'--mode'")
    id_, catalog = session.id(namespace), session.catalog
    if not isinstance(catalog, HasSchemas):
        with catalog._made_for(Identifier(id_)):
            session.ask("create_namespace", id_, mode=mode, properties=properties or None)
    else:
        try:
            id_ = list(catalog.create_namespaces(id_, properties or None))
        except NamespaceAlreadyExistsError:
            if mode.lower() != "exist_ok":
                raise
    session.output.done(f"Created namespace {namespace}.", {"id": id_})


@command(app, "alter")
def alter(
    session: Session,
    namespace: _Name,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A property to set; may be repeated.")
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="A property to take away; may be repeated.")
    ] = None,
) -> None:
    """Set and take away properties of a namespace of a lake; those of the namespaces around it stay as they are."""
    from lanceway.catalogs.contract import schemas

    id_ = session.id(namespace)
    catalog = schemas.require(session.catalog, "alter_namespace")
    properties = catalog.alter_namespace(id_, pairs(set_, "--set"), unset=unset or [])
    session.output.done(f"The properties of {namespace} are changed.", {"properties": properties})


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
