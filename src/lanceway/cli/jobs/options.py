"""What the verbs for jobs share: options, the table as workers reach it, and a Spark session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.session import Session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lanceway.writes.table_ref import TableRef

_VECTOR = re.compile(r"(\w+)\[(\d+)\]")
Tables = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="A table, such as team.sales.orders, or all that match, as team.* does."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]
Threads = Annotated[
    int, typer.Option("--threads", min=1, help="How many parts are worked on at a time, here or by Spark.")
]
Master = Annotated[
    str | None, typer.Option("--master", help="Let a Spark session with this master work, such as local[4].")
]
State = Annotated[
    str | None,
    typer.Option("--state", metavar="FILE", help="Where finished parts are remembered, if not in the cache."),
]


def label(job: str, dry_run: bool) -> str:
    """Return what a job is called in its progress bar."""
    return f"{job} (dry run)" if dry_run else job


def is_pattern(table: str) -> bool:
    return bool(set(table) & set("*?"))


def matching(session: Session, pattern: str) -> Iterator[TableRef]:
    """Yield every table with data that a pattern matches."""
    from lanceway.jobs.between import register
    from lanceway.jobs.between.register import is_declared

    catalog = session.catalog
    for table in register.tables(catalog, only=[pattern.replace(session.delimiter, ".")]):
        if not is_declared(catalog, table):
            yield target(session, table.format(session.delimiter))


def target(session: Session, table: str) -> TableRef:
    """Return the table in a form that workers can reach it from."""
    type_, settings = session.root
    from lanceway.writes.table_ref import TableRef

    options = {f"namespace.{key}": value for key, value in settings.items()}
    return TableRef.of({"table": json.dumps(session.id(table)), "namespace.type": type_, **options})


def spark_session(master: str | None, dry_run: bool) -> SparkSession | None:
    """Return a Spark session where one is asked for, but None for a dry run."""
    if master is None or dry_run:
        return None
    from lanceway.spark.sessions import session

    return session(master)


def data_type(text: str) -> pa.DataType:
    """Parse a word such as `int64`, `float32[384]` for vectors, or JSON as the contract writes types."""
    from lanceway.errors import InvalidInputError
    from lanceway.tables.schema import arrow_json

    try:
        return arrow_json.parse_type(_described(text.strip()))
    except InvalidInputError:
        raise typer.BadParameter(
            f"{text!r} is not a data type; write a word such as int64, string or timestamp:us:UTC, float32[384] for "
            "vectors of that size, or JSON as the contract has it.",
            param_hint="'--type'",
        ) from None


def _described(text: str) -> dict[str, Any]:
    vector = _VECTOR.fullmatch(text)
    if vector is not None:
        item = {"name": "item", "nullable": True, "type": {"type": vector[1]}}
        return {"type": "fixed_size_list", "length": int(vector[2]), "fields": [item]}
    if not text.startswith("{"):
        return {"type": text}
    try:
        described: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not JSON: {error}.", param_hint="'--type'") from None
    return described
