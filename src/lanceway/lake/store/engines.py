"""Engines for SQLite and PostgreSQL, and files that appear whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from lanceway.config.files import make_private
from lanceway.errors import InvalidInputError, PermissionDeniedError, ServiceUnavailableError, UnsupportedOperationError


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield a new file in the same folder, which replaces `file` at the end. The caller syncs what it writes."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    except PermissionError as error:
        raise PermissionDeniedError(f"{file} cannot be written: {error.strerror}. Check its folder.") from error
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be written: {error.strerror}. Check its folder.") from error
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, file)
    except OSError as error:
        raise ServiceUnavailableError(f"{file} could not be written: {error.strerror}. Free some space.") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
# How a transaction begins. A statement without one stands alone, and needs no BEGIN and COMMIT around it.
TO_WRITE = {
    "sqlite": "BEGIN IMMEDIATE",  # who will write says so at once: a reader that becomes a writer may find it cannot
    "postgresql": "BEGIN",
}
TO_LOOK = {"sqlite": "BEGIN", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
# All are kept: opening one costs more than a commit, and idle ones cost next to nothing.
# In waits: how long PostgreSQL works on one statement.
_LONGEST_STATEMENT = 20
_CONNECTIONS = {"pool_size": 20, "max_overflow": 0}


def open_engine(url: URL, wait: float) -> Engine:
    """Return a pool of connections, on each of which a statement commits by itself unless a transaction was begun.

    No caller waits longer than `wait` seconds: not for a lock, nor for one of the process's connections.
    """
    return (_sqlite if url.get_backend_name() == "sqlite" else _postgresql)(url, wait)


def read_uri(uri: str) -> URL:
    """Parse the URI of a database. No error message shows its password."""
    try:
        url = make_url(uri)
    except ArgumentError as error:
        raise InvalidInputError(f"The uri of the lake cannot be read. {_examples()}") from error
    if url.drivername not in _DRIVERS:
        raise InvalidInputError(f"The lake cannot live in {url.drivername!r}. {_examples()}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    return _file(url) if url.get_backend_name() == "sqlite" else url


def shown(url: URL) -> str:
    """Return a database's name for messages: without password, and without query, which may hold one too."""
    return url.set(query={}, drivername=url.get_backend_name()).render_as_string(hide_password=True)


def is_missing(url: URL) -> bool:
    """Return whether the database is a file that is not there, which SQLite would make."""
    path = url.database or ""
    return url.get_backend_name() == "sqlite" and not path.startswith("file:") and not Path(path).exists()


def refuse_missing(url: URL) -> None:
    """Refuse a file that is not there."""
    if is_missing(url):
        raise InvalidInputError(
            f"There is no lake in {url.database}: the file is missing. Create one: lanceway lake create"
        )


def _file(url: URL) -> URL:
    if not url.database or ":memory:" in url.database:
        raise InvalidInputError("A lake in memory would be gone with its connection. Name a file: sqlite:///lake.db")
    if url.database.startswith("file:"):
        return url
    path = Path(url.database).absolute()  # the process may change its folder later
    if not path.parent.is_dir():
        raise InvalidInputError(f"The lake cannot be kept in {path}: there is no folder {path.parent}. Make it first.")
    return url.set(database=str(path))


def _examples() -> str:
    return "Use sqlite:///lake.db or postgresql://user@host/database."


def _engine(url: URL, wait: float, **connect: object) -> Engine:
    # Parameters may hold secrets, and messages are shown and logged.
    return create_engine(url, hide_parameters=True, pool_timeout=wait, **_CONNECTIONS, connect_args=connect)


def _sqlite(url: URL, wait: float) -> Engine:
    if is_missing(url):
        make_private(Path(str(url.database)))
    engine = _engine(url, wait, timeout=wait, isolation_level=None)  # transactions begin where we say, also around DDL
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, entry: ConnectionPoolEntry) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _postgresql(url: URL, wait: float) -> Engine:
    # A server that goes silent is noticed after half a minute, not after the quarter of an hour that Linux waits.
    # What the uri says of these goes first.
    alive = {
        "connect_timeout": 10,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": int(wait * 1000),
    }
    chosen = {name: value for name, value in alive.items() if name not in url.query}
    try:
        engine = _engine(url, wait, autocommit=True, application_name="lanceway", **chosen)
    except ModuleNotFoundError as error:
        raise UnsupportedOperationError(
            "A lake in PostgreSQL needs psycopg, which is missing. Install it with: pip install 'psycopg[binary]'"
        ) from error
    event.listen(engine, "connect", partial(_prepare_postgresql, wait))
    return engine


def _prepare_postgresql(wait: float, connection: Any, entry: ConnectionPoolEntry) -> None:
    """Limit how long a session waits for a lock and works on a statement, and how long an abandoned one holds a lock.

    A migration or a backup of a large lake has statements of minutes; one without any end would hold its thread.
    """
    connection.execute(f"SET statement_timeout = '{int(wait * _LONGEST_STATEMENT * 1000)}ms'")
    connection.execute(f"SET lock_timeout = '{int(wait * 1000)}ms'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{int(wait * 2000)}ms'")
