"""`lanceway views …`: materialized views, which a worker fills."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import background, options
from lanceway.cli.jobs.background import Wait
from lanceway.cli.session import Namespace, Session, Yes, agreed, completed, pairs

if TYPE_CHECKING:
    import pyarrow as pa

app = group("Manage materialized views: tables that follow a query over another table.")

_View = Annotated[
    str,
    typer.Argument(metavar="VIEW", help="The view, such as team.sales.totals.", autocompletion=completed("tables")),
]


@command(app, "create")
def create(
    session: Session,
    view: _View,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="TABLE", help="The table that it is made of.", autocompletion=completed("tables")
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME[=SQL]",
            help="A column, or an expression; all if none is given.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="Which rows of the source.")] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="COLUMN",
            help="What tells rows apart, so that changed ones are merged.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    sql: Annotated[
        str | None, typer.Option("--sql", help="Spark SQL instead, for a worker that allows it; needs --type.")
    ] = None,
    function: Annotated[
        str | None, typer.Option("--function", metavar="PATH", help="What makes its rows: package.module:name.")
    ] = None,
    kind: Annotated[
        Literal["chunker", "udtf"],
        typer.Option("--kind", help="Of a function: chunker (for each new row) or udtf (all rows, each time)."),
    ] = "chunker",
    partition_by: Annotated[
        str | None,
        typer.Option("--partition-by", metavar="COLUMN", help="Give an udtf the rows of each value by themselves."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="NAME=TYPE", help="A column of a view with --sql or --function, as id=int64."),
    ] = None,
    auto_refresh: Annotated[bool, typer.Option("--auto-refresh", help="Keep it fresh by itself.")] = False,
    empty: Annotated[bool, typer.Option("--empty", help="Do not fill it yet.")] = False,
    wait: Wait = False,
) -> None:
    """Create a view over a table, or over a query.

    Example: lanceway views create big --source orders --column id --column "total=price * amount"
    """
    if (source is None) == (sql is None):
        raise typer.BadParameter("say what it is made of: one of the two.", param_hint="'--source' or '--sql'")
    chosen = _columns(columns)
    query: dict[str, Any] = {"sql": sql} if sql is not None else {"source": session.id(source)}
    query |= {name: value for name, value in (("columns", chosen), ("where", where), ("key", key)) if value}
    schema = (
        _declared_schema(types)
        if sql is not None or function is not None
        else _source_schema(session, str(source), chosen)
    )
    if function is None and partition_by is not None:
        raise typer.BadParameter("it is for a view with --function.", param_hint="'--partition-by'")
    spec = None if function is None else _spec(kind, function, partition_by)
    response = session.ask(
        "create_materialized_view",
        session.id(view),
        kind="query" if function is None else kind,
        source_query=json.dumps(query),
        output_schema=base64.b64encode(schema.serialize()).decode(),
        udtf_spec=spec,
        with_no_data=empty,
        auto_refresh=auto_refresh,
    )
    if response.get("job_id"):
        background.show_recorded(session, response, f"Created view {view}", wait=wait)
    else:
        session.output.done(f"Created view {view}, which is empty until it is refreshed.", response)


@command(app, "refresh")
def refresh(
    session: Session,
    view: _View,
    source_version: Annotated[
        int | None, typer.Option("--source-version", min=1, help="Show this version of the source, not the latest.")
    ] = None,
    wait: Wait = False,
) -> None:
    """Bring a view to what its source is now."""
    response = session.ask("refresh_materialized_view", session.id(view), src_version=source_version)
    background.show_recorded(session, response, f"Refresh of {view}", wait=wait)


_COLUMNS = {"name": "view", "kind": "kind", "source": "source", "where": "where"}


@command(app, "list")
def list_(session: Session, namespace: Namespace = "") -> None:
    """List the views of a namespace, with their kind and source. Each of its tables is opened for that."""
    id_ = session.id(namespace)
    names = [name for page in session.pages("list_tables", id_) for name in page["tables"]]
    views = [(name, _definition(session, [*id_, name])) for name in names]
    records = [{"name": name, **view} for name, view in views if view is not None]
    session.output.records(_COLUMNS, [_shown(session, record) for record in records])


@command(app, "describe")
def describe(session: Session, view: _View) -> None:
    """Show what a view is made of."""
    session.output.record({"view": view, **_shown(session, _require(session, view))})


@command(app, "drop")
def drop(session: Session, view: _View, yes: Yes = False) -> None:
    """Drop a view and delete its rows; its source stays as it is."""
    _require(session, view)
    agreed(f"Drop {view} and delete its rows?", yes)
    session.output.done(f"Dropped view {view}.", session.ask("drop_table", session.id(view)))


def _definition(session: Session, id_: list[str]) -> dict[str, Any] | None:
    """Return what a table's metadata says of it as a view; None for a table that is not one."""
    from lanceway.tables.dataset import VIEW

    described = session.ask("describe_table", id_, load_detailed_metadata=True, check_declared=True)
    text = (described.get("schema", {}).get("metadata") or {}).get(VIEW.decode())
    definition: dict[str, Any] | None = None if text is None else json.loads(text)
    return definition


def _require(session: Session, view: str) -> dict[str, Any]:
    from lanceway.tables.schema.views import not_a_view

    definition = _definition(session, session.id(view))
    if definition is None:
        raise not_a_view(view)
    return definition


def _shown(session: Session, record: dict[str, Any]) -> dict[str, Any]:
    source = record.get("source")
    return record if session.json or not source else {**record, "source": session.format(list(source))}


def _columns(texts: list[str] | None) -> dict[str, str] | None:
    if not texts:
        return None
    aliased = [text if "=" in text else f"{text}=`{text}`" for text in texts]
    return {name.strip(): expression.strip() for name, expression in pairs(aliased, "--column").items()}


def _source_schema(session: Session, source: str, columns: dict[str, str] | None) -> pa.Schema:
    """Ask the catalog for the schema of the columns of a source."""
    chosen = {"columns": {"column_aliases": columns}} if columns else {}
    return session.query(session.id(source), k=1, vector={}, **chosen).schema


def _declared_schema(types: list[str] | None) -> pa.Schema:
    import pyarrow as pa

    if not types:
        raise typer.BadParameter("name the view's columns and their types.", param_hint="'--type'")
    return pa.schema([(name.strip(), options.data_type(type_)) for name, type_ in pairs(types, "--type").items()])


def _spec(kind: str, function: str, partition_by: str | None) -> dict[str, Any]:
    from lanceway.tables.schema import views

    envelope = views.write(function)
    return {
        "kind": kind,
        "udtf": envelope,
        "udtf_sha": hashlib.sha256(envelope.encode()).hexdigest(),
        "udtf_name": function,
        "udtf_version": "1",
        "partition_by": partition_by,
    }
