"""`lanceway tables indices …`"""

from __future__ import annotations

from typing import Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output.words import with_article
from lanceway.cli.session import Branch, IndexedColumn, IndexName, IndexType, Limit, PageToken, Session, Table, Version

app = group("Indices: for vectors, for values, for full text.")

_SCALAR = {"BITMAP", "BTREE", "LABEL_LIST"}
_COLUMNS = {
    "index_name": "index",
    "columns": "columns",
    "index_type": "type",
    "num_indexed_rows": "indexed rows",
    "num_unindexed_rows": "unindexed rows",
    "status": "status",
}
_Name = Annotated[str, typer.Argument(metavar="INDEX", help="The index's name.")]


@command(app, "list")
def list_(
    session: Session,
    table: Table,
    limit: Limit = None,
    page_token: PageToken = None,
    version: Version = None,
    branch: Branch = None,
) -> None:
    """List a table's indices."""
    id_, fields = session.id(table), {"version": version, "branch": branch}
    if limit is None and page_token is None:
        pages = session.pages("list_table_indices", id_, **fields)
        session.output.records(_COLUMNS, (entry for page in pages for entry in page["indexes"]))
        return
    response = session.page("list_table_indices", id_, limit, page_token, **fields)
    session.output.records_page(_COLUMNS, "indexes", response["indexes"], response.get("page_token"))


@command(app, "create")
def create(
    session: Session,
    table: Table,
    column: IndexedColumn,
    type_: IndexType,
    name: IndexName = None,
    distance: Annotated[str | None, typer.Option("--distance", help="Vectors: l2, cosine or dot.")] = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", min=1, help="Vectors: number of IVF partitions.")
    ] = None,
    partition_size: Annotated[
        int | None,
        typer.Option("--partition-size", min=1, help="Vectors: rows in a partition, instead of --partitions."),
    ] = None,
    sub_vectors: Annotated[
        int | None, typer.Option("--sub-vectors", min=1, help="IVF_PQ: number of sub-vectors.")
    ] = None,
    bits: Annotated[int | None, typer.Option("--bits", min=1, help="Vectors: bits of the quantizer.")] = None,
    sample_rate: Annotated[
        int | None, typer.Option("--sample-rate", min=1, help="Vectors: sampled rows per partition.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", min=1, help="Vectors: k-means iterations at most.")
    ] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, help="HNSW: edges of a node.")] = None,
    ef: Annotated[int | None, typer.Option("--ef-construction", min=1, help="HNSW: candidates while building.")] = None,
    positions: Annotated[
        bool | None,
        typer.Option("--positions/--no-positions", help="Text: keep positions, for phrases.", show_default=False),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Text: simple, whitespace, raw, ngram, …")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Text: the language of stems and stop words.")
    ] = None,
    token_length: Annotated[
        int | None, typer.Option("--token-length", min=0, help="Text: leave longer words out.")
    ] = None,
    lower_case: Annotated[
        bool | None, typer.Option("--lower-case/--keep-case", help="Text: ignore case.", show_default=False)
    ] = None,
    stem: Annotated[
        bool | None,
        typer.Option("--stem/--no-stem", help="Text: find words by their stem.", show_default=False),
    ] = None,
    stop_words: Annotated[
        bool | None,
        typer.Option("--no-stop-words/--stop-words", help="Text: leave stop words out.", show_default=False),
    ] = None,
    folding: Annotated[
        bool | None,
        typer.Option("--ascii/--no-ascii", help="Text: take accented letters as plain ones.", show_default=False),
    ] = None,
    branch: Branch = None,
) -> None:
    """Create an index on a column.

    Example: lanceway tables indices create team.fruit taste --type IVF_PQ
    lanceway tables indices create team.fruit name --type FTS
    """
    chosen = type_.upper()
    operation = "create_table_scalar_index" if chosen in _SCALAR else "create_table_index"
    response = session.ask(
        operation,
        session.id(table),
        column=column,
        index_type=chosen,
        name=name,
        distance_type=distance,
        num_partitions=partitions,
        target_partition_size=partition_size,
        num_sub_vectors=sub_vectors,
        num_bits=bits,
        sample_rate=sample_rate,
        max_iterations=iterations,
        m=m,
        ef_construction=ef,
        with_position=positions,
        base_tokenizer=tokenizer,
        language=language,
        max_token_length=token_length,
        lower_case=lower_case,
        stem=stem,
        remove_stop_words=stop_words,
        ascii_folding=folding,
        branch=branch,
    )
    what = with_article(chosen) + (" index" if name is None else f" index {name}")
    session.output.done(f"Created {what} on {table}.{column}.", {"column": column, "index_type": chosen, **response})


@command(app, "describe")
def describe(session: Session, table: Table, index: _Name, version: Version = None, branch: Branch = None) -> None:
    """Show an index's statistics."""
    response = session.ask(
        "describe_table_index_stats", session.id(table), index_name=index, version=version, branch=branch
    )
    session.output.record({"index_name": index, **response})


@command(app, "drop")
def drop(session: Session, table: Table, index: _Name, branch: Branch = None) -> None:
    """Drop an index; the rows stay."""
    response = session.ask("drop_table_index", session.id(table), index_name=index, branch=branch)
    session.output.done(f"Dropped the index {index} of {table}.", {"index_name": index, **response})
