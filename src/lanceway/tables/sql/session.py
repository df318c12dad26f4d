"""DuckDB, locked: it sees the tables it is given, and no file, network, extension, setting or Python variable."""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableColumnNotFoundError,
)

if TYPE_CHECKING:
    import duckdb

_LOCKED = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
    "python_enable_replacements": "false",
}
_COLUMN = re.compile(r'Referenced column "(?P<plain>.+?)" not found|does not have a column named "(?P<qualified>.+?)"')
_CANDIDATES = re.compile(r"Candidate bindings: (.+)")
_KIND = re.compile(r"^[A-Z][\w ]* Error: ")


@contextmanager
def opened() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory with nothing in it. What does not fit there is kept in a folder that is removed."""
    duckdb = _duckdb()
    spill = Path(tempfile.gettempdir(), f"lanceway-sql-{secrets.token_hex(8)}")
    connection = duckdb.connect(":memory:", config={**_LOCKED, "temp_directory": str(spill)})
    try:
        yield connection
    finally:
        connection.close()


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError as error:
        raise InvalidInputError(f"SQL needs DuckDB: pip install 'lanceway[sql]' ({error}).") from error
    return duckdb


def translated(error: duckdb.Error) -> LanceNamespaceError:
    """Return the contract's error for one of DuckDB's, in one line."""
    import duckdb

    text = _KIND.sub("", str(error).split("\n\nLINE ")[0].strip())
    column = _COLUMN.search(text)
    if column is not None:
        return _no_column(column["plain"] or column["qualified"], text)
    sentence = " ".join(text.split("\n\tCandidate functions:")[0].split()).rstrip(".")
    if isinstance(error, duckdb.OutOfMemoryException):
        return ServiceUnavailableError(f"sql: the query needs more memory than there is: {sentence}.")
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        return InternalError(f"sql: DuckDB failed: {sentence}. This is not expected; please report it.")
    return InvalidInputError(f"sql: {sentence}{'' if sentence.endswith('?') else '.'}")


def _no_column(name: str, text: str) -> TableColumnNotFoundError:
    candidates = _CANDIDATES.search(text)
    near = f" Did you mean {candidates[1]}?" if candidates else ""
    return TableColumnNotFoundError(f"sql: there is no column {name!r} in the tables of the query.{near}")
