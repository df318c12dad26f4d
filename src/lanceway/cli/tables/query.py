"""Verbs that read rows: query and count."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output.progress import meter
from lanceway.cli.output.words import counted as rows_of
from lanceway.cli.session import (
    Branch,
    Overwrite,
    Session,
    Table,
    Tag,
    Version,
    Where,
    completed,
    numbers,
    pairs,
    words,
)

app = group("Queries")

# Rows shown to people, and the results of a search, if --limit is not given.
_SHOWN, _NEAREST = 20, 10
# What k means when nothing is searched for and nothing is to be left out.
_EVERY_ROW = 0


@command(app, "count")
def count(
    session: Session,
    table: Table,
    where: Where = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Count rows."""
    id_ = session.id(table)
    response = session.ask("count_table_rows", id_, predicate=where, **session.at(id_, version, tag, branch))
    session.output.done(f"{response['count']:,}", {"count": response["count"]})


@command(app, "query")
def query(
    session: Session,
    table: Table,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="Columns to show, separated by commas.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    aliases: Annotated[
        list[str] | None,
        typer.Option("--alias", metavar="NAME=COLUMN", help="Show a column under another name; may be repeated."),
    ] = None,
    where: Where = None,
    vector: Annotated[
        str | None, typer.Option("--vector", metavar="NUMBERS", help="Find the nearest vectors: 0.1,0.2,0.3.")
    ] = None,
    vector_column: Annotated[
        str | None,
        typer.Option("--vector-column", help="The column of vectors to search.", autocompletion=completed("columns")),
    ] = None,
    distance: Annotated[
        str | None, typer.Option("--distance", help="How distance is measured: l2, cosine or dot.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="WORDS", help="Find these words by a full text index.")
    ] = None,
    text_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--text-columns",
            metavar="NAMES",
            help="The columns of text to search, separated by commas.",
            autocompletion=completed("columns"),
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            help="At most this many rows. Default: 10 for a search; else 20, or all with --json or --output.",
        ),
    ] = None,
    offset: Annotated[int | None, typer.Option("--offset", min=0, help="Leave this many rows out first.")] = None,
    prefilter: Annotated[
        bool | None,
        typer.Option("--prefilter/--postfilter", help="Filter before or after the search.", show_default=False),
    ] = None,
    nprobes: Annotated[int | None, typer.Option("--nprobes", min=1, help="Partitions of the index to search.")] = None,
    minimum_nprobes: Annotated[
        int | None, typer.Option("--min-nprobes", min=1, help="Partitions to search at least.")
    ] = None,
    maximum_nprobes: Annotated[
        int | None, typer.Option("--max-nprobes", min=1, help="Partitions to search at most.")
    ] = None,
    refine: Annotated[
        int | None, typer.Option("--refine", min=1, help="Compare this many times more candidates exactly.")
    ] = None,
    ef: Annotated[int | None, typer.Option("--ef", min=1, help="Search effort in an HNSW index.")] = None,
    lower: Annotated[float | None, typer.Option("--lower", help="The least distance to accept.")] = None,
    upper: Annotated[float | None, typer.Option("--upper", help="Distances must be less than this.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Search without the vector index.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Search only what is indexed.")] = False,
    row_id: Annotated[bool, typer.Option("--row-id", help="Show the column _rowid too.")] = False,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the plan instead of running it.")] = False,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Run the query and show its plan with measurements.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="A longer plan, for --explain.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the rows to a .parquet, .arrow, .csv, .json or .ndjson file.",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Find rows by filter, by vector, by words, or by all of them together.

    Example: lanceway tables query team.fruit --where "price < 3" --columns id,name
    lanceway tables query team.fruit --vector 0.5,0.9 --limit 3
    lanceway tables query team.fruit --text apple -o found.parquet
    """
    fields: dict[str, Any] = {
        "columns": _columns(columns, aliases),
        "filter": where,
        "vector": {} if vector is None else {"single_vector": numbers(vector, "--vector")},
        "vector_column": vector_column,
        "distance_type": distance,
        "full_text_query": _text(text, text_columns),
        "offset": offset,
        "prefilter": prefilter,
        "nprobes": nprobes,
        "minimum_nprobes": minimum_nprobes,
        "maximum_nprobes": maximum_nprobes,
        "refine_factor": refine,
        "ef": ef,
        "lower_bound": lower,
        "upper_bound": upper,
        "bypass_vector_index": exact or None,
        "fast_search": fast or None,
        "with_row_id": row_id or None,
    }
    id_, searching, chosen = session.id(table), vector is not None or text is not None, limit
    fields |= session.at(id_, version, tag, branch)
    if limit is None and (searching or explain or analyze or not (session.json or output)):
        limit = _NEAREST if searching else _SHOWN
    fields["k"] = _EVERY_ROW if limit is None else limit
    if explain or analyze:
        _plan(session, id_, fields, run=analyze, verbose=verbose)
    elif output is not None:
        _export(session, table, output, fields, overwrite=overwrite)
    else:
        session.output.rows(session.query(id_, **fields), limit if chosen is None else None)


def _plan(session: Session, id_: list[str], fields: dict[str, Any], *, run: bool, verbose: bool) -> None:
    options = {key: value for key, value in fields.items() if value is not None}
    if run:
        session.output.text("analysis", session.ask("analyze_table_query_plan", id_, **options))
    else:
        request = {"query": {"id": id_, **options}, "branch": fields.get("branch"), "verbose": verbose}
        session.output.text("plan", session.ask("explain_table_query_plan", id_, **request))


def _export(session: Session, table: str, output: Path, fields: dict[str, Any], *, overwrite: bool) -> None:
    from lanceway.cli import files

    files.check(output, overwrite=overwrite)
    reader = session.query(session.id(table), **fields)
    with meter(table) as counted:
        files.write(output, reader.schema, counted.over(iter(reader)))
    facts = {"file": str(output), "rows": counted.rows}
    session.output.done(f"Wrote {rows_of(counted.rows, 'row')} to {output}.", facts)


def _columns(names: list[str] | None, aliases: list[str] | None) -> dict[str, Any] | None:
    if not aliases:
        return {"column_names": words(names)} if names else None
    return {"column_aliases": {**{name: name for name in words(names)}, **pairs(aliases, "--alias")}}


def _text(text: str | None, columns: list[str] | None) -> dict[str, Any] | None:
    if text is None:
        return None
    return {"string_query": {"query": text, **({"columns": words(columns)} if columns else {})}}
