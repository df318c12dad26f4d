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
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar, TypeVarTuple, cast

from sqlalchemy.engine import URL

from lanceway.lake.store.schema import ICEBERG_TABLE, TABLE

Answer = TypeVar("Answer")
Values = TypeVarTuple("Values")

_PARENT = "SELECT id FROM objects WHERE catalog_id = ? AND physical = ?"
_FIND = f"SELECT location, managed, properties FROM objects WHERE parent_id = ({_PARENT}) AND name = ? AND kind = ?"
_FIND_ICEBERG = (
    f"SELECT id, location, metadata_pointer FROM objects WHERE parent_id = ({_PARENT}) AND name = ? AND kind = ?"
)
_PAGE = f"SELECT name FROM objects WHERE parent_id = ({_PARENT}) AND kind = ? AND name > ? ORDER BY name LIMIT ?"
_PAGE_OF_ALL = (
    f"SELECT name FROM objects WHERE parent_id = ({_PARENT}) AND kind IN (?, ?) AND name > ? ORDER BY name LIMIT ?"
)
_DETAILS = "o.id, o.properties, o.comment, o.created_by, o.created_at, o.changed_by, o.changed_at"
_NAMESPACE_DETAILS = f"SELECT {_DETAILS} FROM objects o WHERE o.catalog_id = ? AND o.physical = ?"
_TABLE_DETAILS = (
    f"SELECT {_DETAILS}, o.location, v.version, v.created_at FROM objects o LEFT JOIN versions v "
    "ON o.managed AND v.table_id = o.id AND v.branch = '' AND v.version = "
    "(SELECT MAX(version) FROM versions WHERE table_id = o.id AND branch = '') "
    f"WHERE o.parent_id = ({_PARENT}) AND o.name = ? AND o.kind = ?"
)
_NAMING = "SELECT s.value, c.nested FROM catalogs c JOIN settings s ON s.key = 'separator' WHERE c.id = ?"
# The same as `tokens.standing` and `users.find`, for the columns that a request needs. Only a token that ends needs the
# time, which costs more than the look-up.
_TOKEN = (
    "SELECT u.name, u.admin, t.expires_at FROM tokens t JOIN users u ON u.id = t.user_id "
    "WHERE t.id = ? AND t.revoked_at IS NULL AND u.disabled_at IS NULL "
    "AND (t.expires_at IS NULL OR t.expires_at > CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))"
)
_VERSION = "PRAGMA data_version"
_MOST_ANSWERS = 10_000
_USER = "SELECT admin, issuer, disabled_at IS NOT NULL FROM users WHERE name = ?"


class FastTableRow(NamedTuple):
    """A table. Its properties are JSON, as they are stored."""

    location: str
    managed: bool
    properties: str


class FastIcebergRow(NamedTuple):
    """An Iceberg table: its row, and the metadata file that it points to."""

    id: int
    location: str
    pointer: str


class FastDetailsRow(NamedTuple):
    """What is recorded of a namespace or a table. Properties are JSON, as they are stored.

    Of a managed table also its latest version on the main branch, and when that was claimed.
    """

    id: int
    properties: str
    comment: str | None
    created_by: str
    created_at: int
    changed_by: str
    changed_at: int
    location: str | None = None
    version: int | None = None
    claimed_at: int | None = None


class FastUserRow(NamedTuple):
    """A user, by the alias of its issuer, which is None for one of the lake itself."""

    admin: bool
    issuer: str | None
    disabled: bool


class _Memory:
    """What one connection has read of one state of the database. Versions of other connections are other numbers."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.answers: dict[Any, Any] = {}

    def begin(self, version: int) -> None:
        """Make room for an answer that is true of a state."""
        # A new dictionary, never a cleared one: a snapshot that is still being read goes on with its own.
        if version != self.version or len(self.answers) >= _MOST_ANSWERS:
            self.version, self.answers = version, {}


class Snapshot:
    """One state of the database, in which several look-ups are made. What they find is remembered with it."""

    __slots__ = ("_answers", "execute")

    def __init__(self, connection: sqlite3.Connection, answers: dict[Any, Any]) -> None:
        self.execute, self._answers = connection.execute, answers

    def remembered(self, work: Callable[[Snapshot, *Values], Answer], /, *args: *Values) -> Answer:
        """Return what `work(snapshot, …)` returns, which other look-ups of this state may have asked for before."""
        if (work, args) not in self._answers:
            self._answers[work, args] = work(self, *args)
        return cast(Answer, self._answers[work, args])


class FastReads:
    """One database, for any number of threads and processes."""

    def __init__(self, path: str) -> None:
        self.path = path
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
        rows = self.rows(_FIND, (catalog, namespace, name, TABLE))
        return FastTableRow(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def iceberg_table(self, catalog: int, namespace: str, name: str) -> FastIcebergRow | None:
        """Return an Iceberg table as `table` does; None for anything else of the name."""
        rows = self.rows(_FIND_ICEBERG, (catalog, namespace, name, ICEBERG_TABLE))
        return FastIcebergRow(*rows[0]) if rows else None

    def tables(
        self, catalog: int, namespace: str, after: str, limit: int, *, with_iceberg: bool = False
    ) -> list[str] | None:
        """Return the first names after `after`; None if there are none or they cannot be read at once."""
        if with_iceberg:
            rows = self.rows(_PAGE_OF_ALL, (catalog, namespace, TABLE, ICEBERG_TABLE, after, limit))
        else:
            rows = self.rows(_PAGE, (catalog, namespace, TABLE, after, limit))
        return [row[0] for row in rows] if rows else None

    def namespace_details(self, catalog: int, physical: str) -> FastDetailsRow | None:
        """Return what is recorded of a namespace by its physical name; None if it cannot be read at once."""
        rows = self.rows(_NAMESPACE_DETAILS, (catalog, physical))
        return FastDetailsRow(*rows[0]) if rows else None

    def table_details(self, catalog: int, namespace: str, name: str) -> FastDetailsRow | None:
        """Return what is recorded of a table; None if it cannot be read at once."""
        rows = self.rows(_TABLE_DETAILS, (catalog, namespace, name, TABLE))
        return FastDetailsRow(*rows[0]) if rows else None

    def naming(self, catalog: int) -> tuple[str, bool] | None:
        """Return the lake's separator and whether a catalog is nested; None if it cannot be read at once."""
        rows = self.rows(_NAMING, (catalog,))
        return (rows[0][0], bool(rows[0][1])) if rows else None

    def token(self, id_: int) -> tuple[str, bool, int | None] | None:
        """Return the user of a token, whether it is an admin, and when the token ends.

        None if the token is not valid, its user is disabled, or they cannot be read at once.
        """
        rows = self.rows(_TOKEN, (id_,))
        return (rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def users(self, name: str) -> list[FastUserRow] | None:
        """Return the user of a name, in a list that is empty if there is no row; None if it cannot be read at once."""
        rows = self.rows(_USER, (name,))
        return None if rows is None else [FastUserRow(bool(row[0]), row[1], bool(row[2])) for row in rows]

    def close(self) -> None:
        """Close this thread's connection. Those of other threads end with them."""
        connection, _ = getattr(self._own, "opened", (None, 0))
        if connection is not None:
            del self._own.opened
            connection.close()

    def rows(self, statement: str, values: tuple[object, ...]) -> list[Any] | None:
        """Return the rows of a query with a bounded number of look-ups; None if they cannot be read at once."""
        try:
            return self._connection().execute(statement, values).fetchall()
        except sqlite3.Error:
            return None

    def remembered(self, work: Callable[[Snapshot, *Values], Answer], /, *args: *Values) -> Answer | None:
        """Return what `work(snapshot, …)` returns from a few such queries, which all see one state; None likewise.

        It is remembered until something is committed to the database, by whatever process, which SQLite tells each
        connection: so it is never older than what a query would find now. `args` must have hashes.
        """
        try:
            connection = self._connection()
            memory = self._own.memory
            # Whatever is committed in between, the version that is read in the snapshot is that of what is read there.
            if connection.execute(_VERSION).fetchone()[0] == memory.version and (work, args) in memory.answers:
                return cast(Answer, memory.answers[work, args])
            connection.execute("BEGIN")
            try:
                memory.begin(connection.execute(_VERSION).fetchone()[0])
                return Snapshot(connection, memory.answers).remembered(work, *args)
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error:
            return None

    def _connection(self) -> sqlite3.Connection:
        connection, process = getattr(self._own, "opened", (None, 0))
        if connection is None or process != os.getpid():
            if connection is not None:
                self._parents.append(connection)  # neither used in a child nor closed there
            connection = _opened(self.path)
            self._own.opened = connection, os.getpid()
            self._own.memory = _Memory()
        return connection

    def __reduce__(self) -> tuple[Any, ...]:
        return FastReads, (self.path,)


def _opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    # The values of an IN are a table of their own: in memory it takes half as long as one that might become a file.
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection
