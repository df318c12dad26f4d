"""A query that runs: its tables opened when it starts, its rows read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from lanceway.identifiers import Identifier
from lanceway.tables.sql import session
from lanceway.tables.sql.names import LocalName, quoted
from lanceway.tables.sql.statement import Statement

if TYPE_CHECKING:
    import duckdb
    import lance
    import pyarrow as pa

    from lanceway.tables.sql.scan import TableScan

Open = Callable[[Identifier], "lance.LanceDataset"]

_BATCH = 8192  # rows


class _Running(NamedTuple):
    connection: duckdb.DuckDBPyConnection
    scans: list[TableScan]


def run(statement: Statement, open_table: Open) -> pa.RecordBatchReader:
    """Start a query, and return a reader of its rows. Closing the reader, or reading to the end, ends it."""
    import pyarrow as pa

    with ExitStack() as stack:
        running = stack.enter_context(_started(statement, open_table))
        with _translated(running):
            reader = running.connection.execute(statement.text).to_arrow_reader(_BATCH)
        ending = stack.pop_all()
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, running, ending))


def explain(statement: Statement, open_table: Open) -> str:
    """Return DuckDB's plan of a query, with the columns and filters that each scan of a table takes over."""
    with _started(statement, open_table) as running, _translated(running):
        rows = running.connection.execute(f"EXPLAIN {statement.text}").fetchall()
        return "\n".join(text for _, text in rows).rstrip()


def _batches(reader: pa.RecordBatchReader, running: _Running, ending: ExitStack) -> Iterator[pa.RecordBatch]:
    with ending, _translated(running):
        yield from reader


@contextmanager
def _started(statement: Statement, open_table: Open) -> Iterator[_Running]:
    # First the tables: nothing is started for one that is missing or denied.
    datasets = {local: (identifier, open_table(identifier)) for local, identifier in statement.tables.items()}
    with session.opened() as connection:
        running = _Running(connection, [])
        with _translated(running):
            running.scans.extend(_views(connection, datasets))
        yield running


def _views(
    connection: duckdb.DuckDBPyConnection, datasets: Mapping[LocalName, tuple[Identifier, lance.LanceDataset]]
) -> Iterator[TableScan]:
    """Give the session each table under its name there, and yield its scan."""
    from lanceway.tables.sql.scan import TableScan

    for number, ((schema, name), (identifier, dataset)) in enumerate(datasets.items()):
        scan = TableScan(str(identifier), dataset)
        source = f"lanceway.{number}"
        connection.register(source, scan)
        if schema:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        place = f"{quoted(schema or 'main')}.{quoted(name)}"
        connection.execute(f"CREATE VIEW {place} AS {_all_columns(scan)} FROM {quoted(source)}")
        yield scan


def _all_columns(scan: TableScan) -> str:
    """Return a SELECT of all columns, in which those that no filter may name are expressions: DuckDB filters these."""
    hidden = [quoted(name) for name in scan.schema.names if name not in scan.filtered]
    values = ", ".join(f"CASE WHEN {name} IS NULL THEN NULL ELSE {name} END AS {name}" for name in hidden)
    return f"SELECT * REPLACE ({values})" if hidden else "SELECT *"


@contextmanager
def _translated(running: _Running) -> Iterator[None]:
    """Translate DuckDB's errors; where reading a table failed, the reason is that."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        failure = next((scan.failure for scan in running.scans if scan.failure is not None), None)
        if failure is not None:
            raise failure from error
        if isinstance(error, duckdb.Error):
            raise session.translated(error) from error
        raise
