"""`lanceway sql`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.output.progress import meter
from lanceway.cli.output.words import counted as rows_of
from lanceway.cli.session import Overwrite, Session

if TYPE_CHECKING:
    import pyarrow as pa

app = group("SQL")

_SHOWN = 20  # rows, for people


@command(app, "sql")
def sql(
    session: Session,
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help='A query such as "SELECT * FROM team.fruit". No other statement is run.'),
    ],
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="At most this many rows. Default: 20, or all with --json or --output."),
    ] = None,
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
    explain: Annotated[bool, typer.Option("--explain", help="Show the plan instead of running it.")] = False,
) -> None:
    """Run an SQL query over tables of the catalog.

    Example: lanceway sql "SELECT name, price FROM team.fruit WHERE price < 3"
    """
    from lanceway.cli import files

    if output is not None:
        files.check(output, overwrite=overwrite)
    rows = session.catalog.sql(query)
    if explain:
        session.output.text("plan", rows.explain())
        return
    taken = _SHOWN if limit is None and not (session.json or output) else None
    limit = taken if limit is None else limit
    reader = rows.to_reader()
    if limit is not None:
        reader = _first(reader, limit)
    if output is None:
        session.output.rows(reader, taken)
        return
    with meter("sql") as counted:
        files.write(output, reader.schema, counted.over(iter(reader)))
    session.output.done(
        f"Wrote {rows_of(counted.rows, 'row')} to {output}.", {"file": str(output), "rows": counted.rows}
    )


def _first(reader: pa.RecordBatchReader, count: int) -> pa.RecordBatchReader:
    """Return the first rows of a reader; the others are not computed."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, count))


def _batches(reader: pa.RecordBatchReader, count: int) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        yield batch.slice(0, count)
        count -= batch.num_rows
        if count <= 0:
            reader.close()
            return
