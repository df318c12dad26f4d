"""Time as the database sees it: UTC, in milliseconds since 1970."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class now(FunctionElement[int]):  # noqa: N801 - it reads as a function of SQL
    """The database's clock. Processes on many machines share it, whatever their own clocks say."""

    type = BigInteger()
    inherit_cache = True


@compiles(now, "sqlite")
def _sqlite(element: now, compiler: SQLCompiler, **options: Any) -> str:
    return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"


@compiles(now, "postgresql")
def _postgresql(element: now, compiler: SQLCompiler, **options: Any) -> str:
    return "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"
