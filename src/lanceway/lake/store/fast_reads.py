"""Fast reads: look-ups of few rows that never wait for a lock, so that an event loop may run them itself.

Only SQLite allows them. Its file is read in place, a reader in WAL mode waits for no writer, and each is a look-up in
an index with a bounded number of rows. They have connections of their own, which never wait: where the database is
locked after all they return None, and the caller reads in the usual way, which also explains what is missing. The
statements are the driver's own, prepared once for each connection.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any, NamedTuple, Self

from sqlalchemy.engine import URL

from lanceway.lake.store.schema import TABLE

_PARENT = "SELECT id FROM objects WHERE catalog_id = ? AND physical = ?"
_FIND = f"SELECT location, managed, properties FROM objects WHERE parent_id = ({_PARENT}) AND name = ? AND kind = ?"
_PAGE = f"SELECT name FROM objects WHERE parent_id = ({_PARENT}) AND kind = ? AND name > ? ORDER BY name LIMIT ?"


class FastTableRow(NamedTuple):
    """A table. Its properties are JSON, as they are stored."""

    location: str
    managed: bool
    properties: str


class FastReads:
    """One database, for any number of threads and processes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._own = threading.local()
        self._parents: list[sqlite3.Connection] = []

    @classmethod
    def of(cls, url: URL) -> Self | None:
        """Return the fast reads of a database; None unless it is a plain SQLite file without special options."""
        path = url.database or ""
        if url.get_backend_name() != "sqlite" or url.query or path.startswith("file:"):
            return None
        return cls(path)

    def table(self, catalog: int, namespace: str, name: str) -> FastTableRow | None:
        """Return a table by the physical name of its namespace and its own; None if it cannot be read at once."""
        rows = self._rows(_FIND, (catalog, namespace, name, TABLE))
        return FastTableRow(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def tables(self, catalog: int, namespace: str, after: str, limit: int) -> list[str] | None:
        """Return the first names after `after`; None if there are none or they cannot be read at once."""
        rows = self._rows(_PAGE, (catalog, namespace, TABLE, after, limit))
        return [row[0] for row in rows] if rows else None

    def close(self) -> None:
        """Close this thread's connection. Those of other threads end with them."""
        connection, _ = getattr(self._own, "opened", (None, 0))
        if connection is not None:
            del self._own.opened
            connection.close()

    def _rows(self, statement: str, values: tuple[object, ...]) -> list[Any] | None:
        try:
            return self._connection().execute(statement, values).fetchall()
        except sqlite3.Error:
            return None

    def _connection(self) -> sqlite3.Connection:
        connection, process = getattr(self._own, "opened", (None, 0))
        if connection is None or process != os.getpid():
            if connection is not None:
                self._parents.append(connection)  # neither used in a child nor closed there
            connection = _opened(self._path)
            self._own.opened = connection, os.getpid()
        return connection

    def __reduce__(self) -> tuple[Any, ...]:
        return FastReads, (self._path,)


def _opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection
