"""Engines: how each database is connected to, so that what it acknowledged stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from lanceway.errors import InvalidInputError, UnsupportedOperationError

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
# How a transaction of SQLite begins. Who will write says so at once: a reader that becomes a writer may find
# that it cannot.
_BEGIN = "lake_begin"
_TO_WRITE = "BEGIN IMMEDIATE"
_WAIT_SECONDS = 30
# Parameters may hold secrets, and messages are shown and logged.
_POOL: dict[str, Any] = {
    "hide_parameters": True,
    "pool_size": 5,
    "max_overflow": 15,
    "pool_timeout": _WAIT_SECONDS,
}


@dataclass(frozen=True)
class Engines:
    """One pool of connections: to change, to read by single statements, and to look at one state with many."""

    write: Engine
    read: Engine
    look: Engine

    @classmethod
    def open(cls, url: URL) -> Engines:
        # A statement that stands alone needs no BEGIN and COMMIT around it.
        if url.get_backend_name() == "sqlite":
            engine = _sqlite(url)
            reads, looks = ({_BEGIN: word} for word in (None, "BEGIN"))
            return cls(engine, engine.execution_options(**reads), engine.execution_options(**looks))
        engine = _postgresql(url)
        look = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return cls(engine, engine.execution_options(isolation_level="AUTOCOMMIT"), engine.execution_options(**look))


def read_uri(uri: str) -> URL:
    """The database that a uri names. Its password is in no message."""
    try:
        url = make_url(uri)
    except ArgumentError as error:
        raise InvalidInputError(f"The uri of the lake cannot be read. {_examples()}") from error
    if url.drivername not in _DRIVERS:
        raise InvalidInputError(f"The lake cannot live in {url.drivername!r}. {_examples()}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    return _file(url) if url.get_backend_name() == "sqlite" else url


def shown(url: URL) -> str:
    """A database's name for messages: no password, and no query, which may hold one too."""
    return url.set(query={}, drivername=url.get_backend_name()).render_as_string(hide_password=True)


def refuse_missing(url: URL) -> None:
    """Refuse a file that is not there, which SQLite would make."""
    path = url.database or ""
    if url.get_backend_name() == "sqlite" and not path.startswith("file:") and not Path(path).exists():
        raise InvalidInputError(f"There is no lake in {path}: the file is missing. Create one: lanceway lake create")


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


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, **_POOL, connect_args={"timeout": _WAIT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where we say, also around DDL
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    word = connection.get_execution_options().get(_BEGIN, _TO_WRITE)
    if word:
        connection.exec_driver_sql(word)


def _postgresql(url: URL) -> Engine:
    connect = {"connect_timeout": 10, "application_name": "lanceway"}
    try:
        engine = create_engine(url, **_POOL, connect_args=connect)
    except ModuleNotFoundError as error:
        raise UnsupportedOperationError(
            "A lake in PostgreSQL needs psycopg, which is missing. Install it with: pip install 'psycopg[binary]'"
        ) from error
    event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_postgresql(connection: Any, entry: ConnectionPoolEntry) -> None:
    """Nothing waits for ever: neither for a lock, nor for a client that has gone in the middle."""
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = '{_WAIT_SECONDS}s'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{2 * _WAIT_SECONDS}s'")
    connection.autocommit = False
