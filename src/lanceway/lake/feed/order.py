"""The order of the feed: by `turn`, then by id, and up to where nothing can be added any more.

SQLite has one writer at a time, so ids are given in the order of commits, and every turn is 0.

PostgreSQL gives ids to transactions that are still open: a reader that has passed an id could miss a smaller one that
is committed later. So a row carries the turn of its transaction: its own number, or that of the last transaction that
had ended when the row was written, whichever is higher. A row is shown once every transaction up to its turn has ended,
and from then on nothing comes before it. The second number is there for the order: a transaction that has begun early
and meets what a later one has changed has its turn after it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# xid8 has no arithmetic, and a cast to a number only by way of its text.
_NUMBER = "CAST(CAST({} AS TEXT) AS BIGINT)"
_OWN = _NUMBER.format("pg_current_xact_id()")
_LAST_ENDED = f"{_NUMBER.format('pg_snapshot_xmax(pg_current_snapshot())')} - 1"
_FIRST_OPEN = _NUMBER.format("pg_snapshot_xmin(pg_current_snapshot())")


class turn(FunctionElement[int]):  # noqa: N801 - it reads as a function of SQL
    """The turn of a row that is written now."""

    type = BigInteger()
    inherit_cache = True


class first_open_turn(FunctionElement[int]):  # noqa: N801
    """The first turn that may still get rows. All before it have all of theirs."""

    type = BigInteger()
    inherit_cache = True


@compiles(turn, "postgresql")
def _turn(element: turn, compiler: SQLCompiler, **options: Any) -> str:
    return f"GREATEST({_OWN}, {_LAST_ENDED})"


@compiles(turn, "sqlite")
def _sqlite_turn(element: turn, compiler: SQLCompiler, **options: Any) -> str:
    return "0"


@compiles(first_open_turn, "postgresql")
def _first_open_turn(element: first_open_turn, compiler: SQLCompiler, **options: Any) -> str:
    return _FIRST_OPEN


@compiles(first_open_turn, "sqlite")
def _sqlite_first_open_turn(element: first_open_turn, compiler: SQLCompiler, **options: Any) -> str:
    return "1"
