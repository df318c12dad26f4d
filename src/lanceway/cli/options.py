"""Arguments and options that several verbs share, each described once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

Namespace = Annotated[
    str,
    typer.Argument(
        metavar="[NAMESPACE]",
        help="A namespace, such as team.sales; the root if left out.",
        show_default=False,
    ),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table, such as team.sales.orders.")]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Parquet, Arrow, Feather, CSV, TSV, JSON or NDJSON files (also .gz), globs, or - for standard input.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Read the files as parquet, arrow, csv, tsv, json or ndjson, whatever their names."),
]
Branch = Annotated[str | None, typer.Option("--branch", help="The branch to work on, instead of main.")]
Version = Annotated[int | None, typer.Option("--version", min=0, help="The version to read, instead of the latest.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Show one page of at most this many.")]
PageToken = Annotated[str | None, typer.Option("--page-token", help="Begin after the page that ended with this token.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="KEY=VALUE", help="A property to keep with it; may be repeated."),
]
IndexedColumn = Annotated[str, typer.Argument(metavar="COLUMN", help="The column to index.")]
IndexType = Annotated[
    str,
    typer.Option(
        "--type",
        help="Vectors: IVF_FLAT, IVF_PQ, IVF_HNSW_SQ and others; values: BTREE, BITMAP, LABEL_LIST; text: FTS.",
    ),
]
IndexName = Annotated[
    str | None, typer.Option("--name", help="The index's name; chosen from the column's if left out.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Return `KEY=VALUE` texts as a dictionary."""
    values: dict[str, str] = {}
    for text in texts or ():
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise typer.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint=f"'{option}'")
        values[key] = value
    return values


def words(texts: Sequence[str] | None) -> list[str]:
    """Split names that are given one by one or separated by commas."""
    return [word.strip() for text in texts or () for word in text.split(",") if word.strip()]


def numbers(text: str, option: str) -> list[float]:
    """Parse a vector: numbers separated by commas, with or without brackets."""
    try:
        return [float(word) for word in text.strip().strip("[]").split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no vector; write numbers separated by commas, such as 0.1,0.2,0.3.",
            param_hint=f"'{option}'",
        ) from None


def agreed(question: str, yes: bool) -> None:
    """Ask before something is deleted for good. Without a terminal to ask at, require `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask at; give --yes to go on.", param_hint="'--yes'")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)
